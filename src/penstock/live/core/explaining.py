"""Why a client waits, in words and numbers, from the policy's own view.

The words say what the policy wants the client to have, what it has, and who is served before it. The numbers are the columns
that the policy declares to need, for every pending operation. The forecast runs the policy ahead from the present view as if
no other client came: ask the policy, go to the next completion, ask again. `outlook` does so for an operation that a
client only thinks of.
"""

from __future__ import annotations

import math
from typing import Any, Final, NamedTuple

import msgspec
import numpy as np

from penstock.live.core.clients import NEVER, NO_PLACE, Client, PendingOperation
from penstock.live.core.core import Core
from penstock.live.core.pending import PendingOperations
from penstock.numeric.tolerances import RATE_SLACK
from penstock.policies.policy import NEEDED_COLUMNS, Need
from penstock.policies.view import MOMENT, View

MOST_STEPS: Final = 1_000
"""Completions after which a forecast gives up."""
_ALWAYS: Final = ("posted", "remaining")
_AGO: Final = {"posted": "posted ago", "release": "running for"}
"""Dates are shown as seconds that have passed since."""
_UNNAMED: Final[dict[str, Any]] = {"application": None, "job": "another user's"}
_DATE: Final = {shown: name for name, shown in _AGO.items()}


def explain(core: Core, client: Client, uid: int | None = None) -> dict[str, Any]:
    """Explain what a client is doing and why.

    Args:
        core: The core that the client is registered with.
        client: The client.
        uid: The user who asks, to whom the jobs of other users are not named; None names all.

    Returns:
        The policy and its rule; `rate` and `target` of the client in bytes/s; `reason` in words; `forecast`, the seconds
        until it may move if no other client comes, None if that cannot be told; `prediction`, the phase that is expected
        next; and `under_way`, the numbers in `columns` for every pending operation, those with the highest target first.
    """
    target, rate = _rates(core, client)
    return {
        "application": client.number,
        "job": client.job,
        "policy": core.policy.name,
        "rule": core.policy.summary,
        "rate": rate,
        "target": target,
        "reason": _reason(core, client, target, rate, uid),
        "forecast": _start(core, client) if rate <= 0.0 and client.place != NO_PLACE else None,
        "prediction": core.registry.predictor.predict(client, core.now)._asdict(),
        "columns": _columns(core),
        "under_way": [row if _may_name(owner, uid) else {**row, **_UNNAMED} for owner, row in _under_way(core)],
    }


def _rates(core: Core, client: Client) -> tuple[float, float]:
    if client.place == NO_PLACE:
        return 0.0, 0.0
    return float(core.pending.column("target")[client.place]), client.in_force


def _reason(core: Core, client: Client, target: float, rate: float, uid: int | None) -> str:
    who = _name(core, client)
    if client.operation is None:
        return f"{who} does no I/O; it works since {core.now - client.idle_since:.1f} s"
    if client.place == NO_PLACE:
        return f"{who} has lost its place, silent since {core.now - client.last_heard:.1f} s; it may come back"
    if client.barred_until > core.now:
        left = client.barred_until - core.now
        return f"{who} has moved more than it was granted too often; its operations wait for {left:.1f} s"
    if rate <= 0.0 and core.pending.column("aside")[client.place] > NEVER:
        return f"{who} has had its turn, or reached too little of it, while others waited; it goes on after them"
    if rate <= 0.0 and not core.pending.column("shown")[client.place]:
        return f"{who} waits for other operations of its user, whose applications count as one"
    if not client.connected:
        left = max(0.0, client.last_heard + core.leases.lease - core.now)
        return f"{who} has no connection; unless it comes back, its place is free in {left:.1f} s"
    if rate >= client.usable * (1.0 - RATE_SLACK):
        return f"{who} has all it can use, {rate:.4g} bytes/s"
    if rate > 0.0 and client.unacknowledged:
        return f"{who} is to slow down from {rate:.4g} to {target:.4g} bytes/s, and has not said yet that it does"
    if rate > 0.0:
        others = core.pending.size - 1
        return f"{who} has {rate:.4g} of the {client.usable:.4g} bytes/s it can use; {others} others are under way"
    if target > 0.0:
        yielding = [owner for owner in core.pending.owners if owner.unacknowledged]
        return f"{who} is to have {target:.4g} bytes/s and waits for {_names(core, yielding, uid)} to yield"
    served = [owner for owner in core.pending.owners if owner.in_force > 0.0]
    return f"{who} waits: {core.policy.name} serves {_names(core, served, uid)} first ({core.policy.summary})"


def _may_name(client: Client, uid: int | None) -> bool:
    return uid is None or client.uid == uid


