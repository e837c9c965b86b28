"""Parameters that describe themselves, and the distributions that generators draw from.

The parameters of a generator are a frozen dataclass that checks itself. `parameter` adds to each field what a reader must
know about it: a sentence, its unit and its symbol in the paper. The options of ``penstock generate``, the keys of campaign
files and the tables of the documentation are made from that, so they cannot differ.

Example:
    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Trace:
    ...     length: float = parameter("length of the window", 60.0, unit="seconds", symbol="h")
    >>> (length,) = parameters_of(Trace)
    >>> length.text
    'h: length of the window, in seconds (default: 60)'
    >>> length.convert("2 min", "length")
    120.0

A distribution is evaluated at given uniform numbers (its quantiles). So a draw takes one number whatever the parameters, and
two workloads of the same seed differ only by what their parameters say.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Hashable
from dataclasses import MISSING, dataclass, field, fields, replace
from functools import cache
from numbers import Integral
from statistics import NormalDist
from types import MappingProxyType
from typing import Any, Final, cast, get_args, get_type_hints

import numpy as np
from numpy.typing import NDArray

from penstock.model import InputError, parse_units
from penstock.model.errors import expected, short

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

LARGEST_POWER: Final = 11
"""Sizes are 2^0 … 2^11 nodes (001 §III.D.2.b)."""
_LEAST, _MOST = sys.float_info.min, 1.0 - 2.0**-53


def require(condition: bool, name: str, value: object, expected: str) -> None:
    """Refuse the `value` of the parameter `name`, unless the `condition` holds: an InputError says what is `expected`."""
    if not condition:
        raise InputError(name, f"{value} is out of range; expected {expected}")


def require_range(low: int, high: int, names: tuple[str, str]) -> None:
    """Refuse bounds `low` and `high` of a draw, of these `names`, that are below 1 or the wrong way round."""
    require(low >= 1, names[0], low, "1 or more")
    require(low <= high < 2**31, names[1], high, f"{low} or more, the value of {names[0]}")


def require_seed(value: object, place: str) -> int:
    """The value if it is a seed: a whole number that fits into 63 bits, 0 or more. An error names the place."""
    if isinstance(value, bool) or not isinstance(value, Integral) or not 0 <= int(value) < 2**63:
        raise InputError(place, f"{short(value)} is no seed; expected a whole number, 0 or more")
    return int(value)


def truncated_normal(uniforms: Floats, mean: float, sigma: float, low: float, high: float) -> Floats:
    """N(mean, sigma²) truncated to [low, high], at uniform numbers.

    Args:
        uniforms: numbers from 0 to 1, one for each draw.
        mean: must lie in [low, high]; then the probability kept is never too small to invert.
        sigma: standard deviation; 0 gives the mean.
        low: smallest value.
        high: largest value.
    """
    if sigma == 0.0:
        return np.full(len(uniforms), mean)
    law = NormalDist(mean, sigma)
    below, above = law.cdf(low), law.cdf(high)
    chances = np.clip(below + (above - below) * uniforms, _LEAST, _MOST)
    drawn = np.fromiter(map(law.inv_cdf, chances.tolist()), np.float64, len(uniforms))
    return np.clip(drawn, low, high)


def truncated_normal_mean(mean: float, sigma: float, low: float, high: float) -> float:
    """The mean of a normal distribution that is truncated.

    It is mean + sigma · (ϕ(α) − ϕ(β)) / (Φ(β) − Φ(α)), α and β the bounds `low` and `high` in units of sigma.
    """
    if sigma == 0.0:
        return mean
    law = NormalDist(mean, sigma)
    return mean + sigma**2 * (law.pdf(low) - law.pdf(high)) / (law.cdf(high) - law.cdf(low))


def powers_of_two(mean: float, count: int, random: np.random.Generator) -> Integers:
    """`count` sizes 2^j, j ~ Binomial(11, p): E 2^j = (1 + p)^11 is the `mean` for p = mean^(1/11) − 1.

    Means below 1 or above 2^11 are impossible; the nearest possible mean is taken. `random` is the generator that draws.
    """
    chance = min(max(mean ** (1.0 / LARGEST_POWER) - 1.0, 0.0), 1.0)
    exponents: Integers = random.binomial(LARGEST_POWER, chance, count)
    return 2**exponents


def discrete_exponential(uniforms: Floats, rate: float, low: int, high: int) -> Integers:
    """Whole numbers q with chances in proportion to exp(−rate · q), at uniform numbers.

    Args:
        uniforms: numbers from 0 to 1, one for each draw.
        rate: how fast the chances fall.
        low: smallest q.
        high: largest q.
    """
    whole = -math.expm1(-rate * (high - low + 1))
    steps = np.floor(-np.log1p(-whole * uniforms) / rate).astype(np.int64)
    return np.minimum(low + steps, high)


_PREFIXES: Final = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
_DESCRIPTION: Final = "penstock.parameter"
"""The key under which a field keeps its description."""


@dataclass(frozen=True)
class GeneratorParameter:
    """A parameter of a generator.

    Attributes:
        name: The name of the field, and the key in campaign files.
        type: float, int or str.
        default: The default, or `dataclasses.MISSING` if a value must be given.
        help: What it is, in a few words.
        unit: Its unit. Amounts in "seconds" or "bytes/s" may be written with any unit: "2 h", "3 GB/s".
        symbol: Its symbol in the paper.
        aliases: Further names of its option, without dashes.
        default_text: The default as the help shows it.
        metavar: What stands for its value in the usage line, if not its name.
        added_later: Campaigns leave it out of what they record while it has its default, so that older rows keep their keys.
        hidden: It is set by the program and is not an option.

    """

    name: str
    type: type
    default: Any
    help: str
    unit: str = ""
    symbol: str = ""
    aliases: tuple[str, ...] = ()
    default_text: str = ""
    metavar: str | None = None
    added_later: bool = False
    hidden: bool = False

    @property
    def required(self) -> bool:
        """Whether a value must be given."""
        return self.default is MISSING

    @property
    def options(self) -> tuple[str, ...]:
        """The names of its option: ``("--node-share",)``."""
        return tuple(f"--{name.replace('_', '-')}" for name in (self.name, *self.aliases))

    @property
    def meaning(self) -> str:
        """What it is, with its symbol and unit."""
        symbol = f"{self.symbol}: " if self.symbol else ""
        return symbol + self.help + (f", in {self.unit}" if self.unit else "")

    @property
    def text(self) -> str:
        """What it is, its symbol, unit and default: one line for a help text."""
        return f"{self.meaning} ({'required' if self.required else f'default: {self.default_text}'})"

    def convert(self, value: object, place: str) -> Any:
        """Convert a value of a document.

        Args:
            value: What the document says.
            place: The place in the document, for the error.

        Returns:
            The value in the parameter's type and base unit.

        Raises:
            InputError: The value is not of the type.

        """
        units = parse_units.UNITS.get(self.unit)
        return _CONVERTERS[self.type](value, place) if units is None else parse_units.amount(value, place, self.unit, units)

    def convert_text(self, text: str) -> Any:
        """Convert a word of a command line, `text`. Raises InputError without a place."""
        try:
            return self.convert(int(text) if self.type is int else text, "")
        except ValueError:
            return self.convert(text, "")


def parameter(help_: str, default: Any = MISSING, **about: Any) -> Any:
    """Make a field of a dataclass that describes itself. A subclass may give it another default and keeps the description.

    Args:
        help_: What it is, in a few words.
        default: The default; without one a value must be given.
        **about: Further attributes of `GeneratorParameter`: unit, symbol, aliases and so on.

    """
    return field(default=default, metadata={_DESCRIPTION: GeneratorParameter("", object, default, help_, **about)})


def parameters_of(kind: type[Any]) -> tuple[GeneratorParameter, ...]:
    """The parameters of `kind`, a dataclass whose fields are all made by `parameter`, in their order."""
    return _parameters_of(cast(Hashable, kind))


@cache  # a campaign asks for each of its cells
def _parameters_of(kind: Any) -> tuple[GeneratorParameter, ...]:
    types = get_type_hints(kind)
    return tuple(
        _completed(_description(kind, each.name), each.name, types[each.name], each.default) for each in fields(kind)
    )


def _completed(about: GeneratorParameter, name: str, annotation: Any, default: Any) -> GeneratorParameter:
    """The description with what the field says by itself; the type of ``int | None`` is int."""
    value_type = next((one for one in get_args(annotation) if one is not type(None)), annotation)
    text = about.default_text or _default_text(default, about.unit)
    return replace(about, name=name, type=value_type, default=default, default_text=text)


def parse(kind: type[Any], given: dict[str, Any]) -> Any:
    """Make the parameters of a generator.

    Args:
        kind: their dataclass.
        given: values by name. Times and bandwidths may carry a unit.

    Returns:
        An object of the class.

    Raises:
        InputError: for a parameter that is unknown, missing or out of range; the error names it.
    """
    known = {each.name: each for each in parameters_of(kind)}
    for name in given:
        if name not in known:
            shown = [one for one in known if not known[one].hidden]
            raise InputError(name, f"unknown; {expected(name, shown) if shown else 'expected no parameter'}")
    for name, each in known.items():
        if each.required and name not in given:
            raise InputError(name, "is missing; expected a value")
    return kind(**{name: known[name].convert(value, name) for name, value in given.items()})


def _description(kind: type[Any], name: str) -> GeneratorParameter:
    """The description of the field, of the class itself or of the nearest base that has one."""
    for base in kind.__mro__:
        about = base.__dict__.get("__dataclass_fields__", {}).get(name)
        if about is not None and _DESCRIPTION in about.metadata:
            described: GeneratorParameter = about.metadata[_DESCRIPTION]
            return described
    raise TypeError(f"{kind.__name__}.{name} has no description; expected a field made by parameter()")


def _default_text(default: object, unit: str) -> str:
    """A default as people write it: 2,000,000 and 240 GB/s."""
    if unit == "bytes/s" and isinstance(default, float) and default >= 1e3:
        size, prefix = next((size, prefix) for size, prefix in _PREFIXES if default >= size)
        return f"{default / size:g} {prefix}B/s"
    if isinstance(default, float) and default.is_integer():
        return f"{default:,.0f}"
    return f"{default:,}" if isinstance(default, int | float) else str(default)


def _number(value: Any, place: str) -> float:
    # YAML takes 2e6 for a word, as it has no point.
    try:
        if not isinstance(value, bool):
            return float(value)
    except (TypeError, ValueError):
        pass
    raise InputError(place, f"{short(value)} is not a number; expected a number")


def _whole(value: Any, place: str) -> int:
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise InputError(place, f"{short(value)} is not a whole number; expected one")
    return int(value)


def _text(value: Any, place: str) -> str:
    if not isinstance(value, str):
        raise InputError(place, f"{short(value)} is not a text; expected one")
    return value


_CONVERTERS: Final[MappingProxyType[type, Callable[[Any, str], Any]]] = MappingProxyType(
    {float: _number, int: _whole, str: _text}
)
