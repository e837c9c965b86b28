"""Packs on I/O nodes: the longest first, each where it ends earliest (001 §III.D.2.d).

The last end is at most 4/3 of the best one if all packs take their predicted times (Graham 1969).
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence


def lpt(seconds: Sequence[float], io_nodes: int) -> list[int]:
    """The I/O node of each pack, given the times of the packs without contention; ties to the first. Time n log n."""
    loads = [(0.0, io_node) for io_node in range(io_nodes)]
    chosen = [0] * len(seconds)
    for pack in sorted(range(len(seconds)), key=lambda index: -seconds[index]):
        load, io_node = loads[0]
        chosen[pack] = io_node
        heapq.heapreplace(loads, (load + seconds[pack], io_node))
    return chosen
