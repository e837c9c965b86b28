"""Burst buffers: how large, and who gets which part (004).

`size` finds the smallest buffer with which no application is slowed down. `check_plan` and `execute_plan` verify its plan
without the code that made it. `penstock.buffers.advice` answers the questions of an operator.

Example:
    >>> from penstock.buffers import check_plan, execute_plan, size
    >>> from penstock.model import Application, Platform, Workload
    >>> writer = Application.of("a", [("work", 4.0), ("write", 8.0)], bandwidth=4.0)
    >>> plan = size(Workload(Platform(2.0), (writer,)), "static")
    >>> plan.shares.round(6).tolist(), check_plan(plan).holds, round(execute_plan(plan).max_stretch, 6)
    ([4.0], True, 1.0)
"""

from penstock.buffers.check import PlanCheck, check_plan
from penstock.buffers.lower_bounds import Backlog, largest_backlog, size_bound, stretch_bound
from penstock.buffers.plan import (
    DYNAMIC,
    INFEASIBLE,
    OPTIMAL,
    STATIC,
    BufferPlan,
    Effort,
    Filling,
    Obstacle,
    Replay,
    execute_plan,
)
from penstock.buffers.sizing import size
from penstock.buffers.theorems import Single, alone, alone_by_program, averaged, least_written, most_read, wandering
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
