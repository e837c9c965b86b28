"""Amounts as people read them: three significant digits and the unit that fits ("1.2 TB", "3.4 GB/s", "2.1 h")."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from penstock.numeric.tolerances import NOISE_OF_RUN, SAME_TIME_S

_BYTES: Final = tuple((1000.0**power, f"{letter}B") for power, letter in enumerate(("", "k", "M", "G", "T", "P", "E")))
_SECONDS: Final = ((1e-6, "µs"), (1e-3, "ms"), (1.0, "s"), (60.0, "min"), (3600.0, "h"), (86400.0, "d"))


def number(value: float) -> str:
    """The `value` with three significant digits, without an exponent; what is only rounding is 0.

    Example:
        >>> number(0.0012345), number(12345.6), number(2.27e-13)
        ('0.00123', '12,346', '0')
    """
    if abs(value) <= SAME_TIME_S:
        return "0"
    if abs(value) >= 999.5:
        return f"{value:,.0f}"
    text = f"{value:.3g}"
    return text if "e" not in text else f"{float(text):.12f}".rstrip("0")


def volume(amount: float) -> str:
    """An amount of bytes, in powers of 1000: "1.2 TB"."""
    return _scaled(amount, _BYTES)


def rate(bytes_per_s: float) -> str:
    """A bandwidth of `bytes_per_s` bytes per second: "3.4 GB/s"."""
    return f"{_scaled(bytes_per_s, _BYTES)}/s"


def percent(part: float, digits: int = 0) -> str:
    """A `part` of a whole as per cent, with so many `digits` behind the point: "12 %"."""
    return f"{100.0 * part:,.{digits}f} %"


def duration(seconds: float, run: float = 0.0) -> str:
    """A time in seconds: "2.1 h"; "0 s" for what is only rounding in a run of `run` seconds."""
    return _scaled(seconds, _SECONDS) if abs(seconds) > max(SAME_TIME_S, NOISE_OF_RUN * run) else "0 s"


def _scaled(amount: float, units: Sequence[tuple[float, str]]) -> str:
    """The amount in the largest unit of which it is 1 or more once rounded to three digits."""
    rounded = float(f"{amount:.3g}")
    size, name = next(((size, name) for size, name in reversed(units) if abs(rounded) >= size), units[0])
    return f"{number(amount / size)} {name}"
