"""Values as Slurm writes them: dates, times, amounts, lists of nodes and ids of jobs."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Mapping
from datetime import datetime, tzinfo
from typing import Final

from penstock.model.errors import short


class Unreadable(Exception):
    """A line that cannot be read, and why."""


_NONE: Final = frozenset(
    ("", "unknown", "none", "n/a", "(null)", "invalid", "partition_limit", "unlimited", "none assigned")
)
_DURATION: Final = re.compile(r"(?:(\d+)-)?(?:(\d+):)?(\d+):(\d+(?:\.\d+)?)")
_AMOUNT: Final = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGTPEZ]?)(?:i?B)?[nc]?", re.IGNORECASE)
_POWERS: Final = {letter: 1024.0**power for power, letter in enumerate("KMGTPEZ", start=1)} | {"": 1.0}
_JOB: Final = re.compile(r"(\d+(?:_(?:\d+|\[[^\]]*\]?))?(?:\+\d+)?)(?:\.([\w+]+))?", re.ASCII)
MOST_SECONDS: Final = 1e10
"""Later dates and longer times, beyond the year 2286, are mistakes."""


def seconds_of(text: str) -> float | None:
    """A time of Slurm, the `text` ``1-02:03:04`` for one, in seconds; None for UNLIMITED, Partition_Limit and the like.

    Raises:
        Unreadable: if it is neither.

    Example:
        >>> seconds_of("1-02:03:04"), seconds_of("05:30"), seconds_of("UNLIMITED")
        (93784.0, 330.0, None)
    """
    if text.strip().lower() in _NONE:
        return None
    found = _DURATION.fullmatch(text.strip())
    if found is None:
        raise Unreadable(f"{short(text)} is no time; expected 1-02:03:04")
    days, hours, minutes, seconds = found.groups()
    return bounded(int(days or 0) * 86400.0 + int(hours or 0) * 3600.0 + int(minutes) * 60.0 + float(seconds), text)


def bytes_of(text: str) -> float:
    """An amount of Slurm, the `text` ``4000Mn`` or ``20.02M``, in whole bytes; prefixes are powers of 1024.

    Raises:
        Unreadable: if it is none.

    Example:
        >>> bytes_of("4000Mn"), bytes_of("1.5K"), bytes_of("7")
        (4194304000.0, 1536.0, 7.0)
    """
    found = _AMOUNT.fullmatch(text.strip())
    if found is None:
        raise Unreadable(f"{short(text)} is no amount; expected bytes such as 4000M")
    number = float(found[1]) * _POWERS[found[2].upper()]
    if not number < 2.0**70:
        raise Unreadable(f"{short(text)} is too much; expected bytes")
    return float(round(number))


def bounded(seconds: float, text: object) -> float:
    """The `seconds` if they are a date or a time that can be; raises Unreadable that quotes the `text` otherwise."""
    if not 0.0 <= seconds <= MOST_SECONDS:
        raise Unreadable(f"{short(text)} is out of range; expected seconds or a date")
    return seconds


def dates_of(text: str, zone: tzinfo | None) -> tuple[float, ...]:
    """A date in Unix seconds: none if it is not known, two where the clock of the zone shows it twice.

    Args:
        text: as Slurm prints it, ``2026-03-29T01:30:00``, with or without an offset, or Unix seconds.
        zone: the zone of dates without an offset; None is that of this machine.

    Raises:
        Unreadable: if it is no date.

    Example:
        >>> from zoneinfo import ZoneInfo
        >>> dates_of("2026-10-25T02:30:00", ZoneInfo("Europe/Berlin")), dates_of("Unknown", None)
        ((1792888200.0, 1792891800.0), ())
    """
    word = text.strip()
    if word.lower() in _NONE:
        return ()
    if word.isdecimal() and word.isascii():
        return (bounded(float(word), text),) if word.strip("0") else ()
    try:
        date = datetime.fromisoformat(word)
        if date.tzinfo is not None:
            return (bounded(date.timestamp(), text),)
        both = (date.replace(tzinfo=zone, fold=fold).timestamp() for fold in (0, 1))
        first, second = (bounded(one, text) for one in both)
    except (ValueError, OverflowError, OSError):
        raise Unreadable(f"{short(text)} is no date; expected 2026-03-29T01:30:00") from None
    return (first,) if second <= first else (first, second)


def job_and_step(text: str) -> tuple[str, str]:
    """The id of a job and of a step from a `text` such as ``123_4.batch``."""
    found = _JOB.fullmatch(text.strip())
    if found is None:
        raise Unreadable(f"{short(text)} is no job; expected an id such as 123, 123_4 or 123.batch")
    return found[1], found[2] or ""


def count_of(text: str) -> int | None:
    """A count of nodes or tasks in a `text`; None where there is none or 0."""
    word = text.strip()
    if word.lower() in _NONE:
        return None
    number = bytes_of(word) if not word.isdecimal() else float(word)
    if not number < 2.0**31:
        raise Unreadable(f"{short(text)} is too many; expected a count")
    return int(number) or None


def tres_of(text: str) -> dict[str, str]:
    """The amounts of a `text` such as ``cpu=2,node=1``, by name."""
    amounts = {}
    for each in filter(None, text.split(",")):
        name, sign, amounts[name] = each.partition("=")
        if not sign:  # such as the 5G of fs/disk=1,5G, with a decimal comma
            raise Unreadable(f"{short(text)} has a part without '='; expected amounts such as fs/disk=1.5G,mem=2G")
    return amounts


def file_system(amounts: Mapping[str, str]) -> float | None:
    """Bytes on file systems, from `amounts` by name; None if there are none.

    A plug-in for one, such as ``fs/lustre``, comes before ``fs/disk``, which is all that processes read and wrote.
    """
    named = [name for name in amounts if name.startswith("fs/") and name != "fs/disk"]
    chosen = named or (["fs/disk"] if "fs/disk" in amounts else [])
    return sum(bytes_of(amounts[name]) for name in chosen) if chosen else None


def nodes_in(text: str) -> int | None:
    """How many nodes a `text` such as ``n[1-4,7],login1`` names; None for none.

    Example:
        >>> nodes_in("n[1-4,7],login1"), nodes_in("None assigned")
        (6, None)
    """
    if text.strip().lower() in _NONE:
        return None
    total = 0
    for part in re.findall(r"[^,\[]+(?:\[[^\]]*\])*[^,]*", text):
        total += math.prod(_range_count(inner) for inner in re.findall(r"\[([^\]]*)\]", part))
    return total if 0 < total < 2**31 else None


def _range_count(text: str) -> int:
    """How many numbers ``1-4,7`` or ``0-8:2`` names."""
    return sum(1 for _ in itertools.islice(numbers_of(text), 2**20))


def numbers_of(text: str) -> Iterator[int]:
    """The numbers that a `text` such as ``1-4,7``, ``0-8:2`` or ``1-4%2`` names; raises Unreadable if it is no such list.

    Example:
        >>> list(numbers_of("0-4:2,7%3"))
        [0, 2, 4, 7]
    """
    for each in text.partition("%")[0].split(","):
        found = re.fullmatch(r"\s*(\d{1,12})(?:-(\d{1,12})(?::(\d{1,12}))?)?\s*", each)
        if found is None:
            raise Unreadable(f"{short(text)} is no list of numbers; expected 1-4,7")
        first, last, step = int(found[1]), int(found[2] or found[1]), int(found[3] or 1)
        yield from range(first, last + 1, max(step, 1))
