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
import json
import logging
import math
import os
import secrets
from collections import Counter, deque
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeAlias

from penstock.live import protocol
from penstock.live.client import address
from penstock.live.client.transfer import SLICE
from penstock.live.core.core import Core
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
from penstock.live.core.measuring import MeasuredBandwidth
from penstock.live.core.registry import NO_PLACE, Client
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
    Report,
    Request,
    Warned,
    Yielded,
)
from penstock.live.server.control import ControlCommands
from penstock.live.server.journal import Clock, Journal, JournalWriter
from penstock.live.server.listening import feed_watchdog, listen_locally, listen_remotely, notify
from penstock.live.server.peer import Connections, Peer
from penstock.live.server.settings import AUTO, ServerSettings
from penstock.live.server.snapshot import RecentGrant, Snapshot, Traffic, take_snapshot
from penstock.model import Degradation, InputError
from penstock.model.files import read

LOG: Final = logging.getLogger("penstock.coordinator")
MIN_UPDATE_INTERVAL: Final = 2.0 * SLICE
"""Seconds for which small changes of a rate are deferred: the time in which a client moves two slices."""
LONGEST_SLEEP: Final = 3600.0
MOST_RECENT: Final = 500
"""Grants that a snapshot shows."""

Introduction: TypeAlias = Register | Join | Control
"""Messages that say who a peer is."""
EVENTS: Final[dict[type, Callable[[Client, Any], Event]]] = {
    Inform: lambda client, message: InformEvent(client, message.operation, message.volume, message.rounds, message.moved),
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
        self.token = address.read_token(settings.token_file) if settings.token_file else ""
        if settings.listen and not self.token:
            raise InputError("listen", "over TCP the token says who may come; expected --token-file FILE, of mode 0600")
        self.journal = Journal(settings.journal)
        try:
            self.clock, self.core = _from_journal(self.journal, settings)
        except BaseException:
            self.journal.close()
            raise
        self.connections = Connections(settings, self.clock)
        self.control = ControlCommands(self.core, self.now, self.snapshot, self.journal, self.stop)
        self._writer = JournalWriter(self.journal, self.clock, self.core, settings.policy)
        self._messages: Counter[type] = Counter()
        self._recent: deque[RecentGrant] = deque(maxlen=MOST_RECENT)
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

    # Life

    async def run(self, ready: Callable[[], Any] = lambda: None) -> None:
        """Listen until `stop` is called; `ready` is called when clients can connect."""
        async with contextlib.AsyncExitStack() as stack:
            stack.callback(self.journal.close)
            await listen_locally(Path(self.settings.socket), lambda: Peer(self, local=True), stack)
            if self.settings.listen:
                await listen_remotely(self.settings.listen, lambda: Peer(self, local=False), stack)
            if self.settings.http:
                from penstock.live.server.http import serving

                await stack.enter_async_context(serving(self.settings.http, self.snapshot))
            watchdog = asyncio.create_task(feed_watchdog())
            stack.callback(watchdog.cancel)
            self._decide()
            gc.collect()
            gc.freeze()  # else the collector visits the compiler's half a million objects every few minutes, for 60 ms
            ready()
            notify(f"READY=1\nSTATUS=sharing {self.core.bandwidth:g} bytes/s by {self.core.policy.name}")
            await self._stopped.wait()
            notify("STOPPING=1")
            for peer in list(self.connections.peers):
                peer.hang_up()
            self._decide()

    def stop(self) -> None:
        """End `run`. Clients go on by themselves and reconnect to the next coordinator."""
        self._stopped.set()

    def now(self) -> float:
        """The date of all that has arrived since the last decision; the next decision follows it soon."""
        if self._date is None:
            self._date = self.clock.now()
            asyncio.get_running_loop().call_soon(self._decide)
        return self._date

    def snapshot(self, *, applications: bool = True) -> Snapshot:
        """The coordinator as others may see it, with an entry for each client or without."""
        self.core.advance(self.now())
        traffic = Traffic(
            messages={kind.__name__.lower(): count for kind, count in self._messages.items()},
            recent=tuple(self._recent),
            connections=len(self.connections.peers),
            refused_messages=self.connections.refused,
            cut_off=self.connections.cut_off,
            journal_failure=self.journal.failure,
        )
        return take_snapshot(self.core, traffic, applications=applications)

    # Messages

    def handle(self, peer: Peer, message: Request) -> None:
        """Enter a message into the core; Refused if it cannot be."""
        kind, client = type(message), peer.client
        self._messages[kind] += 1
        if isinstance(message, Introduction):
            self._introduce(peer, message)
        elif client is None:
            raise Refused(UNEXPECTED, "nobody has said who this is; expected a register or join message first")
        elif client.number not in self.core.registry.clients:
            raise Refused(UNKNOWN, f"application {client.number} is forgotten; expected to register anew")
        elif isinstance(message, Inform) and message.store:
            raise Refused(INVALID, f"store {message.store!r} is not shared here; expected none, the coordinator's own")
        elif kind in EVENTS:
            self.core.enter(self.now(), EVENTS[kind](client, message))
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
        """A connection has ended."""
        self.connections.remove(peer)
        client = peer.client
        if client is not None and self._peers.get(client.number) is peer:
            del self._peers[client.number]
            if client.number in self.core.registry.clients:
                self.core.enter(self.now(), DisconnectEvent(client))

    def _leave(self, peer: Peer, client: Client, message: Leave) -> None:
        self.core.enter(self.now(), LeaveEvent(client))
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
            if not peer.local or peer.uid not in (0, os.getuid()):
                raise Refused(DENIED, "only whoever runs the coordinator may ask this; expected its user, or root")
            peer.is_control = True
            peer.introduced()
            self.control.reply(message, peer.say)
            return
        if not peer.local and not hmac.compare_digest(message.token.encode(), self.token.encode()):
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
        )
        self.core.check_registration(event)  # before another client loses its books for it
        self._make_room(peer)
        self._attach(peer, self.core.enter(self.now(), event), message.seq, key)

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
        self.core.enter(self.now(), JoinEvent(client, message.operation))
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
        for forget in instructions.forgets:
            client = forget.client
            LOG.info("%s (application %d): %s", client.job, client.number, forget.reason)
            peer = self._peers.get(client.number)
            if peer is not None:
                peer.say(Forgotten(forget.reason))
                peer.hang_up()
        for warning in instructions.warnings:
            client = warning.client
            LOG.warning("%s (application %d): %s", client.job, client.number, warning.text)
            peer = self._peers.get(client.number)
            if peer is not None and peer.version >= 2:
                peer.say(Warned(warning.text))
        for grant in instructions.withheld:
            client = grant.client
            self._recent.append(RecentGrant(self.core.now, client.number, client.job, grant.rate))
            LOG.info("%s (application %d): would be granted %.4g bytes/s", client.job, client.number, grant.rate)
        for grant in instructions.grants:
            client = grant.client
            if not self.core.observing:
                self._recent.append(RecentGrant(self.core.now, client.number, client.job, grant.rate))
            peer = self._peers.get(client.number)
            if peer is not None:
                peer.say(protocol.Grant(grant.operation, grant.number, grant.rate))

    def _sleep(self) -> None:
        """Wake up at the next date of the core or the journal."""
        date = min(self.core.next_date(), self._writer.next_date)
        if self._timer is not None and (self._awake_at > date or self._awake_at <= self.clock.now()):
            self._timer.cancel()
            self._timer = None
        if self._timer is None and date < math.inf:
            now = self.clock.now()
            self._awake_at = min(now + LONGEST_SLEEP, max(now, date))
            self._timer = asyncio.get_running_loop().call_later(self._awake_at - now, self._decide)


