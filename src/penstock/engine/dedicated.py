"""What each application would do alone on the platform, with every transfer at its cap (000 §3.2.2 and §6.1)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penstock.engine.machine import Layout, layout_of
from penstock.engine.setup import Chains, chains_of
from penstock.model import Workload
from penstock.model.application import WORK


@dataclass(frozen=True)
class Dedicated:
    """What all applications would do in dedicated mode, each alone on the platform, between the dates `begin` and `end`.

    Args:
        begin: T_begin in seconds.
        end: T_end, or without a window the latest end of an application in dedicated mode.
        volume: V, bytes that all would move.
        operations: Σ N_op, operations that all would begin.
        bandwidth: B in bytes/s. On I/O resources, volume and bandwidth are resource-seconds over all of them.
    """

    begin: float
    end: float
    volume: float
    operations: int
    bandwidth: float

    @property
    def pressure(self) -> float:
        """The I/O pressure W = V / (B · (T_end − T_begin)) (000 eq. 11)."""
        elapsed = self.end - self.begin
        return self.volume / (self.bandwidth * elapsed) if elapsed > 0.0 else 0.0

    @property
    def default_delta(self) -> float:
        """δ = (T_end − T_begin) / E with E = Σ 2·N_op (000 eq. 5): as many periodic decisions as events; 0 for no I/O."""
        return (self.end - self.begin) / (2 * self.operations) if self.operations else 0.0


def dedicated(workload: Workload) -> Dedicated:
    """Find what every application of the `workload` would do alone on one link. Time linear in the number of phases.

    Example:
        In a window of 20 s, one application computes for 4 s, writes 4 bytes at 2 bytes/s, and again.

        >>> from penstock import Application, Platform, Workload
        >>> chain = [("work", 4.0), ("io", 4.0)] * 2
        >>> found = dedicated(Workload(Platform(2.0), (Application.of("a", chain),), (0.0, 20.0)))
        >>> found.volume, found.operations, found.pressure
        (8.0, 2, 0.2)
    """
    layout = layout_of(workload, None)
    return dedicated_on(workload, layout, chains_of(workload, layout, layout.write_cap, layout.read_cap))


def dedicated_on(workload: Workload, layout: Layout, chains: Chains, *, windowed: bool = True) -> Dedicated:
    """Find what the applications of the `workload` would do alone on the stores of the `layout`.

    Args:
        workload: the applications and the window.
        layout: the stores that each of them uses.
        chains: their phases, and the seconds that each phase takes alone.
        windowed: whether the window ends what counts; else the latest end of an application does.
    """
    starts = np.array([workload.start(application) + application.lead for application in workload.applications])
    first, lengths = chains.first, np.array(chains.lengths)
    # Sums inside each chain: over all chains together they would lose bits.
    ends = np.concatenate(
        [start + np.cumsum(chains.seconds[a:b]) for start, a, b in zip(starts, first[:-1], first[1:], strict=True)]
    )
    end = workload.window[1] if workload.window and windowed else float(ends[first[1:] - 1].max())
    begins = ends - chains.seconds
    asks = (chains.kinds != WORK) & (chains.amounts > 0.0)
    under_way = np.clip(end - begins[asks], 0.0, chains.seconds[asks])
    per_second = chains.amounts[asks] / chains.seconds[asks] * np.repeat(layout.counts, lengths)[asks]
    return Dedicated(
        workload.begin,
        end,
        float((under_way * per_second).sum()),
        int(np.count_nonzero(begins[asks] < end)),
        layout.limits[0] * layout.stores,
    )
