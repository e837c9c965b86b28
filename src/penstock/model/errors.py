"""The exceptions of Penstock, and suggestions for mistyped names.

::

    PenstockError            anything a user can put right; its text is one line
    ├── InputError           a value in a file, on the command line or in a constructor
    └── PolicyFault          a policy that broke its contract while it ran

An error says where, what and what instead: "applications[3].phases[17]: volume -2.0 is negative; expected a finite
number of bytes, 0 or more".
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Final

_IN_WORKLOAD: Final = re.compile(r"(platform|applications|window)\b")
"""How the places in a workload begin."""


class PenstockError(Exception):
    """An error that a user can act on; its text is one line."""


class InputError(PenstockError):
    """A wrong value in a file, on the command line or in a constructor.

    Args:
        place: the path of the value inside the file or object, such as ``applications[3].phases[17]``.
        message: the value, what is wrong with it, and what is expected.

    Example:
        >>> print(InputError("nodes", "0 is not a number of nodes; expected 1 or more").within("applications[3]"))
        applications[3].nodes: 0 is not a number of nodes; expected 1 or more
    """

    def __init__(self, place: str, message: str) -> None:
        self.place = place
        self.message = message
        super().__init__(f"{place}: {message}" if place else message)

    def __reduce__(self) -> tuple[type[InputError], tuple[str, str]]:
        """How an error is sent to another process."""
        return type(self), (self.place, self.message)

    def within(self, outer: str) -> InputError:
        """The same error seen from the object `outer` that contains the place: its place is ``outer.place``."""
        return InputError(f"{outer}.{self.place}" if self.place else outer, self.message)

    def in_file(self, path: str) -> InputError:
        """The same error with the name `path` of the file in front."""
        return InputError(path, str(self))

    def of_workload(self, path: str) -> InputError:
        """The same error with the name `path` of the file in front, if it is about a workload and does not have that yet.

        Errors found after a file was read know only the place in it.
        """
        return self.in_file(path) if _IN_WORKLOAD.match(self.place) and self.place != path else self


class PolicyFault(PenstockError):
    """A policy gave rates that the link cannot carry, or raised an exception; the text names the policy."""


def short(value: object) -> str:
    """The value as an error quotes it, cut where it is long."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name most like `name`, or None if none is like it.

    Example:
        >>> nearest("greedy-yeild", ["fair-share", "greedy-yield"])
        'greedy-yield'
        >>> nearest("mine", ["fair-share", "greedy-yield"])

    """
    names = list(known)
    by_lower = {one.lower(): one for one in reversed(names)}
    close = get_close_matches(name.lower(), by_lower, n=1, cutoff=0.65)
    return by_lower[close[0]] if close else None


def expected(name: str, known: Iterable[str]) -> str:
    """The end of an error about an unknown name: the known names, and which of them may be meant.

    Example:
        >>> expected("fcsf", ["fair-share", "fcfs"])
        'expected one of fair-share, fcfs; did you mean fcfs?'

    """
    names = list(known)
    match = nearest(name, names)
    return f"expected one of {', '.join(names)}" + (f"; did you mean {match}?" if match else "")