def _from_journal(journal: Journal, settings: ServerSettings) -> tuple[Clock, Core]:
    """Clock and core as the journal has them, or new ones.

    A policy that was changed at run time survives a restart with the same settings, if it still can serve.
    """
    present, clients = journal.load()
    if present is None:
        clock = Clock()
        return clock, _core(settings, settings.policy, clock.now(), None)
    clock = Clock(present.mark)
    policies = dict.fromkeys([*([present.policy] if present.configured == settings.policy else []), settings.policy])
    for policy in policies:
        try:
            core = _core(settings, policy, clock.now(), present.bandwidth)
            core.registry.next_number = present.next_number
            core.restore(clients, present.departed)
            return clock, core
        except InputError as error:
            if policy == settings.policy:
                raise
            LOG.error("%s; going on with %s", error, settings.policy)
    raise AssertionError("the settings name a policy")


def _core(settings: ServerSettings, policy: str, now: float, last_bandwidth: float | None) -> Core:
    """The core of these settings; a B that is measured starts from the last one."""
    measured = None
    if settings.bandwidth == AUTO:
        if settings.degradation:
            raise InputError("degradation", "it is a part of a known bandwidth; expected --bandwidth RATE instead of auto")
        measured = MeasuredBandwidth(last_bandwidth or settings.first_bandwidth or None)
    return Core(
        policy,
        measured.bandwidth if measured is not None else settings.bandwidth,
        node_bandwidth=settings.node_bandwidth,
        lease=settings.lease,
        keep=settings.keep,
        keep_most=settings.max_applications,
        min_update_interval=MIN_UPDATE_INTERVAL,
        limits=settings.limits,
        workload=read(settings.workload) if settings.workload else None,
        now=now,
        degradation=Degradation.of(json.loads(settings.degradation)) if settings.degradation else None,
        measured=measured,
        observe=settings.observe,
    )


def _finite(limit: float) -> float | None:
    return limit if limit < math.inf else None


def _digest(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()
