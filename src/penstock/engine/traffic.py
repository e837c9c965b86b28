"""How much went over each store, the link or every I/O resource, in units: bytes, or resource-seconds."""

from __future__ import annotations

import numpy as np

from penstock.engine.machine import Layout
from penstock.engine.slots import RATE, REMAINING
from penstock.engine.state import ACTIVE, NOW, STRANDS, State
from penstock.engine.tier import Tier, all_fetched
from penstock.policies.view import Floats, Ints


def carried(state: State, layout: Layout) -> Floats:
    """Units that each store has carried so far, operations under way included, in a run without buffers."""
    own = state.own
    active = own["status"] == ACTIVE
    if layout.placement is None:  # in virtual time, places are not up to date
        return np.array([(own["moved"] + np.where(active, own["now_moved"], 0.0)).sum()])
    strands = int(state.counts[STRANDS])
    index = np.repeat(np.arange(len(own)), own["uses"])
    transfers = state.transfers[:strands]
    left = np.where(transfers["place"] >= 0, _left(state, strands), 0.0)
    under_way = np.where(active[index], state.amounts[np.maximum(own["cursor"] - 1, 0)][index] - left, 0.0)
    return _by_store(transfers["store"], own["moved"][index] + under_way, layout.stores)


def carried_beside(state: State, tier: Tier, layout: Layout) -> Floats:
    """The same in a run with buffers: what goes past them, what is drained and what is fetched ahead."""
    strands = tier.strands
    units = strands["direct_written"] + strands["drained"] + strands["direct_read"] + strands["prefetched"]
    stores = state.transfers["store"][: len(strands)]
    return _by_store(stores, units + all_fetched(state, tier), layout.stores)


def _left(state: State, strands: int) -> Floats:
    """What is left of the strands' transfers now; their places are up to the last event of the store."""
    places, stores = state.transfers["place"][:strands], state.transfers["store"][:strands]
    here, now = state.stores[stores], float(state.clock[NOW])
    seconds = np.where(here["finish"] == now, here["wait"], now - here["since"])
    left: Floats = np.maximum(0.0, state.floats[REMAINING, places] - state.floats[RATE, places] * seconds)
    return left


def _by_store(stores: Ints, units: Floats, count: int) -> Floats:
    return np.bincount(stores, units, minlength=count).astype(np.float64)
