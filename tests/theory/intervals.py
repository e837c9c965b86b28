"""Slow twin of heads and due dates: what must happen between two dates, for all pairs of dates."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from penstock.model import Workload
from penstock.numeric.tolerances import DUE_DATE_LATE


@dataclass
class Member:
    """One application: its history, and its operations as (offset, dedicated seconds)."""

    nodes: int
    release: float
    start: float
    history: float
    chain: float
    share: float
    operations: list[tuple[float, float]]


def members_of(workload: Workload) -> list[Member]:
    begin = workload.window[0] if workload.window else min(a.release for a in workload.applications)
    members = []
    for a in workload.applications:
        start = max(begin, a.release)
        cap = a.cap(workload.platform)
        offset, operations = a.lead, []
        for kind, amount in a.phases:
            seconds = amount if kind == "work" else amount / cap
            if kind != "work" and seconds > 0.0:
                operations.append((offset, seconds))
            offset += seconds
        history = a.progress if a.progress is not None else start - a.release
        members.append(Member(a.nodes, a.release, start, history, offset, cap / workload.platform.bandwidth, operations))
    return members


def fits(members: list[Member], targets: list[float], dues: list[float], pieces: int) -> bool:
    """Whether all could have done the first targets[i] of their chains at dues[i], as far as intervals can tell.

    Between any two dates a < c the link must do all pieces with a head of at least a and a due date of at most c.
    """
    tolerance = DUE_DATE_LATE * max(1.0, *(abs(m.start + m.chain) for m in members))
    found = []
    for m, target, due in zip(members, targets, dues, strict=True):
        if target >= 0.0 and m.start + target > due + tolerance:
            return False
        for offset, seconds in m.operations:
            count = pieces if m.share < 1.0 else 1
            for k in range(count):
                begin = offset + k * seconds / count
                end = min(begin + seconds / count, target)
                if begin < end:
                    found.append((m.start + begin, due - (target - end), (end - begin) * m.share))
    if not found:
        return True
    head, latest, needed = (np.array(column) for column in zip(*found, strict=True))
    after = head[None, :] >= head[:, None]
    before = latest[None, :] <= latest[:, None]
    between = (after * needed) @ before.T
    return bool(np.all((between == 0.0) | (between <= latest[None, :] - head[:, None] + tolerance)))


def min_yield_bound(workload: Workload, pieces: int) -> float:
    """The lowest y that intervals refute, to 1e-9."""
    members = members_of(workload)
    end = workload.window[1] if workload.window else math.inf

    def reachable(y: float) -> bool:
        targets, dues = [], []
        for m in members:
            total = m.history + m.chain
            if total <= y * (end - m.release):
                targets.append(m.chain)
                dues.append(m.release + total / y)
            else:
                targets.append(y * (end - m.release) - m.history)
                dues.append(end)
        return fits(members, targets, dues, pieces)

    return 1.0 if reachable(1.0) else turning_point(reachable, 0.0, 1.0)


def least_makespan(workload: Workload, pieces: int) -> float:
    """The earliest date that intervals do not refute as the end of all, to 1e-9."""
    members = members_of(workload)
    latest = max(m.start + m.chain for m in members)
    loads = sum(seconds for m in members for _, seconds in m.operations)

    def too_early(end: float) -> bool:
        return not fits(members, [m.chain for m in members], [end] * len(members), pieces)

    return turning_point(too_early, latest, latest + loads) if too_early(latest) else latest


def turning_point(holds, low: float, high: float) -> float:
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if holds(middle) else (low, middle)
    return high
