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
    """Shows the names of steps, and the part of all that is done."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._name = ""
        self._done = ""

    def begin(self, name: str) -> None:
        """The next step, by its name."""
        self._name = name
        self._say(f"{name}{self._done}")

    def at(self, part: float) -> None:
        """Show that this part of all steps is done, from 0 to 1."""
        done = f", {part:.0%}"
        if done != self._done:
            self._done = done
            self._say(f"{self._name}{done}")

    def end(self) -> None:
        """The name stays until the next step begins."""


@contextmanager
def _spinner() -> Iterator[_Spinner]:
    with telling() as say:
        yield _Spinner(say)