def _name(core: Core, client: Client) -> str:
    """The job, with its number if there are several of that name."""
    is_only = len([one for one in core.registry.clients.values() if one.job == client.job]) == 1
    return f"{client.job!r}" if is_only else f"{client.job!r} ({client.number})"


def _names(core: Core, clients: list[Client], uid: int | None, most: int = 4) -> str:
    named = [client for client in clients if _may_name(client, uid)]
    if len(named) < len(clients):
        hidden = f"{len(clients) - len(named)} of other users"
        return ", ".join([*(_name(core, client) for client in named[:most]), hidden])
    names = [_name(core, client) for client in clients[:most]]
    more = len(clients) - len(names)
    return (", ".join(names) + (f" and {more} others" if more else "")) or "nobody"


def _columns(core: Core) -> list[str]:
    """What is shown: posting times, remaining volumes, and the columns that the policy needs."""
    columns = dict.fromkeys(_ALWAYS)
    for need in core.policy.needs:
        columns.update(dict.fromkeys(name for name in NEEDED_COLUMNS[need] if name not in MOMENT))
    return [*(_AGO.get(name, name) for name in columns), *(["yield"] if Need.PROGRESS in core.policy.needs else [])]


def _under_way(core: Core) -> list[tuple[Client, dict[str, Any]]]:
    view = core.view()
    order = np.lexsort((view.posted, -core.pending.column("target")))
    return [(core.pending.owners[place], _numbers(core, view, int(place))) for place in order]


def _numbers(core: Core, view: View, place: int) -> dict[str, Any]:
    owner = core.pending.owners[place]
    numbers = {}
    for name in _columns(core):
        if name == "yield":
            value = core.yield_of(owner)
        elif name in _DATE:
            value = core.now - float(getattr(view, _DATE[name])[place])
        else:
            value = float(getattr(view, name)[place])
        numbers[name] = value if math.isfinite(value) else None
    target = float(core.pending.column("target")[place])
    return {"application": owner.number, "job": owner.job, "rate": owner.in_force, "target": target, **numbers}


class Forecast(NamedTuple):
    """Seconds from now until an operation may start and until it ends; None where that cannot be told."""

    start: float | None
    end: float | None


class Prospects(NamedTuple):
    """Who does I/O now, and what would become of an operation that is posted now."""

    moving: int
    waiting: int
    forecast: Forecast


def outlook(core: Core, client: Client, volume: float, rounds: int) -> Prospects:
    """Tell a client who does I/O, and how long an operation would take it if it posted one now.

    Args:
        core: The core that the client is registered with.
        client: The client. If it has an operation pending, the forecast is about that one.
        volume: Bytes of the operation that it thinks of; 0 for none.
        rounds: The rounds of that operation.

    Returns:
        How many operations may move data and how many wait; and the forecast, if no other client comes.
    """
    rates = core.pending.column("rate")
    moving = int(np.count_nonzero(rates > 0.0))
    waiting = core.pending.size - moving
    if client.place != NO_PLACE:
        return Prospects(moving, waiting, _forecast(core, core.pending.copy(), client.place))
    if not volume > 0.0:
        return Prospects(moving, waiting, Forecast(None, None))
    operation = PendingOperation(client.last_operation + 1, volume, rounds, core.now)
    visitor = msgspec.structs.replace(client, operation=operation)  # the client itself must not get a place
    pending = core.pending.copy()
    pending.post(visitor, 0.0, core.places.posting(core.now, visitor, operation), core.now)
    return Prospects(moving, waiting, _forecast(core, pending, visitor.place))


def _start(core: Core, client: Client) -> float | None:
    return _forecast(core, core.pending.copy(), client.place).start


def _forecast(core: Core, pending: PendingOperations, place: int) -> Forecast:
    """What becomes of the operation at this place if no other client comes and all keep to their targets.

    Args:
        core: Has the policy and the present date.
        pending: A copy of the pending operations, which is used up.
        place: The row of the operation.
    """
    now, start = core.now, None
    for _ in range(min(MOST_STEPS, 2 * pending.size)):
        core.decider.ask(pending, now, core.registry.completed)
        rates = pending.column("target")
        if start is None and rates[place] > 0.0:
            start = now - core.now
        if not (rates > 0.0).any():
            break  # all wait for a planned turn or a periodic decision, not for other clients
        np.copyto(pending.column("rate"), rates)
        moving = np.flatnonzero(rates > 0.0)
        reached = pending.column("reached")[moving]
        paces = np.where(reached > 0.0, np.minimum(rates[moving], reached), rates[moving])
        left = pending.column("remaining")[moving] / paces
        finisher = int(moving[np.argmin(left)])
        now += float(left.min())
        pending.move(float(left.min()), now)
        if finisher == place:
            return Forecast(start, now - core.now)
        if pending.take_out(finisher) == place:
            place = finisher
    return Forecast(start, None)
