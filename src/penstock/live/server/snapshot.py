"""What the coordinator shows of itself: one function reads the core, and all that shows something reads its result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

from penstock.engine.chain import mean_iteration
from penstock.live.core.clients import NO_PLACE, Client
from penstock.live.core.core import Core
from penstock.planning.node_hours import hours_by_owner

WORKING: Final = "working"
TRANSFERRING: Final = "transferring"
WAITING: Final = "waiting"
AWAY: Final = "away"
STATES: Final = (WORKING, TRANSFERRING, WAITING, AWAY)


class RecentGrant(NamedTuple):
    """A grant that was sent: its date in seconds, to whom, and the rate in bytes/s."""

    now: float
    application: int
    job: str
    rate: float


@dataclass(frozen=True)
class Traffic:
    """What the server has counted and done beside the core."""

    messages: Mapping[str, int]
    """Messages so far, by type."""
    recent: Sequence[RecentGrant]
    """The latest grants, oldest first."""
    connections: int
    refused_messages: int
    cut_off: int
    """Connections closed because the peer did not read."""
    turned_away: int
    """Connections closed for want of room."""
    journal_failure: str | None
    """Why the journal cannot be written, if so."""


@dataclass(frozen=True)
class Snapshot:
    """The coordinator at one date: rates in bytes/s, times in seconds of its own clock, counts since its start."""

    now: float
    policy: str
    fault: str | None
    """Why the chosen policy was replaced, if it was."""
    bandwidth: float
    measured: bool
    """Whether B is measured."""
    observing: bool
    """Whether the coordinator holds nobody back."""
    warning: str | None
    """That applications reach far less than they are granted, if so."""
    granted: float
    events: int
    decisions: int
    grants: int
    completed: int
    overruns: int
    states: Mapping[str, int]
    """How many clients are in each of `STATES`."""
    lowest_yield: float
    """Of the connected clients; 1 without any."""
    traffic: Traffic
    applications: Sequence[dict[str, Any]]
    """One entry a client (`describe`)."""

    def of_user(self, uid: int) -> Snapshot:
        """The snapshot as the user `uid` may see it: all totals, and of applications only its own."""
        own = [one for one in self.applications if one["uid"] == uid]
        numbers = {one["application"] for one in own}
        recent = tuple(grant for grant in self.traffic.recent if grant.application in numbers)
        return replace(self, applications=own, traffic=replace(self.traffic, recent=recent))

    def without_users(self) -> Snapshot:
        """The snapshot without the names and uids of users."""
        kept = [{name: one[name] for name in one if name not in ("user", "group", "uid")} for one in self.applications]
        return replace(self, applications=kept)

    def as_dict(self) -> dict[str, Any]:
        """The snapshot as ``penstock ctl state`` and ``/state`` show it."""
        return {
            "penstock": 1,
            "policy": self.policy,
            "fault": self.fault,
            "bandwidth": self.bandwidth,
            "measured": self.measured,
            "observing": self.observing,
            "warning": self.warning,
            "granted": self.granted,
            "now": self.now,
            "events": self.events,
            "decisions": self.decisions,
            "grants": self.grants,
            "completed": self.completed,
            "states": dict(self.states),
            "refused_messages": self.traffic.refused_messages,
            "cut_off": self.traffic.cut_off,
            "turned_away": self.traffic.turned_away,
            "journal_failure": self.traffic.journal_failure,
            "recent": [grant._asdict() for grant in self.traffic.recent],
            "applications": list(self.applications),
            "users": self.by_user(),
        }

    def by_user(self) -> list[dict[str, Any]]:
        """The lowest yield and the node-hours of each user; nothing where users are not shown."""
        shown = [one for one in self.applications if "user" in one]
        under_way = [one["pending"]["seconds"] if one["pending"] else 0.0 for one in shown]
        alone = [min(one["io_seconds"], one["transferred"] / one["bandwidth"]) for one in shown]
        found = hours_by_owner(
            [one["user"] or str(one["uid"]) for one in shown],
            [one["nodes"] for one in shown],
            {
                "computing": [
                    max(0.0, one["elapsed"] - one["io_seconds"] - now) for one, now in zip(shown, under_way, strict=True)
                ],
                "transferring": alone,  # of ended operations
                "delayed": [one["io_seconds"] - seconds for one, seconds in zip(shown, alone, strict=True)],
            },
        )
        return [
            {
                "user": name,
                "applications": len(own.members),
                "min_yield": min(shown[place]["yield"] for place in own.members),
                **own.hours,
            }
            for name, own in found.items()
        ]


def take_snapshot(core: Core, traffic: Traffic) -> Snapshot:
    """Read the core at its present date. That takes some microseconds a client.

    Args:
        core: The core.
        traffic: What the server counts itself.
    """
    clients = core.registry.clients.values()
    searched = core.registry.predictor.to_search(clients)
    states = dict.fromkeys(STATES, 0)
    for client in clients:
        states[state_of(client)] += 1
    return Snapshot(
        now=core.now,
        policy=core.policy.name,
        fault=core.decider.fault,
        bandwidth=core.bandwidth,
        measured=core.measured is not None,
        observing=core.observing,
        warning=core.warning,
        granted=core.granted(),
        events=core.events,
        decisions=core.decider.decisions,
        grants=core.grants.sent,
        completed=core.registry.completed,
        overruns=core.overruns,
        states=states,
        lowest_yield=min((core.yield_of(client) for client in clients if client.connected), default=1.0),
        traffic=traffic,
        applications=[describe(core, client, search=client.number in searched) for client in clients],
    )


def state_of(client: Client) -> str:
    """What the client is doing: one of `STATES`."""
    if not client.connected:
        return AWAY
    if client.operation is None:
        return WORKING
    return TRANSFERRING if client.in_force > 0.0 else WAITING


def _penalty(core: Core, client: Client) -> dict[str, Any] | None:
    """What the client's overruns have brought it: `kind` is warned, lowered or barred; None without any."""
    now = core.now
    if client.barred_until > now:
        return {"kind": "barred", "seconds": client.barred_until - now}
    if client.lowered_until > now:
        return {"kind": "lowered", "seconds": client.lowered_until - now, "part": client.lowered_to}
    left = client.struck + core.limits.penalty - now
    return {"kind": "warned", "seconds": left} if client.strikes and left > 0.0 else None


