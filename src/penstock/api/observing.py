"""`penstock.observed`: what steering would have gained, from the journal of a coordinator that observes.

The recorded run is simulated twice: under the policy that stands for how it ran, by default interfering, and under the
policy that is to steer. Beside both stands what was recorded, so that one can see how well the simulation describes the
machine.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from penstock.api.results import Row, Tables
from penstock.api.runs import simulate
from penstock.engine import Result
from penstock.live.core.recording import CompletedOperation, RecordedSpan, as_workload, spans
from penstock.live.server.journal import recorded
from penstock.model import Workload, parse_units
from penstock.policies.registry import PolicyLike

HOUR: Final = 3600.0
FAR_OFF: Final = 0.2
"""A simulated time in I/O that is off the recorded one by more than this part says little."""


@dataclass(frozen=True)
class ObservedGain(Tables):
    """What was recorded, how it is simulated as it ran, and under the policy that is to steer.

    Table: ``runs``, one row each, with ``min_yield``, ``efficiency``, ``mean_stretch``, ``max_stretch`` (by durations) and
    ``node_hours`` in I/O.
    """

    applications: int
    operations: int
    runs: tuple[Row, Row, Row]

    @property
    def saved_node_hours(self) -> float:
        """Node-hours in I/O that the policy would have saved; negative if it would have cost some."""
        return float(self.runs[1]["node_hours"] - self.runs[2]["node_hours"])

    @property
    def sentence(self) -> str:
        """The answer."""
        seen, before, after = self.runs
        saved, total = self.saved_node_hours, before["node_hours"]
        part = f" ({abs(saved) / total:.0%})" if total > 0.0 else ""
        verb = "saved" if saved >= 0.0 else "cost"
        text = (
            f"{after['run']} would have {verb} {abs(saved):.3g} of {total:.3g} node-hours in I/O{part}, with a lowest yield"
            f" of {after['min_yield']:.3f} instead of {before['min_yield']:.3f}."
        )
        if abs(total - seen["node_hours"]) > FAR_OFF * seen["node_hours"]:
            text += (
                f" Recorded were {seen['node_hours']:.3g} node-hours: the simulation of how it ran is far off,"
                " and B may not be right."
            )
        return text

    def tables(self) -> dict[str, list[Row]]:
        """The three runs."""
        return {"runs": list(self.runs)}

    def to_dict(self) -> dict[str, Any]:
        """The report as ``penstock ctl observed --json`` prints it."""
        return {
            "applications": self.applications,
            "operations": self.operations,
            "runs": [dict(row) for row in self.runs],
            "saved_node_hours": self.saved_node_hours,
            "sentence": self.sentence,
        }


def observed(
    journal: str | os.PathLike[str],
    policy: PolicyLike | None = None,
    *,
    as_it_ran: PolicyLike = "interfering",
    last: str | float | None = None,
) -> ObservedGain:
    """Tell what steering would have gained on a recorded run.

    Args:
        journal: the journal of a coordinator, best of one that only observed.
        policy: the policy that is to steer; by default the one that the coordinator had.
        as_it_ran: the policy that stands for how applications ran.
        last: only the last part of the recording, in seconds or with a unit ("2 h").

    Returns:
        An `ObservedGain`: yields, efficiency, stretches and node-hours in I/O, and the answer in a sentence.

    Raises:
        InputError: if nothing was recorded, or for an unknown policy.

    Example:
        >>> print(observed("journal.sqlite", "coordinating").sentence)  # doctest: +SKIP
        coordinating would have saved 1 of 7 node-hours in I/O (14%), with a lowest yield of 0.800 instead of 0.500.
    """
    present, operations = recorded(os.fspath(journal))
    since = present.now - parse_units.seconds(last, "last") if last is not None else -math.inf
    workload = as_workload(operations, present.bandwidth, since)
    before, after = (simulate(workload, chosen) for chosen in (as_it_ran, policy or present.policy))
    runs = (
        _as_recorded(workload, operations, since),
        _row(f"{before.policy}, as it ran", before),
        _row(after.policy, after),
    )
    return ObservedGain(len(workload.applications), _count(workload), runs)


def _count(workload: Workload) -> int:
    return sum(int(application.phases.asks.sum()) for application in workload.applications)


def _row(name: str, result: Result) -> Row:
    return {
        "run": name,
        "min_yield": result.min_yield,
        "efficiency": result.efficiency,
        "mean_stretch": result.mean_duration_stretch,
        "max_stretch": result.max_duration_stretch,
        "node_hours": result.idle_node_seconds / HOUR,
    }


def _as_recorded(workload: Workload, operations: Sequence[CompletedOperation], since: float) -> Row:
    """The same measures of what was recorded."""
    ran: list[RecordedSpan] = spans(operations, since)
    members = workload.applications
    alone = [float(member.seconds_alone(member.cap(workload.platform))) for member in members]
    stretches = [(span.end - span.begin) / least for span, least in zip(ran, alone, strict=True)]
    duration = max(span.end for span in ran) - min(span.begin for span in ran)
    nodes = [member.nodes for member in members]
    gained = sum(count * least for count, least in zip(nodes, alone, strict=True))
    return {
        "run": "recorded",
        "min_yield": min(1.0 / stretch for stretch in stretches),
        "efficiency": gained / (sum(nodes) * duration),
        "mean_stretch": sum(stretches) / len(stretches),
        "max_stretch": max(stretches),
        "node_hours": sum(count * span.io_seconds for count, span in zip(nodes, ran, strict=True)) / HOUR,
    }
