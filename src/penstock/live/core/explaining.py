"""Why an application waits, in words and numbers, from the policy's own view.

The words say what the coordinator is doing about it: what the policy wants it to have, what it has, and who is before it.
The numbers are the columns that the policy declares to need, for everybody with an operation under way. The forecast goes on
from the present view as if nobody else came: ask the policy, go to the next completion, ask again.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from penstock.live.core.clients import NO_PLACE, Client
from penstock.live.core.core import Core
from penstock.numeric.tolerances import RATE_SLACK
from penstock.policies.policy import NEEDED_COLUMNS, Need
from penstock.policies.view import MOMENT, View

MOST_STEPS: Final = 1_000
_ALWAYS: Final = ("posted", "remaining")
_AGO: Final = {"posted": "posted ago", "release": "running for"}
"""Dates are told as seconds that have passed."""
_DATE: Final = {told: name for name, told in _AGO.items()}


def explain(core: Core, application: Client) -> dict[str, Any]:
    """The state of the application, why it is so (`reason`), when it goes on if nobody else comes (`forecast`, seconds, null
    if it cannot be told), and the numbers of everybody under way, those served first in front.
    """
    wanted, has = _rates(core, application)
    return {
        "application": application.number,
        "job": application.job,
        "policy": core.policy.name,
        "rule": core.policy.summary,
        "rate": has,
        "target": wanted,
        "reason": _reason(core, application, wanted, has),
        "forecast": _forecast(core, application) if has <= 0.0 and application.place != NO_PLACE else None,
        "columns": _columns(core),
        "under_way": _under_way(core),
    }


def _rates(core: Core, application: Client) -> tuple[float, float]:
    if application.place == NO_PLACE:
        return 0.0, 0.0
    return float(core.active.column("target")[application.place]), application.in_force


def _reason(core: Core, application: Client, wanted: float, has: float) -> str:
    who = f"{application.job!r}"
    if application.operation is None:
        return f"{who} does no I/O; it works since {core.now - application.idle_since:.1f} s"
    if application.place == NO_PLACE:
        return f"{who} has lost its place, silent since {core.now - application.heard:.1f} s; it may come back"
    if not application.connected:
        left = max(0.0, application.heard + core.leases.lease - core.now)
        return f"{who} has no connection; unless it comes back, its place is free in {left:.1f} s"
    if has >= application.cap * (1.0 - RATE_SLACK):
        return f"{who} has all it can use, {has:.4g} bytes/s"
    if has > 0.0 and application.unkept:
        return f"{who} is to slow down from {has:.4g} to {wanted:.4g} bytes/s, and has not said yet that it does"
    if has > 0.0:
        others = core.active.size - 1
        return f"{who} has {has:.4g} of the {application.cap:.4g} bytes/s it can use; {others} others are under way"
    if wanted > 0.0:
        return f"{who} is to have {wanted:.4g} bytes/s and waits for {_names(_owing(core))} to yield"
    served = [owner for owner in core.active.owners if owner.in_force > 0.0]
    return f"{who} waits: {core.policy.name} serves {_names(served)} first ({core.policy.summary})"


def _owing(core: Core) -> list[Client]:
    return [owner for owner in core.active.owners if owner.unkept]


def _names(applications: list[Client], most: int = 4) -> str:
    names = [repr(application.job) for application in applications[:most]]
    more = len(applications) - len(names)
    return (", ".join(names) + (f" and {more} others" if more else "")) or "nobody"


def _columns(core: Core) -> list[str]:
    """What the policy goes by, beside posting times and what is left."""
    columns = dict.fromkeys(_ALWAYS)
    for need in core.policy.needs:
        columns.update(dict.fromkeys(name for name in NEEDED_COLUMNS[need] if name not in MOMENT))
    return [*(_AGO.get(name, name) for name in columns), *(["yield"] if Need.PROGRESS in core.policy.needs else [])]


def _under_way(core: Core) -> list[dict[str, Any]]:
    view = core.view()
    order = np.lexsort((view.posted, -core.active.column("target")))
    return [_numbers(core, view, int(place)) for place in order]


def _numbers(core: Core, view: View, place: int) -> dict[str, Any]:
    owner = core.active.owners[place]
    numbers = {}
    for name in _columns(core):
        if name == "yield":
            value = core.yield_of(owner)
        elif name in _DATE:
            value = core.now - float(getattr(view, _DATE[name])[place])
        else:
            value = float(getattr(view, name)[place])
        numbers[name] = value if math.isfinite(value) else None
    target = float(core.active.column("target")[place])
    return {"application": owner.number, "job": owner.job, "rate": owner.in_force, "target": target, **numbers}


def _forecast(core: Core, application: Client) -> float | None:
    """Seconds until the application has bandwidth if nobody comes and everybody keeps to what the policy wants."""
    active, now = core.active.copy(), core.now
    place = application.place
    for _ in range(min(MOST_STEPS, 2 * active.size)):
        core.ask(active, now)
        rates = active.column("target")
        if rates[place] > 0.0:
            return now - core.now
        if not (rates > 0.0).any():
            return None  # it waits for something else than others: a turn, a tick
        np.copyto(active.column("rate"), rates)
        moving = np.flatnonzero(rates > 0.0)
        left = active.column("remaining")[moving] / rates[moving]
        finisher = int(moving[np.argmin(left)])
        active.move(float(left.min()))
        now += float(left.min())
        if active.take_out(finisher) == place:
            place = finisher
    return None


def called(core: Core, text: str) -> list[Client]:
    """The applications of that number or job name, the one whose number it is first, then the latest."""
    found = [a for a in core.applications.values() if text in (str(a.number), a.job)]
    return sorted(found, key=lambda a: (str(a.number) == text, a.number), reverse=True)
