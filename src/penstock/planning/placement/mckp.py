"""MCKP: exclusive I/O resources, so that the sum of bandwidths is largest (Bez et al.; 002 §V.B).

A multiple-choice knapsack: every application takes exactly one of its measured counts, the counts add up to at most N, the
sum of b_j(n_j) is maximised. Exact by dynamic programming over the resources left, in time K · N · counts. Every application
needs a resource of its own, so there must be as many resources as applications; with `shared`, those for which there is none
share the last resource, and count for nothing in the sum.
"""

from __future__ import annotations

import numpy as np

from penstock.engine.machine import Placement
from penstock.model import InputError
from penstock.planning.placement.characteristics import Characteristics
from penstock.policies.view import Ints


def mckp(known: Characteristics, *, shared: bool = False) -> Placement:
    """The allocation and the placement that goes with it: one resource after the other, each to one application."""
    size, resources = len(known), known.resources
    if size <= resources:
        counts = best_choice(known, resources, optional=False)
    elif shared:
        counts = best_choice(known, resources - 1, optional=True)
    else:
        raise InputError(
            "mckp", f"{size} applications on {resources} I/O resources; expected a resource for each, or mckp-shared"
        )
    ends = np.cumsum(counts).tolist()
    exclusive = (tuple(range(end - count, end)) for end, count in zip(ends, counts.tolist(), strict=True))
    return tuple(used or (resources - 1,) for used in exclusive)


def best_choice(known: Characteristics, resources: int, *, optional: bool) -> Ints:
    """The counts with the largest sum of bandwidths; with `optional` an application may have none. Ties: fewest first."""
    assert known.curves is not None
    value = np.zeros(resources + 1)
    """value[r]: the largest sum of the applications so far with at most r resources; −∞ where they do not fit."""
    taken = np.zeros((len(known), resources + 1), np.int64)
    for index, choices in enumerate(known.measured):
        best = value.copy() if optional else np.full(resources + 1, -np.inf)
        for count in choices:
            if count <= resources:
                with_count = np.full(resources + 1, -np.inf)
                with_count[count:] = value[: resources + 1 - count] + known.curves[index, count - 1]
                better = with_count > best
                best[better] = with_count[better]
                taken[index, better] = count
        value = best
    counts = np.zeros(len(known), np.int64)
    left = resources
    for index in range(len(known) - 1, -1, -1):
        counts[index] = taken[index, left]
        left -= int(counts[index])
    return counts
