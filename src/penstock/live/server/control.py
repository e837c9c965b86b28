"""What whoever runs the coordinator may ask of it while it runs, and the state as people and programs see it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Final

from penstock.engine.books import mean_iteration
from penstock.live.core.clients import NO_PLACE, Client, Refused
from penstock.live.core.core import Core
from penstock.live.core.explaining import called, explain
from penstock.live.core.pending import prepare
from penstock.live.protocol import INVALID
from penstock.model import PenstockError
from penstock.policies import registry
from penstock.policies.policy import Policy

if TYPE_CHECKING:
    from penstock.live.server.server import Server

WORKING: Final = "working"
TRANSFERRING: Final = "transferring"
WAITING: Final = "waiting"
AWAY: Final = "away"
STATES: Final = (WORKING, TRANSFERRING, WAITING, AWAY)


def answer(server: Server, command: str, argument: str) -> Any:
    """Carry out a command; Refused if there is none of that name."""
    if command not in COMMANDS:
        raise Refused(INVALID, f"unknown command {command!r}; expected one of {', '.join(COMMANDS)}")
    try:
        return COMMANDS[command](server, argument)
    except PenstockError as error:
        raise Refused(INVALID, str(error)) from None


def state(server: Server, _: str = "") -> dict[str, Any]:
    """All there is to see; rates in bytes/s, times in seconds of the coordinator's clock."""
    core = server.core
    core.advance(server.now())
    return {
        "penstock": 1,
        "policy": core.policy.name,
        "fault": core.fault,
        "bandwidth": core.bandwidth,
        "granted": core.granted(),
        "now": server.now(),
        "events": core.events,
        "decisions": core.decisions,
        "grants": core.grants,
        "completed": core.completed,
        "refused_messages": server.refused,
        "cut_off": server.cut_off,
        "journal_failure": server.journal.failure,
        "recent": [
            {"now": date, "application": number, "job": job, "rate": rate} for date, number, job, rate in server.recent
        ],
        "applications": [describe(core, application) for application in core.applications.values()],
    }


def condition(application: Client) -> str:
    """What the application is at, in a word."""
    if not application.connected:
        return AWAY
    if application.operation is None:
        return WORKING
    return TRANSFERRING if application.in_force > 0.0 else WAITING


def describe(core: Core, application: Client) -> dict[str, Any]:
    """An application as people and programs see it."""
    elapsed = core.now - application.release
    progress = core.progress(application)
    operation = application.operation
    pending = None
    if operation is not None:
        moved = operation.moved
        if application.place != NO_PLACE:
            moved = operation.volume - float(core.active.column("remaining")[application.place])
        pending = {
            "operation": operation.number,
            "volume": operation.volume,
            "moved": moved,
            "rounds": operation.rounds,
            "seconds": core.now - operation.posted,
        }
    return {
        "application": application.number,
        "job": application.job,
        "user": application.user,
        "uid": application.uid,
        "nodes": application.nodes,
        "bandwidth": application.cap,
        "state": condition(application),
        "rate": application.in_force,
        "yield": core.yield_of(application),
        "progress": progress,
        "elapsed": elapsed,
        "operations": application.operations,
        "transferred": application.moved,
        "io_seconds": application.io_seconds,
        "mean_iteration": mean_iteration(application),
        "overruns": application.overruns,
        "pending": pending,
    }


def _policy(server: Server, name: str) -> dict[str, Any] | Awaitable[dict[str, Any]]:
    """The policy, changed if a name is given."""
    if name:
        policy = registry.find(name)
        server.core.plan_of(policy)
        return _change_policy(server, policy)
    return {"policy": server.core.policy.name, "fault": server.core.fault}


async def _change_policy(server: Server, policy: Policy) -> dict[str, Any]:
    """Change the policy when it is compiled, which may take seconds and is not waited for by anybody else."""
    try:
        await asyncio.get_running_loop().run_in_executor(None, prepare, policy)
        server.core.set_policy(server.now(), policy)
    except PenstockError as error:
        raise Refused(INVALID, str(error)) from None
    return {"policy": server.core.policy.name, "fault": server.core.fault}


def _called(server: Server, text: str) -> list[Client]:
    """Those of that number or job name; Refused if there are none."""
    found = called(server.core, text)
    if not found:
        raise Refused(INVALID, f"no application {text!r} is known; `penstock ctl state` lists them")
    return found


def _forget(server: Server, text: str) -> dict[str, Any]:
    """Send applications away, by number or the name of their job."""
    found = sorted(_called(server, text), key=lambda application: application.number)
    for application in found:
        server.core.forget(server.now(), application, "whoever runs the coordinator said so")
    return {"forgotten": [application.number for application in found]}


def _why(server: Server, text: str) -> dict[str, Any]:
    """Why an application waits."""
    application = _called(server, text)[0]
    server.core.advance(server.now())
    return explain(server.core, application)


def _journal(server: Server, _: str) -> dict[str, Any]:
    """Where the journal is, for who wants to read it."""
    return {"journal": server.journal.path, "failure": server.journal.failure}


def _stop(server: Server, _: str) -> dict[str, Any]:
    """End the coordinator."""
    server.stop()
    return {"stopping": True}


COMMANDS: Final[dict[str, Callable[[Server, str], Any]]] = {
    "state": state,
    "policy": _policy,
    "forget": _forget,
    "why": _why,
    "journal": _journal,
    "stop": _stop,
}
