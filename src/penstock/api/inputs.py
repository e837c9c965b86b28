"""What the functions are given: workloads, or the names of their files, and who watches."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
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
    """The workload, read if it is the name of a file."""
    if isinstance(given, Workload):
        return Opened(given)
    return Opened(read(given), os.fspath(given))


class Watcher(Protocol):
    """Is told how far a function is."""

    def begin(self, name: str) -> None:
        """The next step begins; `name` says what it is."""

    def at(self, part: float) -> None:
        """So much of the step is done, from 0 to 1."""

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
    """Nobody watches."""
    yield _Nobody()