def describe(core: Core, client: Client, *, search: bool = False) -> dict[str, Any]:
    """A `client` of the `core` as people and programs see it: volumes in bytes, rates in bytes/s, times in seconds.

    `transferred` is what its ended operations have moved. In `pending`, `moved` is what it has reported of the operation
    under way, and `estimated` what it has moved by now if it uses its grants. With `search`, its period is looked for anew.
    """
    operation = client.operation
    pending, withheld = None, None
    if operation is not None:
        estimated = operation.moved
        if client.place != NO_PLACE:
            estimated = operation.volume - core.pending.remaining(client.place)
            withheld = float(core.pending.column("withheld")[client.place]) if core.observing else None
        pending = {
            "operation": operation.number,
            "volume": operation.volume,
            "moved": operation.moved,
            "estimated": estimated,
            "rounds": operation.rounds,
            "follows": operation.follows,
            "seconds": core.now - operation.posted,
        }
    return {
        "application": client.number,
        "job": client.job,
        "user": client.user,
        "group": client.group,
        "uid": client.uid,
        "nodes": client.nodes,
        "bandwidth": client.cap,
        "state": state_of(client),
        "rate": client.in_force,
        "withheld": withheld,
        "yield": core.yield_of(client),
        "progress": core.progress(client),
        "elapsed": core.now - client.release,
        "operations": client.operations,
        "transferred": client.moved,
        "io_seconds": client.io_seconds,
        "mean_iteration": mean_iteration(client),
        "prediction": core.registry.predictor.predict(client, core.now, search=search)._asdict(),
        "overruns": client.overruns,
        "penalty": _penalty(core, client),
        "pending": pending,
    }
