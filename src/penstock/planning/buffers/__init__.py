"""Burst buffers: how large, and who gets which part (004).

::

    from penstock import read
    from penstock.planning.buffers import check, replay, size

    plan = size(read("workload.json"), "static")
    print(plan.size, plan.shares)
    assert check(plan).holds
    assert replay(plan).max_stretch < 1.0 + 1e-9
"""

from penstock.planning.buffers.backlog import Backlog, largest_backlog
from penstock.planning.buffers.bound import size_bound, stretch_bound
from penstock.planning.buffers.checking import Check, check
from penstock.planning.buffers.demand import Demand, demand
from penstock.planning.buffers.dominant import averaged, wandering
from penstock.planning.buffers.flow import Flow
from penstock.planning.buffers.plan import DYNAMIC, INFEASIBLE, OPTIMAL, STATIC, Effort, Filling, Obstacle, Plan
from penstock.planning.buffers.replay import Replay, replay
from penstock.planning.buffers.single import Single, alone, alone_by_program, least_written, most_read
from penstock.planning.buffers.sizing import size

__all__ = [
    "DYNAMIC",
    "INFEASIBLE",
    "OPTIMAL",
    "STATIC",
    "Backlog",
    "Check",
    "Demand",
    "Effort",
    "Filling",
    "Flow",
    "Obstacle",
    "Plan",
    "Replay",
    "Single",
    "alone",
    "alone_by_program",
    "averaged",
    "check",
    "demand",
    "largest_backlog",
    "least_written",
    "most_read",
    "replay",
    "size",
    "size_bound",
    "stretch_bound",
    "wandering",
]
