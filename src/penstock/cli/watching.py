"""What a terminal shows while a function of the API is at work."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING

from penstock.cli.output import Bar, telling

if TYPE_CHECKING:
    from penstock.api.inputs import Watcher


def watch(steps: int) -> AbstractContextManager[Watcher]:
    """A bar for steps whose parts are known; for 0 a spinner with the name of what is under way."""
    return Bar(steps) if steps else _spinner()


class _Spinner:
    """Shows the names of steps."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say

    def begin(self, name: str) -> None:
        """The next step, by its name."""
        self._say(name)

    def at(self, part: float) -> None:
        """A spinner has no length."""

    def end(self) -> None:
        """The name stays until the next step begins."""


@contextmanager
def _spinner() -> Iterator[_Spinner]:
    with telling() as say:
        yield _Spinner(say)
