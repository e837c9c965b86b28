"""Files that a command is asked to write are checked before it does its work."""

from __future__ import annotations

import os
import stat
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
    reason = _reason(file)
    if reason:
        raise InputError(str(path), reason)


def check_picture(path: str | os.PathLike[str] | None) -> None:
    """The same for a drawing."""
    from penstock.report.pictures import SUFFIXES

    check_output(path, SUFFIXES)


def _reason(file: Path) -> str | None:
    """Why the file cannot be written; in the system's own words where it is asked."""
    try:
        if file.is_dir():
            return "is a directory; expected the name of a file to write"
        if not stat.S_ISDIR(file.parent.stat().st_mode):
            return "cannot be written: Not a directory"
    except OSError as error:
        return f"cannot be written: {error.strerror}"
    return None if os.access(file.parent, os.W_OK | os.X_OK) else "cannot be written: Permission denied"
