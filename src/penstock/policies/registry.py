"""The built-in policies by name. A new one takes a module beside this one and a line here."""

from __future__ import annotations

from typing import Final

from penstock.policies.balance import BALANCE
from penstock.policies.best_effort import BEST_EFFORT
from penstock.policies.best_next_event import BEST_NEXT_EVENT
from penstock.policies.closing_yield import CLOSING_YIELD, PERIODIC_CLOSING_YIELD
from penstock.policies.coordinating import COORDINATING
from penstock.policies.due_yield import DUE_YIELD
from penstock.policies.exclusive import (
    BANDWIDTH_ORIENTED,
    FIFO,
    JOHNSON,
    LONGEST_IO,
    LONGEST_REMAINING,
    LOWEST_ID,
    SHORTEST_IO,
    SHORTEST_REMAINING,
    STRETCH_ORIENTED,
)
from penstock.policies.fair_share import FAIR_SHARE
from penstock.policies.fcfs import FCFS
from penstock.policies.greedy_com import GREEDY_COM
from penstock.policies.greedy_yield import GREEDY_YIELD, PERIODIC_GREEDY_YIELD
from penstock.policies.interfering import INTERFERING
from penstock.policies.interrupting import INTERRUPTING
from penstock.policies.look_ahead import LOOK_AHEAD_GREEDY_YIELD
from penstock.policies.policy import Policy
from penstock.policies.set_10 import SET_10, SET_10_BASIC
from penstock.policies.static import HIERARCHICAL_ROUND_ROBIN, PERIODIC_FIFO, PERIODIC_JOHNSON, PERIODIC_MOST_REMAIN

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
        DUE_YIELD,
        BALANCE,
        CLOSING_YIELD,
        PERIODIC_CLOSING_YIELD,
        BEST_EFFORT,
        INTERFERING,
        INTERRUPTING,
        COORDINATING,
        FIFO,
        LOWEST_ID,
        LONGEST_IO,
        SHORTEST_IO,
        SHORTEST_REMAINING,
        LONGEST_REMAINING,
        BANDWIDTH_ORIENTED,
        STRETCH_ORIENTED,
        JOHNSON,
        HIERARCHICAL_ROUND_ROBIN,
        PERIODIC_FIFO,
        PERIODIC_JOHNSON,
        PERIODIC_MOST_REMAIN,
    )
}
