"""tcpu: from the allocation that stresses the system least towards the fastest one, most nodes first (002 Algorithm 1).

Each step gives one application, the one whose CPUload gains most, its next number of resources that does not lower its
CPUload and keeps the I/O-load at 1 or below. A step looks at K applications, mostly at one number each, at worst at all up
to n_perf; there are at most Σ (n_perf − n_sys) steps: K² · N where numbers rise one by one, at worst K² · N².
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Final

from numba import types

from penstock.planning.placement.characteristics import Characteristics
from penstock.policies.compiled import kernel
from penstock.policies.view import Floats, Ints

FULL: Final = 1.0 + 1e-12
"""The largest I/O-load: 1, but for the roundings of a sum."""


def tcpu(known: Characteristics, *, as_printed: bool = False) -> Ints:
    """The allocation. `as_printed` compares a number with the one tried before it instead of the one in use, as line 14 of
    the algorithm stands: CPUload can then fall.
    """
    assert known.best is not None
    counts = known.least_stress.copy()
    compiled_tcpu()(counts, known.best, known.stress / known.resources, known.cpu_load, as_printed)
    return counts


def _tcpu(counts: Ints, best: Ints, load: Floats, cpu_load: Floats, as_printed: bool) -> None:
    """Raise the counts in place; `load` and `cpu_load` are what each application adds with 1, …, N resources."""
    size = len(counts)
    total = 0.0
    for i in range(size):
        total += load[i, counts[i] - 1]
    while True:
        most, chosen, chosen_count = -1.0, -1, 0
        for i in range(size):
            compared = counts[i]
            for n in range(counts[i] + 1, best[i] + 1):
                if total + (load[i, n - 1] - load[i, counts[i] - 1]) <= FULL:
                    gain = cpu_load[i, n - 1] - cpu_load[i, compared - 1]
                    if as_printed:
                        compared = n
                    if gain >= 0.0:
                        if gain > most:
                            most, chosen, chosen_count = gain, i, n
                        break
        if chosen < 0:
            return
        total += load[chosen, chosen_count - 1] - load[chosen, counts[chosen] - 1]
        counts[chosen] = chosen_count


@cache
def compiled_tcpu() -> Callable[..., None]:
    """`_tcpu`, compiled."""
    table = types.Array(types.float64, 2, "C")
    return kernel(_tcpu, types.void(types.int64[::1], types.int64[::1], table, table, types.boolean), "tcpu")
