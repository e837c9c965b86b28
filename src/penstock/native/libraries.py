"""Where the C libraries are, and how to build them.

They are inside the installed package, or in the build folder of a source tree. The library for MPI is built once for each
family of MPIs, which have one ABI: `mpich` (also Intel MPI, Cray MPICH, MVAPICH), `openmpi`, and `abi`, the one of MPI 5.

The package works without them; whoever needs one is told in one line how to get it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from penstock.model.errors import InputError

POSIX: Final = "libpenstock-posix.so"
CLIENT: Final = "libpenstock.so"
MPI: Final = "libpenstock-mpi.so"
LIBRARY_PATH: Final = "PENSTOCK_LIBRARY_PATH"
"""Folders to look in first, separated by colons."""


def sources() -> Path | None:
    """The folder with the C sources: inside the package, or in the source tree around it; None if there is none."""
    package = Path(__file__).parent
    for folder in (package / "sources", package.parents[2] / "native"):
        if (folder / "Makefile").is_file():
            return folder
    return None


def folders() -> list[Path]:
    """The folders in which libraries may be, in the order in which they are looked for."""
    told = [Path(folder) for folder in os.environ.get(LIBRARY_PATH, "").split(":") if folder]
    found = sources()
    return [*told, Path(__file__).parent / "lib", *([found / "build"] if found else [])]


def find(name: str) -> Path | None:
    """The library of this file name, or None if it was not built."""
    return next((folder / name for folder in folders() if (folder / name).is_file()), None)


def require(name: str) -> Path:
    """The library of this file name.

    Raises:
        InputError: If it was not built; the text says how to build it.
    """
    library = find(name)
    if library is None:
        raise InputError(name, "was not built; expected `penstock native build`, which needs a C compiler")
    return library


def mpi_libraries() -> dict[str, Path]:
    """The libraries for MPI that were built, by the family of MPIs that each is for."""
    below = [each / "mpi" for folder in reversed(folders()) for each in (folder / "penstock", folder)]
    found = [path for folder in below for path in sorted(folder.glob(f"*/{MPI}"))]
    return {path.parent.name: path for path in found}


def build(output: Path | None = None, *, compiler: str = "cc", mpi: Sequence[str] = ()) -> list[Path]:
    """Build the libraries.

    Args:
        output: The folder to put them in; None for the one in which they are looked for.
        compiler: The C compiler.
        mpi: The C compiler of each MPI to build for, such as ``mpicc``.

    Returns:
        The libraries that were built.

    Raises:
        InputError: If there are no sources, the folder cannot be made, or a compiler is missing or fails; the text ends
            with the compiler's last line.
    """
    folder = sources()
    if folder is None:
        raise InputError("native", "this installation has no C sources; expected one from a source tree or a wheel of ours")
    for one in (compiler, "make", *mpi):
        if shutil.which(one) is None:
            raise InputError("native", f"there is no program {one!r}; expected a C compiler such as gcc, and make")
    target = (output or folder / "build").absolute()
    try:
        target.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(str(target), f"cannot be made: {error.strerror}; expected a folder for the libraries") from None
    for what in (*(["mpi", f"MPICC={one}"] for one in mpi), ["all"]):
        command = ["make", "-C", str(folder), f"BUILD={target}", f"CC={compiler}", *what]
        done = subprocess.run(command, capture_output=True, text=True)  # noqa: S603
        if done.returncode:
            last = (done.stderr.strip() or done.stdout.strip() or "no message").splitlines()[-1]
            raise InputError("native", f"the compiler failed: {last}")
    return [*sorted(target.glob("libpenstock*.so")), *sorted(target.glob(f"mpi/*/{MPI}"))]
