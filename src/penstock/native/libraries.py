"""Where the C libraries are: inside the installed package, or in the build folder of a source tree.

The package works without them; whoever needs one is told in one line how to get it.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from penstock.model.errors import InputError

POSIX: Final = "libpenstock-posix.so"
CLIENT: Final = "libpenstock.so"
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
