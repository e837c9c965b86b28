"""Darshan logs with known contents, written by the library that PyDarshan brings along.

Its functions for writing are no documented Python API. What they want: calls in the order of the file (job, executable,
mounts, names, modules by ascending number), module versions that the library knows (POSIX 4), and names as a linked list
of records: a 64-bit id, then the name itself up to its NUL.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

SEGMENT = np.dtype([("offset", np.int64), ("length", np.int64), ("start", np.float64), ("end", np.float64)])
NUMBER = {"POSIX": 1, "MPI-IO": 2, "STDIO": 9, "DXT_POSIX": 10, "DXT_MPIIO": 11, "HEATMAP": 15}
VERSION = {"POSIX": 4, "MPI-IO": 3, "STDIO": 2, "DXT_POSIX": 1, "DXT_MPIIO": 2, "HEATMAP": 1}


def backend() -> Any:
    """PyDarshan's wrapper of its library; the test is skipped without it, or fails if PENSTOCK_REQUIRE_ALL is set."""
    if "PENSTOCK_REQUIRE_ALL" not in os.environ:
        pytest.importorskip("darshan", reason="needs PyDarshan: pip install 'penstock[darshan]'")
    from darshan.backend import cffi_backend

    return cffi_backend


def record_id(name: str) -> int:
    """The id of a file in the logs made here."""
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "little")


@dataclass
class Log:
    """What a log holds. The columns of operations are start, end in seconds, and bytes."""

    job_id: int = 7
    uid: int = 1000
    start: float = 1_600_000_000.0
    seconds: float = 100.0
    ranks: int = 4
    program: str = "/home/alice/solver --fast"
    partial: int = 0
    """Bit n is set if Darshan had no room for all records of module n."""
    mounts: Sequence[tuple[str, str]] = (("/scratch", "lustre"), ("/home", "nfs"))
    dxt: list[tuple[str, str, int, str, Any, Any]] = field(default_factory=list)
    """(module, file, rank, host, writes, reads) of each record."""
    heat: list[tuple[str, int, float, Sequence[int], Sequence[int]]] = field(default_factory=list)
    """(layer, rank, width of a bin, bytes written and read by bin) of each record."""
    counters: list[tuple[str, str, int, dict[str, float]]] = field(default_factory=list)
    """(module, file, rank, counters by name without the module's prefix) of each record."""
    versions: dict[str, int] = field(default_factory=dict)

    def write(self, path: Path) -> Path:
        """Write the log and return its path."""
        library = _library()
        file = library.darshan_log_create(str(path).encode(), 0, self.partial)
        assert file
        file = ctypes.c_void_p(file)
        self._write_head(library, file)
        for name, data in sorted(self._records(), key=lambda one: NUMBER[one[0]]):
            version = self.versions.get(name, VERSION[name])
            assert library.darshan_log_put_mod(file, NUMBER[name], data, len(data), version) == 0
        library.darshan_log_close(file)
        assert path.exists()
        path.chmod(0o644)
        return path

    def _write_head(self, library: Any, file: Any) -> None:
        ffi = backend().ffi
        job = ffi.new("struct darshan_job *")
        job.uid, job.jobid, job.nprocs = self.uid, self.job_id, self.ranks
        job.start_time_sec, job.start_time_nsec = divmod(round(self.start * 1e9), 10**9)
        job.end_time_sec, job.end_time_nsec = divmod(round((self.start + self.seconds) * 1e9), 10**9)
        job.metadata = b"lib_ver=3.5.0\n"
        assert library.darshan_log_put_job(file, _pointer(ffi, job)) == 0
        assert library.darshan_log_put_exe(file, self.program.encode()) == 0
        mounts = ffi.new("struct darshan_mnt_info[]", len(self.mounts))
        for one, (where, kind) in zip(mounts, self.mounts, strict=True):
            one.mnt_path, one.mnt_type = where.encode(), kind.encode()
        assert library.darshan_log_put_mounts(file, _pointer(ffi, mounts), len(self.mounts)) == 0
        assert library.darshan_log_put_namehash(file, _linked(self._names())) == 0

    def _names(self) -> list[str]:
        files = [one[1] for one in (*self.dxt, *self.counters)]
        return list(dict.fromkeys([*files, *(f"heatmap:{one[0]}" for one in self.heat)]))

    def _records(self) -> list[tuple[str, bytes]]:
        return [
            *((one[0], _counters(*one)) for one in self.counters),
            *((one[0], _dxt(*one[1:])) for one in self.dxt),
            *(("HEATMAP", _heatmap(*one)) for one in self.heat),
        ]


