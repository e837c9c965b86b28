"""Guess which known name a user meant."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


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
