"""What a run measures beside a burst buffer (004 §7), and how much each store carried.

Data take one of four ways between an application and the I/O system, `THROUGH`: written directly or drained from the
buffer, read directly or prefetched into it. `BufferResult` has the bytes of each way by application, `BufferUse` those
of one application.

`carried` and `carried_beside` count what went over each store in its units: bytes on a link, resource-seconds on I/O
resources.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from penstock.engine.machine import Layout, exceeds
from penstock.engine.state import ACTIVE, NOW, STRANDS, Records, State
from penstock.engine.tier import Tier, all_fetched
from penstock.engine.trace import Fill
from penstock.engine.transfers import RATE, REMAINING
from penstock.numeric.arrays import Floats, Ints


def carried(state: State, layout: Layout) -> Floats:
    """Units that each store of the `layout` has carried so far in `state`, with operations under way; without buffers."""
    own = state.own
    active = own["status"] == ACTIVE
    if layout.placement is None:  # in virtual time, places are not up to date
        return np.array([(own["moved"] + np.where(active, own["now_moved"], 0.0)).sum()])
    strands = int(state.counts[STRANDS])
    index, in_use = strand_owners(own, strands)
    transfers = state.transfers[:strands]
    left = np.where(transfers["place"] >= 0, _left(state, strands), 0.0)
    under_way = np.where(active[index], state.amounts[np.maximum(own["cursor"] - 1, 0)][index] - left, 0.0)
    return _by_store(transfers["store"], np.where(in_use, own["moved"][index] + under_way, 0.0), layout.stores)


def strand_owners(own: Records, strands: int) -> tuple[Ints, NDArray[np.bool_]]:
    """The application of each of the `strands` by the records `own`, and whether it uses it: it may have some in reserve."""
    reserved = np.diff(np.append(own["first_use"], strands))
    index = np.repeat(np.arange(len(own)), reserved)
    return index, np.arange(strands) < (own["first_use"] + own["uses"])[index]


def carried_beside(state: State, tier: Tier, layout: Layout) -> Floats:
    """Units that each store of the `layout` has carried up to now in `state`, with the buffers of `tier`.

    This is what goes past the buffers, what is drained from them and what is fetched into them.
    """
    strands = tier.strands
    units = strands["direct_written"] + strands["drained"] + strands["direct_read"] + strands["prefetched"]
    stores = state.transfers["store"][: len(strands)]
    return _by_store(stores, units + all_fetched(state, tier), layout.stores)


def _left(state: State, strands: int) -> Floats:
    """What is left of the transfers of the strands now; their places are only up to the last event of their store."""
    places, stores = state.transfers["place"][:strands], state.transfers["store"][:strands]
    here, now = state.stores[stores], float(state.clock[NOW])
    seconds = np.where(here["finish"] == now, here["wait"], now - here["since"])
    left: Floats = np.maximum(0.0, state.floats[REMAINING, places] - state.floats[RATE, places] * seconds)
    return left


def _by_store(stores: Ints, units: Floats, count: int) -> Floats:
    return np.bincount(stores, units, minlength=count).astype(np.float64)


THROUGH: Final = ("direct_written", "drained", "direct_read", "prefetched")
"""The ways of data past and through a buffer."""


@dataclass(frozen=True)
class BufferUse:
    """What one application moved directly and through the buffer, in bytes.

    It wrote `direct_written` + `drained` + what is left in the buffer. It read `direct_read` + `prefetched` − what is left.
    """

    direct_written: float
    drained: float
    direct_read: float
    prefetched: float
    share: float | None = None
    """S_k; None with a pool."""
    peak: float | None = None
    """The most that its share held; None with a pool."""

    def to_dict(self) -> dict[str, Any]:
        """The fields as JSON has them; those of a share only where there is one."""
        own = {} if self.share is None else {"share": finite(self.share), "peak": self.peak}
        return {**{name: getattr(self, name) for name in THROUGH}, **own}


@dataclass(frozen=True, eq=False)
class BufferResult:
    """What went through the buffer in a run; arrays in the order of the workload, in bytes."""

    shares: Floats | None
    """S_k; None with a pool."""
    pool: float | None
    """S; None with shares."""
    threshold: float
    direct_written: Floats
    """Bytes that went from the application straight to the I/O system."""
    drained: Floats
    """Bytes that went to the I/O system by way of the buffer."""
    direct_read: Floats
    """Bytes that came from the I/O system straight to the application."""
    prefetched: Floats
    """Bytes that came from the I/O system by way of the buffer."""
    peaks: Floats
    """The most bytes that each share held, or the pool."""
    carried: Floats
    """Units that went over each store: bytes on a link, resource-seconds on I/O resources."""
    fill: Fill | None = None
    room: float | None = None
    """Bytes of the buffer that the shares are parts of; None if it is not known."""
    at_once: float | None = None
    """The most bytes that the shares of applications alive at one time added up to; None with a pool."""

    @property
    def overcommitted(self) -> bool:
        """Whether shares of applications alive at one time added up to more than the buffer."""
        return self.room is not None and self.at_once is not None and exceeds(self.at_once, self.room)

    @property
    def size(self) -> float:
        """Bytes of the pool, or of all shares."""
        return float(self.shares.sum()) if self.shares is not None else float(self.pool or 0.0)

    @property
    def peak(self) -> float | None:
        """The most bytes that it held at one time; None with shares and no trace, since only a trace shows it."""
        if self.shares is None or len(self.shares) == 1:
            return float(self.peaks[0])
        return None if self.fill is None else float(self.fill.total(self.fill.dates).max(initial=0.0))

    def use(self, index: int) -> BufferUse:
        """What the application at position `index` of the workload moved directly and through the buffer."""
        ways = {name: float(getattr(self, name)[index]) for name in THROUGH}
        if self.shares is None:
            return BufferUse(**ways)
        return BufferUse(**ways, share=float(self.shares[index]), peak=float(self.peaks[index]))

    def total(self, way: str) -> float:
        """Bytes of all applications that went this way, one of `THROUGH`."""
        return float(getattr(self, way).sum())

    def to_dict(self) -> dict[str, Any]:
        """The totals as JSON has them."""
        return {
            "shares": None if self.shares is None else [finite(share) for share in self.shares.tolist()],
            "pool": finite(self.pool),
            "threshold": self.threshold,
            **{way: self.total(way) for way in THROUGH},
            "peaks": self.peaks.tolist(),
            "size": finite(self.size),
            "peak": self.peak,
            **({} if self.at_once is None else {"room": finite(self.room), "at_once": finite(self.at_once)}),
        }


def finite(number: float | None) -> float | None:
    """The number for JSON: None if it is infinite or missing."""
    return number if number is not None and math.isfinite(number) else None