def segments(rows: Sequence[tuple[float, float, int]]) -> NDArray[Any]:
    """DXT segments from (start, end, bytes)."""
    made = np.zeros(len(rows), SEGMENT)
    made["start"], made["end"], made["length"] = ([row[column] for row in rows] for column in range(3))
    return made


def _dxt(name: str, rank: int, host: str, writes: Any, reads: Any) -> bytes:
    ffi = backend().ffi
    head = ffi.new("struct dxt_file_record *")
    head.base_rec.id, head.base_rec.rank, head.shared_record = record_id(name), rank, 0
    head.hostname = host.encode()
    written, read = (one if isinstance(one, np.ndarray) else segments(one) for one in (writes, reads))
    head.write_count, head.read_count = len(written), len(read)
    return bytes(ffi.buffer(head)) + written.tobytes() + read.tobytes()


def _heatmap(layer: str, rank: int, width: float, writes: Sequence[int], reads: Sequence[int]) -> bytes:
    ffi = backend().ffi
    head = ffi.new("struct darshan_heatmap_record *")
    head.base_rec.id, head.base_rec.rank = record_id(f"heatmap:{layer}"), rank
    head.bin_width_seconds, head.nbins = width, len(writes)
    return bytes(ffi.buffer(head)) + np.array([*writes, *reads], np.int64).tobytes()


def _counters(module: str, name: str, rank: int, values: dict[str, float]) -> bytes:
    wrapper = backend()
    kind = {"POSIX": "struct darshan_posix_file *", "STDIO": "struct darshan_stdio_file *"}.get(
        module, "struct darshan_mpiio_file *"
    )
    record = wrapper.ffi.new(kind)
    record.base_rec.id, record.base_rec.rank = record_id(name), rank
    prefix = module.replace("-", "")
    for key, value in values.items():
        whole, real = wrapper.counter_names(module), wrapper.fcounter_names(module)
        if f"{prefix}_{key}" in whole:
            record.counters[whole.index(f"{prefix}_{key}")] = int(value)
        else:
            record.fcounters[real.index(f"{prefix}_{key}")] = float(value)
    return bytes(wrapper.ffi.buffer(record))


class _Ref(ctypes.Structure):
    """A name record in the library's hash table; only `name_record` and `next` are read when it is written."""


_Ref._fields_ = [
    ("name_record", ctypes.c_void_p),
    ("table", ctypes.c_void_p),
    ("previous", ctypes.c_void_p),
    ("next", ctypes.POINTER(_Ref)),
    ("rest", ctypes.c_uint64 * 8),
]


def _linked(names: Sequence[str]) -> Any:
    refs = (_Ref * max(len(names), 1))()
    for one, name in zip(refs, names, strict=False):
        text = ctypes.create_string_buffer(record_id(name).to_bytes(8, "little") + name.encode())
        one.name_record = ctypes.cast(text, ctypes.c_void_p)
        _ALIVE.append(text)
    for one, following in zip(refs, list(refs)[1:], strict=False):
        one.next = ctypes.pointer(following)
    _ALIVE.append(refs)
    return ctypes.pointer(refs[0]) if names else None


_ALIVE: list[Any] = []
"""What the library reads while it writes a log."""


def _pointer(ffi: Any, thing: Any) -> ctypes.c_void_p:
    return ctypes.c_void_p(int(ffi.cast("uintptr_t", thing)))


def _library() -> Any:
    backend()
    import darshan

    (path,) = (Path(darshan.__file__).parents[1] / "darshan.libs").glob("libdarshan-util*")
    library = ctypes.CDLL(str(path))
    library.darshan_log_create.restype = ctypes.c_void_p
    library.darshan_log_create.argtypes = [ctypes.c_char_p, ctypes.c_int, ctypes.c_uint64]
    library.darshan_log_put_mod.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_int]
    return library
