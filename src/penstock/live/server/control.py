"""The operator's commands, which ``penstock ctl``, ``top`` and ``why`` send to a running coordinator."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from typing import Any, Final

from penstock.live.core.clients import Client
from penstock.live.core.core import Core
from penstock.live.core.events import ForgetEvent, Refused
from penstock.live.core.explaining import explain
from penstock.live.core.pending import prepare
from penstock.live.protocol import INVALID, Answer, Control, Error, Reply
from penstock.live.server.journal import Journal
from penstock.live.server.snapshot import Snapshot
from penstock.model import PenstockError
from penstock.policies import registry
from penstock.policies.policy import Policy


class ControlCommands:
    """Carries out commands.

    Args:
        core: The core that the commands are about.
        now: Gives the present date in seconds, and has a decision made soon.
        snapshot: Takes a snapshot with all applications.
        journal: The coordinator's journal.
        stop: Ends the coordinator.
    """

    def __init__(
        self,
        core: Core,
        now: Callable[[], float],
        snapshot: Callable[[], Snapshot],
        journal: Journal,
        stop: Callable[[], None],
    ) -> None:
        self._core = core
        self._now = now
        self._snapshot = snapshot
        self._journal = journal
        self._stop = stop
        self._tasks: set[asyncio.Task[None]] = set()

    def reply(self, message: Control, say: Callable[[Reply], None], uid: int | None = None) -> None:
        """Carry out a command and `say` the answer, at once or, where a policy must be compiled first, later.

        Args:
            message: The command.
            say: Sends the answer.
            uid: The user who asks about its own applications; None for the operator.
        """
        if uid is None:
            body = self.answer(message.command, message.argument)
        else:
            body = self._answer_user(message.command, message.argument, uid)
        if not inspect.isawaitable(body):
            say(Answer(message.seq, body))
            return

        async def later() -> None:
            try:
                say(Answer(message.seq, await body))
            except Refused as error:
                say(Error(error.code, str(error), message.seq))

        task = asyncio.get_running_loop().create_task(later())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def answer(self, command: str, argument: str) -> Any:
        """The answer to a `command` with its `argument`, or an awaitable that gives it.

        Refused if the command is unknown or fails.
        """
        if command not in COMMANDS:
            raise Refused(INVALID, f"unknown command {command!r}; expected one of {', '.join(COMMANDS)}")
        try:
            return COMMANDS[command](self, argument)
        except PenstockError as error:
            raise Refused(INVALID, str(error)) from None

    def _answer_user(self, command: str, argument: str, uid: int) -> dict[str, Any]:
        """The answer to a user: totals, and of applications only its own."""
        assert command in OF_USERS
        if command == "state":
            return self._snapshot().of_user(uid).as_dict()
        found = [client for client in self._core.registry.find(argument) if client.uid == uid]
        if not found:
            raise Refused(INVALID, f"no application {argument!r} of yours is known; `penstock ctl state` lists them")
        self._core.advance(self._now())
        return explain(self._core, found[0], uid)

    def _state(self, _: str) -> dict[str, Any]:
        return self._snapshot().as_dict()

    def _policy(self, name: str) -> dict[str, Any] | Awaitable[dict[str, Any]]:
        """Show the policy, or change it if a name is given."""
        if name:
            policy = registry.find(name)
            self._core.plan(policy)
            return self._change_policy(policy)
        return self._policy_in_use()

    async def _change_policy(self, policy: Policy) -> dict[str, Any]:
        """Change the policy once it is compiled. That may take seconds, in which the event loop goes on."""
        try:
            await asyncio.get_running_loop().run_in_executor(None, prepare, policy)
            self._core.set_policy(self._now(), policy)
        except PenstockError as error:
            raise Refused(INVALID, str(error)) from None
        return self._policy_in_use()

    def _policy_in_use(self) -> dict[str, Any]:
        return {"policy": self._core.policy.name, "fault": self._core.decider.fault}

    def _forget(self, text: str) -> dict[str, Any]:
        """Remove clients, by number or the name of their job."""
        found = sorted(self._find(text), key=lambda client: client.number)
        for client in found:
            self._core.enter(self._now(), ForgetEvent(client, "whoever runs the coordinator said so"))
        return {"forgotten": [client.number for client in found]}

    def _why(self, text: str) -> dict[str, Any]:
        """Explain why a client waits."""
        client = self._find(text)[0]
        self._core.advance(self._now())
        return explain(self._core, client)

    def _where_journal(self, _: str) -> dict[str, Any]:
        return {"journal": self._journal.path, "failure": self._journal.failure}

    def _end(self, _: str) -> dict[str, Any]:
        self._stop()
        return {"stopping": True}

    def _find(self, text: str) -> list[Client]:
        """The clients of that number or job name; Refused if there are none."""
        found = self._core.registry.find(text)
        if not found:
            raise Refused(INVALID, f"no application {text!r} is known; `penstock ctl state` lists them")
        return found


COMMANDS: Final[dict[str, Callable[[ControlCommands, str], Any]]] = {
    "state": ControlCommands._state,
    "policy": ControlCommands._policy,
    "forget": ControlCommands._forget,
    "why": ControlCommands._why,
    "journal": ControlCommands._where_journal,
    "stop": ControlCommands._end,
}
QUESTIONS: Final = frozenset({"state", "why", "journal"})
"""Commands that change nothing; but ``policy`` without a name."""
WRITTEN: Final = frozenset({"policy", "forget"})
"""Commands that are answered when the journal has their consequences."""
OF_USERS: Final = frozenset({"state", "why"})
"""Commands that every user on the Unix socket may give; the answer shows a user's own applications only."""
