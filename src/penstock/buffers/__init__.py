"""Burst buffers: how large, and who gets which part (004).

::

    from penstock import read
    from penstock.buffers import check, replay, size

    plan = size(read("workload.json"), "static")
    print(plan.size, plan.shares)
    assert check(plan).holds
    assert replay(plan).max_stretch < 1.0 + 1e-9
"""

from penstock.buffers.check import PlanCheck, check_plan
from penstock.buffers.execute import Replay, execute_plan
from penstock.buffers.lower_bounds import Backlog, largest_backlog, size_bound, stretch_bound
from penstock.buffers.plan import DYNAMIC, INFEASIBLE, OPTIMAL, STATIC, BufferPlan, Effort, Filling, Obstacle
from penstock.buffers.single import Single, alone, alone_by_program, least_written, most_read
from penstock.buffers.sizing import size
from penstock.buffers.theorems import averaged, wandering
from penstock.buffers.timeline import Flow, FullSpeedTimeline, full_speed_timeline

__all__ = [
    "DYNAMIC",
    "INFEASIBLE",
    "OPTIMAL",
    "STATIC",
    "Backlog",
    "BufferPlan",
    "Effort",
    "Filling",
    "Flow",
    "FullSpeedTimeline",
    "Obstacle",
    "PlanCheck",
    "Replay",
    "Single",
    "alone",
    "alone_by_program",
    "averaged",
    "check_plan",
    "execute_plan",
    "full_speed_timeline",
    "largest_backlog",
    "least_written",
    "most_read",
    "size",
    "size_bound",
    "stretch_bound",
    "wandering",
]
