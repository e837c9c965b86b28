"""What applications would do alone, as a plain loop over their phases."""

from __future__ import annotations

from penstock.model import Workload


def dedicated(workload: Workload) -> tuple[float, int, float]:
    """(volume moved, operations begun, end) if each application were alone on the platform (000 §3.2.2)."""
    begin = workload.window[0] if workload.window else min(a.release for a in workload.applications)
    end = workload.window[1] if workload.window else None
    runs = []
    for application in workload.applications:
        cap = application.cap(workload.platform)
        now = max(application.release, begin) + application.lead
        transfers = []
        for kind, amount in application.phases:
            if kind == "work":
                now += amount
            elif amount > 0.0:
                transfers.append((now, now + amount / cap, cap))
                now += amount / cap
        runs.append((transfers, now))
    if end is None:
        end = max(now for _, now in runs)
    volume, operations = 0.0, 0
    for transfers, _ in runs:
        for start, stop, cap in transfers:
            if start < end:
                operations += 1
                volume += (min(stop, end) - start) * cap
    return volume, operations, end
