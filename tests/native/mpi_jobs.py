"""MPI programs with the libraries preloaded: which MPIs there are, their compilers, and jobs of some ranks."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from penstock.native.libraries import MPI
from tests.native.building import NATIVE, make, need
from tests.native.shimming import PROGRAMS, Seen, Site, library

ANYWHERE = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
    "OMPI_MCA_mpi_yield_when_idle": "1",
    "UCX_NET_DEVICES": "lo",
}
"""Lets ranks start as root, on fewer processors than ranks, on the loopback only."""
RANKS = 2
"""Ranks wait for each other by polling, so more of them than processors are slow."""


@dataclass(frozen=True)
class Mpi:
    """An MPI of Debian, whose programs are called by full names: plain `mpicc` is whichever was installed last."""

    family: str

    def program(self, name: str) -> str:
        return f"{name}.{self.family}"

    def shim(self) -> Path:
        """The library for this MPI, built once."""
        return _shim(self)

    def compiled(self, source: str, *options: str, compiler: str = "mpicc") -> Path:
        """A program of the folder `programs`."""
        return _compiled(self, source, options, compiler)

    def preloaded(self) -> dict[str, str]:
        return {"LD_PRELOAD": f"{self.shim()}:{library()}"}

    def command(self, *words: object, ranks: int = RANKS) -> list[str]:
        return [self.program("mpiexec"), "-n", str(ranks), *map(str, words)]

    def start(self, site: Site, *words: object, ranks: int = RANKS, **more: str) -> subprocess.Popen[bytes]:
        """Start a job whose ranks have the libraries."""
        return site.start(*self.command(*words, ranks=ranks), **(ANYWHERE | self.preloaded() | more))

    def run(self, site: Site, *words: object, ranks: int = RANKS, **more: str) -> Seen:
        return site.finish(self.start(site, *words, ranks=ranks, **more))


MPICH, OPEN_MPI = Mpi("mpich"), Mpi("openmpi")
BOTH = (MPICH, OPEN_MPI)


def family(mpi: Mpi) -> str:
    """The name of a case."""
    return mpi.family


@cache
def _shim(mpi: Mpi) -> Path:
    need("make", "cc", mpi.program("mpicc"), mpi.program("mpiexec"))
    make("mpi", f"MPICC={mpi.program('mpicc')}")
    return NATIVE / "build" / "mpi" / mpi.family / MPI


@cache
def _compiled(mpi: Mpi, source: str, options: Sequence[str], compiler: str) -> Path:
    need(mpi.program(compiler), mpi.program("mpiexec"))
    (NATIVE / "build").mkdir(exist_ok=True)
    stem = Path(source).stem + "".join(option.strip("-") for option in options if option.startswith("-D"))
    output = NATIVE / "build" / f"{stem}-{mpi.family}-{os.getpid()}"
    command = [mpi.program(compiler), "-O1", *options, "-o", str(output), str(PROGRAMS / source)]
    subprocess.run(command, check=True, cwd=NATIVE / "build")
    return output


def said(text: str) -> list[dict[str, str]]:
    """What `mpi_calls` printed, one entry a call."""
    rows = []
    for line in text.splitlines():
        rank, call, *values = line.split()
        rows.append({"rank": rank, "call": call} | dict(value.split("=") for value in values))
    return rows


def moved(text: str) -> tuple[int, int]:
    """Bytes read and written by the calls that `mpi_calls` printed."""
    rows = said(text)
    read = sum(int(row["bytes"]) for row in rows if "read" in row["call"])
    return read, sum(int(row["bytes"]) for row in rows) - read


def of_ranks(seen: Seen, program: Path) -> Seen:
    """Only the records of the ranks: launchers pass on what these print."""
    names = (program.name[:15], program.name)
    return Seen(seen.code, seen.out, seen.errors, [record for record in seen.records if record.program in names])
