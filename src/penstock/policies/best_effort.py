"""best-effort: no schedule of the I/O; all applications with a pending operation share the link equally (001 §II.D.1)."""

from __future__ import annotations

from penstock.numeric.arrays import Floats
from penstock.policies.policy import Policy
from penstock.policies.view import View


def best_effort(view: View, rates: Floats) -> None:
    """Give B / k to each of the k applications of `view`, whatever their nodes, as `rates` in bytes/s.

    What the cap of an application leaves over is shared between the others. The level rises with every set of caps that
    turns out to be below it. Time n for each set: two or three, n at worst.
    """
    size = len(rates)
    level = view.bandwidth / size
    below = 0
    while True:
        left, count = view.bandwidth, 0
        for i in range(size):
            if view.cap[i] <= level:
                left -= view.cap[i]
                count += 1
        if count in (below, size):
            break
        below = count
        level = max(level, left / (size - count))
    for i in range(size):
        rates[i] = min(view.cap[i], level)


BEST_EFFORT = Policy(
    name="best-effort",
    rates=best_effort,
    summary="everyone, with the same bandwidth",
    reference="001 §II.D.1",
)
