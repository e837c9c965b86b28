"""The conditions under which the core refuses an event. Each check raises `Refused` and changes nothing."""

from __future__ import annotations

from penstock.live.core.clients import Client, PendingOperation
from penstock.live.core.events import InformEvent, Refused, RegisterEvent
from penstock.live.core.planned_order import PlannedOrder
from penstock.live.protocol import INVALID, OUT_OF_ORDER, UNEXPECTED
from penstock.numeric.tolerances import INVARIANT, LEAST_CAP, LEAST_VOLUME_BYTES


def check_registration(
    event: RegisterEvent, order: PlannedOrder, policy: str, bandwidth: float, node_bandwidth: float
) -> float:
    """Check a registration.

    Args:
        event: The registration.
        order: What the policy plans for.
        policy: The name of the policy.
        bandwidth: B, in bytes/s.
        node_bandwidth: What one node can use, in bytes/s.

    Returns:
        The most that the client can use by itself, in bytes/s.
    """
    job, elapsed, progress = event.job, event.elapsed, event.progress
    if not (job.isprintable() and event.user.isprintable()):
        raise Refused(INVALID, f"{job!r} of {event.user!r} cannot be printed; expected letters, digits and signs")
    if order.only_planned and order.position(job) is None:
        raise Refused(INVALID, f"{job!r} is not in the workload that the policy {policy} plans for")
    max_rate = event.bandwidth if event.bandwidth is not None else event.nodes * node_bandwidth
    if not max_rate > LEAST_CAP * bandwidth:
        raise Refused(INVALID, f"bandwidth {event.bandwidth} of {job!r} is next to none; expected bytes/s above 0")
    if progress is not None and not progress <= elapsed * (1.0 + INVARIANT):
        raise Refused(INVALID, f"{job!r} has progressed {progress} s in {elapsed} s; expected no more than that")
    return max_rate


def check_new_operation(event: InformEvent, order: PlannedOrder, policy: str) -> None:
    """Check an operation that the client announces for the first time."""
    client, number, last = event.client, event.operation, event.client.last_operation
    if number <= last:
        raise Refused(OUT_OF_ORDER, f"operation {number} comes after {last}; expected a higher number")
    if not event.volume >= LEAST_VOLUME_BYTES:
        raise Refused(INVALID, f"operation {number} has no volume; expected bytes above 0")
    ahead = client.operations + (client.operation is not None)
    if order.only_planned and order.turn(client.job, ahead) < 0:
        raise Refused(INVALID, f"no further operation of {client.job!r} is in the plan of {policy}")


def check_pending(client: Client, number: int) -> PendingOperation:
    """The client's pending operation, which must have this number."""
    operation = client.operation
    if operation is None or operation.number != number:
        has = f"it is at operation {operation.number}" if operation else "it has none under way"
        raise Refused(UNEXPECTED, f"operation {number} of {client.job!r} is not under way; {has}")
    return operation
