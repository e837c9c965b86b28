"""The built-in policies by name. A new one takes a module beside this one and a line here."""

from __future__ import annotations

from typing import Final

from penstock.policies.best_next_event import BEST_NEXT_EVENT
from penstock.policies.fair_share import FAIR_SHARE
from penstock.policies.fcfs import FCFS
from penstock.policies.greedy_com import GREEDY_COM
from penstock.policies.greedy_yield import GREEDY_YIELD, PERIODIC_GREEDY_YIELD
from penstock.policies.look_ahead import LOOK_AHEAD_GREEDY_YIELD
from penstock.policies.policy import Policy
from penstock.policies.set_10 import SET_10, SET_10_BASIC

REGISTRY: Final[dict[str, Policy]] = {
    policy.name: policy
    for policy in (
        FAIR_SHARE,
        FCFS,
        SET_10,
        SET_10_BASIC,
        GREEDY_YIELD,
        GREEDY_COM,
        LOOK_AHEAD_GREEDY_YIELD,
        PERIODIC_GREEDY_YIELD,
        BEST_NEXT_EVENT,
    )
}
