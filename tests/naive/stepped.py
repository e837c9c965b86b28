"""The time-based simulator of applications on I/O resources of 002 §V.B."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from itertools import pairwise

from penstock.model import Workload


def bandwidth_with(curve: Mapping[str, float], count: int) -> float:
    """Linear between measured counts, constant beyond the last."""
    points = sorted((int(key), rate) for key, rate in curve.items())
    for (low, slow), (high, fast) in pairwise(points):
        if low <= count <= high:
            return slow + (fast - slow) * (count - low) / (high - low)
    return points[-1][1]


def stepped(
    workload: Workload, placement: Sequence[Sequence[int]], unit: float, steps: int
) -> tuple[list[float], list[float]]:
    """(seconds in I/O of each application, occupancy of each resource) of the simulator of 002 §V.B.

    At each unit of time every application computes or does I/O; those that collide on a resource alternate, one unit each.
    All amounts of time are whole numbers of units.
    """
    queues: list[deque[int]] = [deque() for _ in range(workload.platform.resources)]
    chains, left, at, io_steps = [], [], [], []
    for application, uses in zip(workload.applications, placement, strict=True):
        bandwidth = bandwidth_with(application.curve.document(), len(uses))
        seconds = [(kind, amount if kind == "work" else amount / bandwidth) for kind, amount in application.phases]
        chain = [(kind, round(amount / unit)) for kind, amount in seconds]
        assert all(units * unit == amount for (_, units), (_, amount) in zip(chain, seconds, strict=True))
        chains.append(chain)
        at.append(-1)
        left.append({-1: round(application.lead / unit)})  # units left by resource; −1 is its own processors
        io_steps.append(0)
    busy = [0] * len(queues)
    for _ in range(steps):
        for i, chain in enumerate(chains):
            while not any(left[i].values()):
                at[i] = (at[i] + 1) % len(chain)
                kind, units = chain[at[i]]
                left[i] = {-1: units} if kind == "work" else dict.fromkeys(placement[i], units)
                if kind != "work" and units > 0:
                    for resource in placement[i]:
                        queues[resource].append(i)
            if -1 in left[i]:
                left[i][-1] -= 1
            else:
                io_steps[i] += 1
        for resource, queue in enumerate(queues):
            if queue:
                busy[resource] += 1
                served = queue.popleft()
                left[served][resource] -= 1
                if left[served][resource] > 0:
                    queue.append(served)
    return [count * unit for count in io_steps], [count / steps for count in busy]
