"""Arrays that are not in one piece."""

import asyncio
from io import BytesIO
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.live.client import AsyncJob, Job, UsageError
from penstock.live.client.job import data_of
from penstock.live.protocol import Release
from tests.live.client.scripted import Scripted
from tests.live.client.test_job import Recorder

WHOLE = np.arange(24 * 10 * 6, dtype=np.int32).reshape(24, 10, 6)
STRIDED = {
    "step": WHOLE[::2].ravel()[::3],
    "column": WHOLE[:, 3, 2],
    "fortran": np.asfortranarray(WHOLE),
    "inner": WHOLE[:, :, ::2],
    "one row": WHOLE[:1, :, ::2],
    "backwards": WHOLE[::-1],
    "broadcast": np.broadcast_to(WHOLE[0], (5, 10, 6)),
    "fields": np.zeros(40, [("a", "<i4"), ("b", ">f8")])[::4],
    "memoryview": memoryview(bytes(range(200)))[::-3],
    "memoryview of more": memoryview(np.asfortranarray(WHOLE)),
    "empty": WHOLE[:, :0, ::2],
}


def plain(data: Any) -> bytes:
    return bytes(memoryview(data).tobytes())


@pytest.mark.parametrize("data", STRIDED.values(), ids=STRIDED)
def test_they_are_written_in_the_order_of_their_elements(server: Scripted, data: Any) -> None:
    file = Recorder()
    size = memoryview(data).nbytes
    with Job("a", address=server.address) as job, job.io(size, rounds=7) as io:
        assert io.write(file, data) == size
    assert b"".join(file.pieces) == plain(data)
    assert max(map(len, file.pieces), default=0) <= -(-size // 7)
    assert [release.moved for release in server.of(Release)] == ([size] if size else [])


def test_asyncio_writes_them_too(server: Scripted) -> None:
    file = Recorder()

    async def main() -> None:
        async with AsyncJob("a", address=server.address) as job, job.io(1000, rounds=3) as io:
            await io.write(file, STRIDED["inner"])

    asyncio.run(main())
    assert b"".join(file.pieces) == plain(STRIDED["inner"])


@given(st.sampled_from(sorted(STRIDED)), st.integers(0, 6000), st.integers(0, 3000))
def test_any_slice(name: str, at: int, size: int) -> None:
    found = data_of(STRIDED[name])
    assert bytes(found[at : at + size]) == plain(STRIDED[name])[at : at + size]


def test_only_what_is_written_now_is_copied() -> None:
    """A part of the bytes costs a copy of their rows, not of all."""

    class Counted(np.ndarray):
        taken = 0

        def __getitem__(self, part: Any) -> Any:
            rows = super().__getitem__(part)
            Counted.taken += rows.nbytes
            return rows

    data = WHOLE[:, :, ::2].view(Counted)
    found = data_of(data)
    assert len(found[130:150]) == 20
    assert Counted.taken == 120  # of 2,880: the row that has bytes 120 to 240


def test_a_buffer_to_read_into_must_be_in_one_piece(server: Scripted) -> None:
    with Job("a", address=server.address) as job, job.io(10) as io:
        with pytest.raises(UsageError, match=r"^readinto: the buffer is not in one piece; expected a contiguous one"):
            io.readinto(BytesIO(bytes(100)), np.zeros(20)[::2])
        with pytest.raises(TypeError, match=r"^readinto: int is no buffer; expected bytes, or an array"):
            io.readinto(BytesIO(bytes(100)), 7)
