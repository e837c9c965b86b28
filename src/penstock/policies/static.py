"""Static orders: which operation comes when is fixed at the start, and the link waits for its turn (001 §II.B.2, §II.C.2).

An order needs all operations of all applications beforehand, and all applications at the begin. What it goes by are nominal
values; the run then takes as long as phases really last.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from penstock.model import InputError, Workload
from penstock.policies.nominal import Nominal, nominal
from penstock.policies.plan import Plan, Planner, in_sequence
from penstock.policies.policy import STATIC, Need, Policy
from penstock.policies.static_orders import hierarchical_round_robin, periodic
from penstock.policies.view import Floats, View


def in_turn(view: View, rates: Floats) -> None:
    """Serve the operation whose turn it is, at its cap, if it is there; else nobody. Time n."""
    for i in range(len(rates)):
        rates[i] = view.cap[i] if view.turn[i] == view.completed else 0.0


def _planner(name: str, order: Callable[[Nominal], Sequence[int]]) -> Planner:
    def plan(workload: Workload) -> Plan:
        for index, application in enumerate(workload.applications):
            if application.release > workload.begin:
                message = (
                    f"is released after the begin, at {application.release} s; expected all at the begin, for the order"
                )
                raise InputError(f"policy {name}", f"applications[{index}] {message}")
        return in_sequence(workload, order(nominal(workload)))

    return plan


def _static(name: str, summary: str, reference: str, order: Callable[[Nominal], Sequence[int]]) -> Policy:
    return Policy(
        name=name,
        rates=in_turn,
        summary=f"in a fixed order: {summary}",
        needs=(Need.COUNTS,),
        reference=reference,
        idles=True,
        family=STATIC,
        planner=_planner(name, order),
    )


HIERARCHICAL_ROUND_ROBIN = _static(
    "hierarchical-round-robin",
    "around the application with the most operations",
    "001 §II.B.2",
    lambda known: hierarchical_round_robin(known.operations, known.work),
)
PERIODIC_FIFO = _static(
    "periodic-fifo",
    "everyone in turn, the first to ask first",
    "001 §II.D.1",
    lambda known: periodic(known.operations, known.work, known.io, "fifo", known.first_work),
)
PERIODIC_JOHNSON = _static(
    "periodic-johnson",
    "everyone in turn, in Johnson's order",
    "001 §II.D.1",
    lambda known: periodic(known.operations, known.work, known.io, "johnson"),
)
PERIODIC_MOST_REMAIN = _static(
    "periodic-most-remain",
    "everyone in turn, the longest first",
    "001 §II.D.1",
    lambda known: periodic(known.operations, known.work, known.io, "most-remain"),
)
