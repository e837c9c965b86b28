"""Whatever is done to a `File` has the outcome that it has with an ``MPI.File``: bytes, counts and places."""

import sys
from array import array
from functools import partial
from pathlib import Path

from mpi4py import MPI

from penstock.live.mpi import File

COMM = MPI.COMM_WORLD
RANK, SIZE = COMM.Get_rank(), COMM.Get_size()
FOLDER = Path(sys.argv[1])
MODE = MPI.MODE_CREATE | MPI.MODE_RDWR


def numbers(count: int) -> array:
    return array("d", [1e6 * RANK + i for i in range(count)])


def outcome(file: MPI.File, status: MPI.Status) -> tuple[int, int, int]:
    return status.Get_count(MPI.BYTE), status.Get_elements(MPI.INT), file.Get_position()


def blocks(file: MPI.File, status: MPI.Status) -> None:
    file.Write_at_all(RANK * 8000, numbers(1000), status)


def uneven(file: MPI.File, status: MPI.Status) -> None:
    """Rank r has r·r·777 elements; rank 0 none."""
    begin = 8 * 777 * sum(r * r for r in range(RANK))
    file.Write_at_all(begin, numbers(777 * RANK * RANK), status)


def nothing(file: MPI.File, status: MPI.Status) -> None:
    file.Write_at_all(0, b"", status)
    file.Write_all([None, 0, MPI.INT], status)


def forms(file: MPI.File, status: MPI.Status) -> None:
    """A buffer in all the ways it can be told, one behind the other at the pointers."""
    data = bytes((7 * i + RANK) % 256 for i in range(4000))
    file.Seek(RANK * 100_000)
    for form in (
        data,
        bytearray(data),
        memoryview(data),
        numbers(100),
        [data, 1001],
        [data, MPI.INT],
        [data, "d"],
        [data, None, MPI.INT],
        [data, 31, MPI.INT],
        [data, (31, 5), MPI.INT],
        [data, 31, 5, "i"],
        (numbers(100), (20, 70)),
    ):
        file.Write_all(form, status)
        file.Write(form, status)
    file.Seek(-16, MPI.SEEK_CUR)
    file.Write_all(b"sixteen bytes ..", status)


def spread_memory(file: MPI.File, status: MPI.Status) -> None:
    """Every other double of the memory: elements whose extent is larger than their size."""
    pair = MPI.DOUBLE.Create_vector(3, 1, 2).Create_resized(0, 48).Commit()
    file.Write_at_all(RANK * 24 * 40, [numbers(240), 40, pair], status)
    file.Write_at(100_000 + RANK * 24 * 40, [numbers(240), (30, 10), pair], status)
    pair.Free()


def one_element(file: MPI.File, status: MPI.Status) -> None:
    """All of the memory as one element, which cannot be cut."""
    whole = MPI.DOUBLE.Create_contiguous(500).Commit()
    file.Write_at_all(RANK * 4000, [numbers(500), 1, whole], status)
    file.Write_at(50_000 + RANK * 4000, [numbers(500), 1, whole], status)
    whole.Free()


def interleaved(file: MPI.File, status: MPI.Status, etype: MPI.Datatype = MPI.DOUBLE) -> None:
    """Each rank sees every SIZEth piece of five etypes, from byte 16 on; places are counted in etypes."""
    extent = etype.Get_extent()[1]
    piece = etype.Create_contiguous(5).Create_resized(0, 5 * SIZE * extent).Commit()
    file.Set_view(16 + RANK * 5 * extent, etype, piece)
    data, each = numbers(600), etype.Get_size() // 8
    file.Write_at_all(0, data, status)
    file.Write_at_all(600 // each + 7, [data, 60, MPI.DOUBLE], status)
    file.Seek(1000)
    file.Write_all([bytes(data), 8 * 300, MPI.BYTE], status)
    file.Write_all(data[:60], status)
    file.Write([data, 24, MPI.DOUBLE], status)
    piece.Free()


def triples(file: MPI.File, status: MPI.Status) -> None:
    """An etype of three doubles with a hole behind them, in a memory of bytes."""
    etype = MPI.DOUBLE.Create_contiguous(3).Create_resized(0, 32).Commit()
    interleaved(file, status, etype)
    etype.Free()


def atomic(file: MPI.File, status: MPI.Status) -> None:
    file.Set_atomicity(True)
    file.Write_at_all(RANK * 8000, numbers(1000), status)
    file.Write_at(RANK * 8000 + 80, numbers(10), status)


def sizes(file: MPI.File, status: MPI.Status) -> None:
    file.Set_size(1234)
    file.Preallocate(5000)
    file.Write_at_all(1234 + 1000 * RANK, bytes(1000), status)
    file.Write_at_all(8 * RANK, numbers(1), status)
    file.Sync()
    assert file.Get_size() == 5000


def compared(name: str, call: object, info: MPI.Info) -> None:
    seen = []
    for kind, opened in (("plain", MPI.File.Open), ("penstock", partial(File.Open, info=info))):
        path = FOLDER / f"{name}.{kind}"
        if RANK == 0:
            path.write_bytes(
                b"." * 400_000
            )  # ROMIO fills what is between two pieces of a new file with what it finds in memory
        COMM.Barrier()
        file, status = opened(COMM, path, MODE), MPI.Status()
        call(file, status)
        seen.append(outcome(file, status))
        file.Close()
    COMM.Barrier()
    assert seen[0] == seen[1], (name, seen)
    assert (FOLDER / f"{name}.plain").read_bytes() == (FOLDER / f"{name}.penstock").read_bytes(), name


def read_back(info: MPI.Info) -> None:
    """Another rank's block, what is beyond the end of the file, and every other piece; each as ``MPI.File`` reads it."""
    path = FOLDER / "to be read"
    if RANK == 0:
        path.write_bytes(bytes(i * i % 251 for i in range(30_011)))
    COMM.Barrier()
    seen = []
    for opened in (MPI.File.Open, partial(File.Open, info=info)):
        file, status, got = opened(COMM, path, MPI.MODE_RDONLY), MPI.Status(), []

        def take(call, *place, size=8000, file=file, status=status, got=got):
            buffer = bytearray(size)
            call(*place, buffer, status)
            got.append((bytes(buffer), *outcome(file, status)))

        take(file.Read_at_all, (RANK + 1) % SIZE * 8000)
        take(file.Read_at_all, 30_000 - 3000 * RANK)
        take(file.Read_at_all, 0, size=50_000 if RANK == 0 else 10)
        take(file.Read_at, 29_000 + 1000 * RANK)
        take(file.Read_all)
        take(file.Read, size=100)
        piece = MPI.BYTE.Create_contiguous(10).Create_resized(0, 10 * SIZE).Commit()
        file.Set_view(10 * RANK, MPI.BYTE, piece)
        take(file.Read_all, size=5000)
        take(file.Read_all, size=3000)
        piece.Free()
        file.Close()
        seen.append(got)
    for plain, ours in zip(*seen, strict=True):
        assert plain == ours, (plain[1:], ours[1:])


CASES = (blocks, uneven, nothing, forms, spread_memory, one_element, interleaved, triples, atomic, sizes)
for hints in ({}, {"penstock_rounds": "7"}, {"penstock_round_bytes": "5000"}):
    info = MPI.Info.Create(hints)
    for case in CASES:
        compared(f"{case.__name__} {hints}", case, info)
    read_back(info)
    COMM.Barrier()
sys.stdout.write("same\n")
