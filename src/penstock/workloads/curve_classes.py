"""The four behaviours of curves, and what is believed of an application whose behaviour alone is known (002 §II, §VI.B).

Classes, by the measured counts: neutral if the largest bandwidth is at most 1.3 times the smallest; else ascent if the
largest is at the last count, descent if it is with 1 I/O resource, peak if it is between. Of equal bandwidths the one at the
smallest count is the largest.

The curve of a class (002 Fig. 11), as one function that stands for all its applications:

1. Each curve is divided by its own largest bandwidth, so that it lies in (0, 1]. Figures 1 and 2 show "normalized
   bandwidth"; the text does not say by what.
2. A polynomial in n is fitted to all points (n, b(n)/max b) of all curves of the class by least squares. Its degree is 3:
   with 2 the curve of the measured peaks would be highest at 4, where 13 of 92 are, and not at 2, where the others are.
   With four measured counts a polynomial of degree 3 passes through the mean of the normalised curves at each.
3. It is evaluated at the measured counts; between them it is linear as any curve, beyond the last constant. A value below
   the smallest of the normalised bandwidths is raised to it, so that the curve is positive.

A scheduler that knows the class of an application believes its bandwidth to be the curve of the class times a factor that
makes it right with 1 I/O resource: one run with one resource, or the total volume and I/O time of one, gives that scale,
while the shape would take many runs. So I/O-Stress(j, 1) is believed as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

import numpy as np

from penstock.model import Curve, InputError
from penstock.workloads.laws import require

CLASSES: Final = ("ascent", "descent", "peak", "neutral")
NEUTRAL: Final = 0.3
"""A curve is neutral if its largest bandwidth is at most so much more than its smallest, relative to that."""
DEGREE: Final = 3
"""Of the polynomial that stands for a class."""


def best_count(curve: Curve) -> int:
    """The measured count with the largest bandwidth, the smallest of them if there are several."""
    return curve.counts[curve.bandwidths.index(curve.largest)]


def class_of(curve: Curve) -> str:
    """Its class: ascent, descent, peak or neutral."""
    if curve.largest <= (1.0 + NEUTRAL) * min(curve.bandwidths):
        return "neutral"
    best = best_count(curve)
    if best == curve.counts[-1]:
        return "ascent"
    return "descent" if best == 1 else "peak"


def normalised(curve: Curve) -> Curve:
    """The curve over its largest bandwidth: from above 0 to 1."""
    return Curve(curve.counts, tuple(rate / curve.largest for rate in curve.bandwidths))


def class_curves(curves: Iterable[Curve], degree: int = DEGREE) -> dict[str, Curve]:
    """The curve of each class that occurs among the curves; its bandwidths are relative, about 1 at most."""
    require(degree >= 0, "degree", degree, "0 or more")
    members: dict[str, list[Curve]] = {}
    for curve in curves:
        members.setdefault(class_of(curve), []).append(normalised(curve))
    return {name: _regression(members[name], degree) for name in CLASSES if name in members}


def believed(curve: Curve, classes: Mapping[str, Curve]) -> Curve:
    """What is believed of an application with that curve by one that knows its class and its bandwidth with 1 resource."""
    name = class_of(curve)
    if name not in classes:
        known = ", ".join(classes) or "none"
        raise InputError("curve", f"its class {name} has no curve to stand for it; expected one of those known: {known}")
    shape = classes[name]
    scale = curve.bandwidths[0] / shape.bandwidths[0]
    return Curve(shape.counts, tuple(rate * scale for rate in shape.bandwidths))


def _regression(curves: list[Curve], degree: int) -> Curve:
    """Least squares over all points of normalised curves, evaluated at their counts, which need not be the same."""
    counts = np.concatenate([curve.counts for curve in curves])
    rates = np.concatenate([curve.bandwidths for curve in curves])
    points = np.unique(counts)
    polynomial = np.polynomial.Polynomial.fit(counts, rates, min(degree, len(points) - 1))
    values = np.maximum(polynomial(points), rates.min())
    return Curve(tuple(points.tolist()), tuple(values.tolist()))
