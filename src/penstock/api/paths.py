"""Files that the functions read and write: workloads by value or by name, and outputs that are checked before the work."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeAlias

from penstock.model import InputError, Workload
from penstock.model.files import read

WorkloadLike: TypeAlias = Workload | str | os.PathLike[str]
"""A workload, or the name of its file; ``-`` is standard input."""


@dataclass(frozen=True)
class Opened:
    """A workload and where it comes from."""

    workload: Workload
    path: str | None = None
    """The name of its file; None for a workload that was made in Python."""

    @property
    def title(self) -> str:
        """A short name for drawings and reports."""
        if self.path is None:
            return "workload"
        return "standard input" if self.path == "-" else Path(self.path).name

    @contextmanager
    def located(self) -> Iterator[None]:
        """Errors about what the workload says name its file."""
        try:
            yield
        except InputError as error:
            if self.path is None:
                raise
            raise error.of_workload("standard input" if self.path == "-" else self.path) from None


def opened(given: WorkloadLike) -> Opened:
    """The workload that is `given`, read if that is the name of a file. Raises InputError for a wrong file."""
    if isinstance(given, Workload):
        return Opened(given)
    return Opened(read(given), os.fspath(given))


class Watcher(Protocol):
    """Is told how far a function is."""

    def begin(self, name: str) -> None:
        """The next step begins; `name` says what it is."""

    def at(self, part: float) -> None:
        """The part `part` of the step is done, from 0 to 1."""

    def end(self) -> None:
        """The step is done."""


Watch: TypeAlias = Callable[[int], AbstractContextManager[Watcher]]
"""Makes the watcher of so many steps whose parts are told; of 0 where only their names are."""


class _Nobody:
    def begin(self, name: str) -> None:
        pass

    def at(self, part: float) -> None:
        pass

    def end(self) -> None:
        pass


@contextmanager
def nobody(steps: int) -> Iterator[Watcher]:  # noqa: ARG001  (the signature of a Watch)
    """A `Watch` whose watcher of `steps` steps does nothing."""
    yield _Nobody()


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
    """Refuse a file `path` for a drawing as `check_output` does, and one that ends in neither .svg, .png nor .html."""
    from penstock.report.figures import SUFFIXES

    check_output(path, SUFFIXES)


def _reason(file: Path) -> str | None:
    """Why the file cannot be written; in the system's own words where it is asked."""
    try:
        if file.is_dir():
            return "is a directory; expected the name of a file to write"
        if file.exists() and not file.is_file():  # a device or a pipe, which is not replaced
            return None if os.access(file, os.W_OK) else "cannot be written: Permission denied"
        if not stat.S_ISDIR(file.parent.stat().st_mode):
            return "cannot be written: Not a directory"
    except OSError as error:
        return f"cannot be written: {error.strerror}"
    return None if os.access(file.parent, os.W_OK | os.X_OK) else "cannot be written: Permission denied"
