"""Files that a command is asked to write are checked before it does its work."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from penstock.model import InputError

STANDARD_OUTPUT = "-"


def check_output(path: str | os.PathLike[str] | None, suffixes: Sequence[str] = ()) -> None:
    """Refuse a file that could not be written: no such folder, no right to write there, a suffix that says no known format.

    Args:
        path: the file; None and ``-`` are always right.
        suffixes: those that tell the format; any, if there are none.

    Raises:
        InputError: with the path and the reason.
    """
    if path is None or path == STANDARD_OUTPUT:
        return
    file = Path(path)
    if suffixes and file.suffix not in suffixes:
        raise InputError(str(path), f"cannot tell the format from {file.suffix!r}; expected one of {', '.join(suffixes)}")
    if file.is_dir():
        raise InputError(str(path), "is a directory; expected the name of a file to write")
    folder = file.parent
    reason = _reason(folder, file)
    if reason:
        raise InputError(str(path), f"cannot be written: {reason}")


def check_picture(path: str | os.PathLike[str] | None) -> None:
    """The same for a drawing."""
    from penstock.report.pictures import SUFFIXES

    check_output(path, SUFFIXES)


def _reason(folder: Path, file: Path) -> str | None:
    """Why the file cannot be written there."""
    try:
        if not folder.exists():
            return "No such file or directory"
        if not folder.is_dir():
            return "Not a directory"
        if len(os.fsencode(file.name)) > os.pathconf(folder, "PC_NAME_MAX"):
            return "File name too long"
    except OSError as error:
        return error.strerror
    return None if os.access(folder, os.W_OK | os.X_OK) else "Permission denied"
