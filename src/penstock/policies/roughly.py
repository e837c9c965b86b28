"""Logarithms to two digits, for a tenth of the time: to know where they need not be taken exactly."""

from __future__ import annotations

import numpy as np

from penstock.policies.steps import step

LOG2_ERROR = 0.0076
"""By how much `log2` may be wrong."""


@step
def log2(number: float) -> float:
    """The logarithm to base 2 of a number above 0, not denormal: its exponent e, and m of its mantissa 1 + m.

    In a float these are the bits, e + 1023 first. log2(1 + m) is m + m (1 − m) / 3 + 0.00219 to within 0.0076.
    """
    rough = np.float64(number).view(np.int64) * 2.0**-52 - 1023.0
    mantissa = rough - np.floor(rough)
    return float(rough + mantissa * (1.0 - mantissa) / 3.0 + 0.00219)
