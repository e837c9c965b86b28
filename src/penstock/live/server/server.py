"""The server: sockets around the core. One thread, one event loop.

Every message is entered into the core when it arrives, and a wrong one is refused at once. When all messages that have
arrived are entered, the core decides once; its decision is committed to the journal and then sent. Under load more messages
share a decision, and no message waits for a timer.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import hashlib
import hmac
import logging
import math
import secrets
from collections import defaultdict, deque
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeAlias

from penstock.live import protocol
from penstock.live.client import environment
from penstock.live.core.clients import NO_PLACE, Client
from penstock.live.core.events import (
    BeatEvent,
    DisconnectEvent,
    Event,
    InformEvent,
    Instructions,
    JoinEvent,
    LeaveEvent,
    Refused,
    RegisterEvent,
    ReleaseEvent,
    ReportEvent,
    YieldEvent,
)
from penstock.live.core.explaining import outlook
from penstock.live.protocol import (
    DENIED,
    INVALID,
    SERVED,
    TOO_MANY,
    UNEXPECTED,
    UNKNOWN,
    VERSION_UNKNOWN,
    Ask,
    Beat,
    Control,
    Forgotten,
    Inform,
    Join,
    Leave,
    Left,
    Outlook,
    Register,
    Registered,
    Release,
    Reply,
    Report,
    Request,
    Warned,
    Yielded,
)
from penstock.live.server.admission import Connections
from penstock.live.server.control import OF_USERS, QUESTIONS, WRITTEN, ControlCommands
from penstock.live.server.journal import Journal, JournalWriter
from penstock.live.server.listening import feed_watchdog, listen_locally, listen_remotely, notify
from penstock.live.server.logbook import Logbook, RareLog
from penstock.live.server.peer import Peer
from penstock.live.server.restoring import restore
from penstock.live.server.settings import ServerSettings
from penstock.live.server.snapshot import RecentGrant, Snapshot, Traffic, take_snapshot
from penstock.model import InputError

LOG: Final = logging.getLogger("penstock.coordinator")
LONGEST_SLEEP: Final = 3600.0
GAP: Final = 0.5
"""Part of a lease by which a timer must be late to show that this process did not run. Clients beat three times a lease."""
MOST_RECENT: Final = 500
"""Grants that a snapshot shows."""

Introduction: TypeAlias = Register | Join | Control
"""Messages that say who a peer is."""
INTRODUCTIONS: Final = frozenset({Register, Join, Control})
EVENTS: Final[dict[type, Callable[[Client, Any], Event]]] = {
    Inform: lambda client, message: InformEvent(
        client, message.operation, message.volume, message.rounds, message.moved, message.bandwidth, message.follows
    ),
    Report: lambda client, message: ReportEvent(client, message.operation, message.moved),
    Yielded: lambda client, message: YieldEvent(client, message.grant),
    Release: lambda client, message: ReleaseEvent(client, message.operation, message.moved),
}
"""The events that messages of a client stand for."""


class Server:
    """A running coordinator.

    Args:
        settings: What it was told on the command line, in the environment and in its file.

    Raises:
        InputError: If a setting is missing or cannot be used.
    """

    def __init__(self, settings: ServerSettings) -> None:
        if not settings.bandwidth > 0.0:
            raise InputError("bandwidth", 'not given; expected what the I/O system carries, such as --bandwidth "10 GB/s"')
        self.settings = settings
        self.token = environment.read_token(settings.token_file) if settings.token_file else ""
        if settings.listen and not self.token:
            raise InputError("listen", "over TCP the token says who may come; expected --token-file FILE, of mode 0600")
        with contextlib.ExitStack() as opened:
            self.logbook = Logbook(settings.audit_log)
            opened.callback(self.logbook.close)
            self.journal = Journal(settings.journal)
            opened.callback(self.journal.close)
            restored = restore(self.journal, settings)
            self._files = opened.pop_all()
        self.clock, self.core, self.policy_note = restored.clock, restored.core, restored.note
        self.connections = Connections(settings, self.clock)
        self.control = ControlCommands(self.core, self.now, self.snapshot, self.journal, self.stop)
        self._writer = JournalWriter(self.journal, self.clock, self.core, settings.policy)
        self._messages: defaultdict[type, int] = defaultdict(int)
        self._recent: deque[tuple[float, int, str, float]] = deque(maxlen=MOST_RECENT)
        """The fields of the latest grants: a `RecentGrant` is made of them when somebody looks."""
        self._peers: dict[int, Peer] = {}
        """The connection of each client, by its number."""
        self._after_commit: list[Callable[[], None]] = []
        """Replies that must not be sent before the journal is written."""
        self._date: float | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._awake_at = 0.0
        self._stopped = asyncio.Event()
        self._fault: str | None = None
        self._warning: str | None = None
        self._bandwidth = self.core.bandwidth
        self._gaps = RareLog()

    # Life

    async def run(self, ready: Callable[[], Any] = lambda: None) -> None:
        """Listen until `stop` is called; `ready` is called when clients can connect."""
        async with contextlib.AsyncExitStack() as stack:
            stack.callback(self._files.close)
            self.listener = listen_locally(
                Path(self.settings.socket), lambda connection: Peer(self, connection, local=True), stack
            )
            if self.settings.listen:
                listen_remotely(self.settings.listen, lambda connection: Peer(self, connection, local=False), stack)
            if self.settings.http:
                from penstock.live.server.http import serving

                await stack.enter_async_context(serving(self.settings, self.snapshot))
            watchdog = asyncio.create_task(feed_watchdog())
            stack.callback(watchdog.cancel)
            self._decide()
            gc.collect()
            gc.freeze()  # else the collector visits the compiler's half a million objects every few minutes, for 60 ms
            self.logbook.note("started", f"sharing {self.core.bandwidth:g} bytes/s by {self.core.policy.name}")
            ready()
            notify(f"READY=1\nSTATUS=sharing {self.core.bandwidth:g} bytes/s by {self.core.policy.name}")
            await self._stopped.wait()
            notify("STOPPING=1")
            self.logbook.note("stopped", "stopping")
            for peer in list(self.connections.peers):
                peer.hang_up()
            self._decide()
            for peer in list(self.connections.peers):
                peer.close()

    def stop(self) -> None:
        """End `run`. Clients go on by themselves and reconnect to the next coordinator."""
        self._stopped.set()

    def now(self) -> float:
        """The date of all that has arrived since the last decision; the next decision follows it soon."""
        if self._date is None:
            self._date = self.clock.now()
            asyncio.get_running_loop().call_soon(self._decide)
        return self._date

    def snapshot(self) -> Snapshot:
        """The coordinator as others may see it."""
        self.core.advance(self.now())
        traffic = Traffic(
            messages={kind.__name__.lower(): count for kind, count in self._messages.items()},
            recent=tuple(map(RecentGrant._make, self._recent)),
            connections=len(self.connections.peers),
            refused_messages=self.connections.refused,
            cut_off=self.connections.cut_off,
            turned_away=self.connections.turned_away,
            journal_failure=self.journal.failure,
        )
        return take_snapshot(self.core, traffic)

    # Messages

    def handle(self, peer: Peer, message: Request) -> None:
        """Enter a `message` of `peer` into the core; Refused if it cannot be."""
        kind, client = type(message), peer.client
        self._messages[kind] += 1
        if kind in INTRODUCTIONS:
            assert isinstance(message, Introduction)  # not asked of each message: it takes as long as to decode one
            self._introduce(peer, message)
        elif client is None:
            raise Refused(UNEXPECTED, "nobody has said who this is; expected a register or join message first")
        elif client.number not in self.core.registry.clients:
            raise Refused(UNKNOWN, f"application {client.number} is forgotten; expected to register anew")
        elif isinstance(message, Inform) and message.store:
            raise Refused(INVALID, f"store {message.store!r} is not shared here; expected none, the coordinator's own")
        elif (event_of := EVENTS.get(kind)) is not None:
            overruns = client.overruns
            self.core.enter(self.now(), event_of(client, message))
            if client.overruns > overruns:
                self.logbook.overrun(client)
        elif isinstance(message, Ask):
            self._answer(peer, client, message)
        elif isinstance(message, Beat):
            self.core.enter(self.clock.now(), BeatEvent(client))  # not the date of a decision, as none follows from it
            peer.say(message)
        else:
            assert isinstance(message, Leave)
            self._leave(peer, client, message)

    def _answer(self, peer: Peer, client: Client, message: Ask) -> None:
        """Answer a question about an operation; it changes nothing, and the lease is renewed."""
        now = self.clock.now()
        self.core.enter(now, BeatEvent(client))
        self.core.advance(now)
        seen = outlook(self.core, client, message.volume, message.rounds)
        start, end = seen.forecast
        peer.say(Outlook(message.seq, self.core.bandwidth, seen.moving, seen.waiting, start, end))

    def disconnected(self, peer: Peer) -> None:
        """The connection of `peer` has ended."""
        self.connections.remove(peer)
        client = peer.client
        if client is not None and self._peers.get(client.number) is peer:
            del self._peers[client.number]
            if client.number in self.core.registry.clients:
                self.core.enter(self.now(), DisconnectEvent(client))
                self.logbook.client("disconnected", client, "has lost its connection")

    def _leave(self, peer: Peer, client: Client, message: Leave) -> None:
        self.core.enter(self.now(), LeaveEvent(client))
        self.logbook.client("left", client, "has left")
        peer.client = None
        self._peers.pop(client.number, None)
        peer.say(Left(message.seq))
        peer.hang_up()

    def _introduce(self, peer: Peer, message: Introduction) -> None:
        if message.version not in SERVED:
            spoken = " or ".join(map(str, SERVED))
            raise Refused(VERSION_UNKNOWN, f"version {message.version} is not spoken here; expected {spoken}")
        peer.version = message.version
        if isinstance(message, Control):
            self._command(peer, message)
            return
        if not peer.local and not hmac.compare_digest(message.token.encode(), self.token.encode()):
            self.connections.guesses.failed(peer.user, self.clock.now())
            raise Refused(DENIED, "the token is not right; expected the one in the coordinator's token file")
        if message.credential is not None:
            kind = message.credential.kind
            raise Refused(DENIED, f"nobody checks a credential of kind {kind!r} here; expected none")
        if peer.client is not None or peer.is_control:
            raise Refused(UNEXPECTED, "this connection has an owner already; expected one connection an application")
        if isinstance(message, Register):
            self._register(peer, message)
        else:
            self._join(peer, message)
        peer.introduced()

    def _command(self, peer: Peer, message: Control) -> None:
        """Carry out a command of the operator, or answer a user's question about its own applications."""
        own_only = not peer.is_operator
        if not peer.local or (own_only and message.command not in OF_USERS):
            raise Refused(DENIED, "only whoever runs the coordinator may ask this; expected its user, or root")
        if message.command not in QUESTIONS and (message.command, message.argument) != ("policy", ""):
            text = f"uid {peer.uid} gave the command {message.command} {message.argument}".rstrip()
            self.logbook.note("command", text, uid=peer.uid, command=message.command, argument=message.argument)
        peer.is_control = True
        peer.introduced()

        def say_when_committed(reply: Reply) -> None:
            self.now()  # a decision follows
            self._after_commit.append(lambda: peer.say(reply))

        say = say_when_committed if message.command in WRITTEN else peer.say
        self.control.reply(message, say, peer.uid if own_only else None)

    def _register(self, peer: Peer, message: Register) -> None:
        key = secrets.token_hex(16)
        event = RegisterEvent(
            message.job,
            nodes=message.nodes,
            user=message.user,
            uid=peer.uid,
            key_digest=_digest(key),
            bandwidth=message.bandwidth,
            elapsed=message.elapsed,
            progress=message.progress,
            lead=message.lead,
            dedicated_seconds=message.whole,
            group=message.group,
            gid=self.core.limits.proven_group(message.group, peer.gids),
        )
        self.core.check_registration(event)  # before another client loses its books for it
        self._make_room(peer)
        client = self.core.enter(self.now(), event)
        self.logbook.client("registered", client, f"registered, {peer.origin}", nodes=client.nodes)
        self._attach(peer, client, message.seq, key)

    def _join(self, peer: Peer, message: Join) -> None:
        client = self.core.registry.clients.get(message.application)
        known = client.key_digest if client is not None else ""
        right = hmac.compare_digest(known.encode(), _digest(message.key).encode())
        if client is None or not right or client.uid != peer.uid:
            raise Refused(UNKNOWN, f"application {message.application} with that key is not known; expected to register")
        before = self._peers.pop(client.number, None)
        if before is not None:
            before.client = None
            before.hang_up()
        gid = self.core.limits.proven_group(client.group, peer.gids)
        self.core.enter(self.now(), JoinEvent(client, message.operation, gid))
        self.logbook.client("joined", client, f"is back, {peer.origin}")
        self._attach(peer, client, message.seq, message.key)

    def _attach(self, peer: Peer, client: Client, seq: int, key: str) -> None:
        """Make the connection the client's; the client is told after the next commit."""
        peer.client = client
        self._peers[client.number] = peer
        reply = Registered(
            seq,
            client.number,
            key,
            self.settings.lease,
            self.core.policy.name,
            peer.version,
            longest_turn=_finite(self.settings.longest_turn),
            longest_round=_finite(self.settings.longest_round),
            addresses=tuple(filter(None, self.settings.addresses.split(","))),
            observing=self.core.observing,
        )
        self._after_commit.append(lambda: peer.say(reply))

    def _make_room(self, peer: Peer) -> None:
        """Where a limit is reached, drop the client that has been away for longest; Refused if none is away."""
        per_user = self.settings.max_applications_per_user if peer.local else self.settings.max_applications
        for limit, uid in ((per_user, peer.uid), (self.settings.max_applications, None)):
            members = [client for client in self.core.registry.clients.values() if uid is None or client.uid == uid]
            if len(members) < limit:
                continue
            away = [member for member in members if member.number not in self._peers and member.place == NO_PLACE]
            if not away:
                raise Refused(TOO_MANY, f"{len(members)} applications are here already; expected at most {limit}")
            self.core.enter(self.now(), LeaveEvent(min(away, key=lambda member: member.last_heard)))

    # Decisions

    def _decide(self) -> None:
        """Decide on all that has arrived, commit, and send; then sleep until the core or the journal needs it."""
        self._date = None
        self._note_gap()
        self._excuse_slowed()
        instructions = self.core.handle(self.clock.now())
        if instructions or self._writer.is_due:
            self._writer.commit()
        for send in self._after_commit:
            send()
        self._after_commit.clear()
        self._send(instructions)
        fault, self._fault = self._fault, self.core.decider.fault
        if self._fault and self._fault != fault:
            LOG.error("%s", self._fault)
        self._tell_reach()
        self._sleep()

    def _tell_reach(self) -> None:
        """Log that B as measured has changed, and that applications reach far less than they are granted."""
        core = self.core
        if core.bandwidth != self._bandwidth:
            LOG.warning("bandwidth: measured %.4g bytes/s, %.4g before", core.bandwidth, self._bandwidth)
            self._bandwidth = core.bandwidth
        if core.warning and not self._warning:
            LOG.warning("%s", core.warning)
        self._warning = core.warning

    def _send(self, instructions: Instructions) -> None:
        now, observing = self.core.now, self.core.observing
        for forget in instructions.forgets:
            client = forget.client
            self.logbook.client("forgotten", client, f"is sent away: {forget.reason}", reason=forget.reason)
            peer = self._peers.get(client.number)
            if peer is not None:
                peer.say(Forgotten(forget.reason))
                peer.hang_up()
        for warning in instructions.warnings:
            client = warning.client
            self.logbook.client("warned", client, f"is warned: {warning.text}", reason=warning.text)
            peer = self._peers.get(client.number)
            if peer is not None and peer.version >= 2:
                peer.say(Warned(warning.text))
        for grant in instructions.withheld:
            client = grant.client
            self._recent.append((now, client.number, client.job, grant.rate))
            self.logbook.client("withheld", client, f"would be granted {grant.rate:.4g} bytes/s", rate=grant.rate)
        for grant in instructions.grants:
            client = grant.client
            number = client.number
            if not observing:
                self._recent.append((now, number, client.job, grant.rate))
            peer = self._peers.get(number)
            if peer is not None:
                peer.say(protocol.Grant(grant.operation, grant.number, grant.rate))

    def _sleep(self) -> None:
        """Wake up at the next date of the core or the journal."""
        self._note_gap()
        date = min(self.core.next_date(), self._writer.next_date)
        if self._timer is not None and (self._awake_at > date or self._awake_at <= self.clock.now()):
            self._timer.cancel()
            self._timer = None
        if self._timer is None and date < math.inf:
            now = self.clock.now()
            self._awake_at = min(now + LONGEST_SLEEP, max(now, date))
            self._timer = asyncio.get_running_loop().call_later(self._awake_at - now, self._wake)

    def _wake(self) -> None:
        """Decide, but first read what has arrived.

        A process that was stopped finds its timers due before it looks at its sockets. So two rounds of the event loop go
        by: in the first the sockets are looked at, and the second comes after what they had.
        """
        self._note_gap()
        self._timer = None
        loop = asyncio.get_running_loop()
        loop.call_soon(loop.call_soon, self._decide)

    def _note_gap(self) -> None:
        """If the event loop has not run for long, send nobody away for a lease: clients were not heard meanwhile."""
        now = self.clock.now()
        late = now - self._awake_at
        if self._timer is not None and late > GAP * self.settings.lease:
            self._gaps.warn("did not run for %.3g s; nobody is sent away for the next %g s", late, self.settings.lease)
            self.core.leases.give_grace(now)
            self._awake_at = now

    def _excuse_slowed(self) -> None:
        """Who is read slowly is not silent: its messages wait for us, not we for it."""
        if self.connections.slowed and self.core.leases.next_date() <= (now := self.clock.now()):
            for peer in self.connections.slowed:
                client = peer.client
                if client is not None and client.number in self.core.registry.clients:
                    self.core.leases.excuse(now, client)


def _finite(limit: float) -> float | None:
    return limit if limit < math.inf else None


def _digest(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()
