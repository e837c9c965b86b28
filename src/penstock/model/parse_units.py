"""Parse amounts with units: seconds, bytes, bytes per second.

A number is in the base unit; a string may carry a unit: ``"16 h"``, ``"3.2 TB"``, ``"200 GiB/s"``. Decimal prefixes
are powers of 1000 (kB, MB, …), binary ones powers of 1024 (KiB, MiB, …).
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from penstock.model.errors import InputError, short

_TIME = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}
_BYTES = {"B": 1.0}
for _power, _letter in enumerate("kMGTPE", start=1):
    _BYTES[f"{_letter}B"] = 1000.0**_power
    _BYTES[f"{_letter.upper()}iB"] = 1024.0**_power
_RATE = {f"{unit}/s": factor for unit, factor in _BYTES.items()}
UNITS: Final = MappingProxyType({"seconds": _TIME, "bytes": _BYTES, "bytes/s": _RATE})
"""By base unit: the units that a string may carry, and the size of each in the base unit."""

_NUMBER_AND_UNIT = re.compile(r"\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*(\S*)\s*")


def seconds(value: object, place: str) -> float:
    """Parse a time of 0 seconds or more.

    Args:
        value: A finite number of seconds, or a string such as "16 h".
        place: Where the value stands, for the error.

    Raises:
        InputError: The value is not such an amount.

    Example:
        >>> seconds("16 h", "window")
        57600.0

    """
    return not_negative(value, place, "seconds", _TIME)


def volume(value: object, place: str) -> float:
    """Parse a `value` of 0 bytes or more, such as "3.2 TB"; `place` and errors as for `seconds`."""
    return not_negative(value, place, "bytes", _BYTES)


def bandwidth(value: object, place: str) -> float:
    """Parse a `value` above 0 bytes/s, such as "200 GiB/s"; `place` and errors as for `seconds`."""
    rate = amount(value, place, "bytes/s", _RATE)
    if not rate > 0.0:
        raise InputError(place, f"{value!r} is not a bandwidth; expected a finite number of bytes/s above 0")
    return rate


def instant(value: object, place: str) -> float:
    """Parse a `value` that is a date in seconds, of either sign; `place` and errors as for `seconds`."""
    return amount(value, place, "seconds", _TIME)


def not_negative(value: object, place: str, what: str, units: Mapping[str, float]) -> float:
    """Parse a `value` as `amount` does, with its `place`, base unit `what` and `units`, and refuse one below 0."""
    number = amount(value, place, what, units)
    if number < 0.0:
        raise InputError(place, f"{value!r} is negative; expected a finite number of {what}, 0 or more")
    return number


def amount(value: object, place: str, what: str, units: Mapping[str, float]) -> float:
    """Parse a finite amount.

    Args:
        value: A number, or a string with a unit.
        place: Where the value stands, for the error.
        what: The base unit.
        units: The units that a string may carry, and their sizes in the base unit.

    Returns:
        The amount in the base unit.

    Raises:
        InputError: The value is not such an amount.

    """
    if isinstance(value, str):
        number = _from_string(value, place, what, units)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        number = _from_number(value)
    else:
        raise InputError(place, f"{value!r} is not a number; expected {what}, or a string with a unit ({_list(units)})")
    if not math.isfinite(number):
        raise InputError(place, f"{value!r} is not finite; expected a finite number of {what}")
    return number


def count(value: object, place: str, what: str) -> int:
    """Check a `value` that is a whole number of `what`, 1 or more. Raises InputError with the `place`."""
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value < 2**53:
        raise InputError(place, f"{value!r} is not a number of {what}; expected a whole number, 1 or more")
    return value


def positions(value: object, place: str, what: str) -> tuple[int, ...]:
    """Check a `value` that lists positions of `what`: different whole numbers from 0 on. An error has the `place`."""
    given = tuple(value) if isinstance(value, list | tuple) else ()
    whole = all(isinstance(one, int) and not isinstance(one, bool) and 0 <= one < 2**53 for one in given)
    if not given or not whole or len(set(given)) != len(given):
        raise InputError(place, f"{short(value)} are no {what}; expected a list of different whole numbers from 0 on")
    return given


def _from_number(value: float) -> float:
    try:
        return float(value)
    except OverflowError:  # an integer literal of more than 308 digits
        return math.inf


def _from_string(text: str, place: str, what: str, units: Mapping[str, float]) -> float:
    match = _NUMBER_AND_UNIT.fullmatch(text)
    if match is None:
        raise InputError(place, f"{text!r} is not an amount; expected {what}, or a string with a unit ({_list(units)})")
    number, unit = match.groups()
    if unit and unit not in units:
        raise InputError(place, f"{text!r} has the unknown unit {unit!r}; expected one of {_list(units)}")
    return float(number) * (units[unit] if unit else 1.0)


def _list(units: Mapping[str, float]) -> str:
    return ", ".join(units)
