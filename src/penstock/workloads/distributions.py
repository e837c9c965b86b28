"""The distributions that the generators draw from, as functions of uniform numbers, and the checks of their parameters.

A distribution is evaluated at given uniform numbers (its quantiles). So a draw takes one number whatever the parameters, and
two workloads of the same seed differ only by what their parameters say.
"""

from __future__ import annotations

import math
import sys
from statistics import NormalDist
from typing import Final

import numpy as np
from numpy.typing import NDArray

from penstock.model import InputError

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

LARGEST_POWER: Final = 11
"""Sizes are 2^0 … 2^11 nodes (001 §III.D.2.b)."""
_LEAST, _MOST = sys.float_info.min, 1.0 - 2.0**-53


def require(condition: bool, name: str, value: object, expected: str) -> None:
    """Refuse a parameter that is out of range."""
    if not condition:
        raise InputError(name, f"{value} is out of range; expected {expected}")


def require_range(low: int, high: int, names: tuple[str, str]) -> None:
    """Refuse bounds of a draw that are below 1 or the wrong way round."""
    require(low >= 1, names[0], low, "1 or more")
    require(low <= high < 2**31, names[1], high, f"{low} or more, the value of {names[0]}")


def truncated_normal(uniforms: Floats, mean: float, sigma: float, low: float, high: float) -> Floats:
    """N(mean, sigma²) truncated to [low, high], at the uniform numbers; sigma is a standard deviation.

    The mean must lie in [low, high]; then the probability kept is never too small to invert.
    """
    if sigma == 0.0:
        return np.full(len(uniforms), mean)
    law = NormalDist(mean, sigma)
    below, above = law.cdf(low), law.cdf(high)
    chances = np.clip(below + (above - below) * uniforms, _LEAST, _MOST)
    drawn = np.fromiter(map(law.inv_cdf, chances.tolist()), np.float64, len(uniforms))
    return np.clip(drawn, low, high)


def truncated_normal_mean(mean: float, sigma: float, low: float, high: float) -> float:
    """The mean of that distribution: mean + sigma · (ϕ(α) − ϕ(β)) / (Φ(β) − Φ(α)), α and β the bounds in units of sigma."""
    if sigma == 0.0:
        return mean
    law = NormalDist(mean, sigma)
    return mean + sigma**2 * (law.pdf(low) - law.pdf(high)) / (law.cdf(high) - law.cdf(low))


def powers_of_two(mean: float, count: int, random: np.random.Generator) -> Integers:
    """`count` sizes 2^j, j ~ Binomial(11, p): E 2^j = (1 + p)^11 is the `mean` for p = mean^(1/11) − 1.

    Means below 1 or above 2^11 are impossible; the nearest possible mean is taken.
    """
    chance = min(max(mean ** (1.0 / LARGEST_POWER) - 1.0, 0.0), 1.0)
    exponents: Integers = random.binomial(LARGEST_POWER, chance, count)
    return 2**exponents


def discrete_exponential(uniforms: Floats, rate: float, low: int, high: int) -> Integers:
    """Whole numbers q from low to high with chances in proportion to exp(−rate · q), at the uniform numbers."""
    whole = -math.expm1(-rate * (high - low + 1))
    steps = np.floor(-np.log1p(-whole * uniforms) / rate).astype(np.int64)
    return np.minimum(low + steps, high)
