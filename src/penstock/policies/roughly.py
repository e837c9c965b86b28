"""Logarithms to one digit, for a tenth of the time: to know where they need not be taken exactly."""

from __future__ import annotations

import numpy as np

from penstock.policies.steps import step

LOG2_ERROR = 0.0431
"""By how much `log2` may be wrong."""


@step
def log2(number: float) -> float:
    """The logarithm to base 2 of a number above 0, not denormal: its exponent e, and m of its mantissa 1 + m.

    log2(1 + m) is more than m by 0 to 0.0861. In a float these are the bits, e + 1023 first.
    """
    return float(np.float64(number).view(np.int64) * 2.0**-52 - 1022.957)
