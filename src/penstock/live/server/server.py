"""The server: sockets around the core. One thread, one event loop.

Messages are entered into the core as they arrive. When all that has arrived is entered, the core decides once; what it
decides is committed to the journal and then sent. Under load more messages share a decision, and none waits for a timer.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import hashlib
import hmac
import inspect
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
from penstock.live.core.clients import NO_PLACE, Client, ForgetInstruction, Refused
from penstock.live.core.core import Core
from penstock.live.protocol import (
    DENIED,
    TOO_MANY,
    UNEXPECTED,
    UNKNOWN,
    VERSION,
    VERSION_UNKNOWN,
    Answer,
    Beat,
    Control,
    Error,
    Forgotten,
    Inform,
    Join,
    Leave,
    Left,
    Register,
    Registered,
    Release,
    Report,
    Request,
    Yielded,
)
from penstock.live.server import control
from penstock.live.server.journal import Clock, Journal, JournalEntry, Present
from penstock.live.server.listening import listen_locally, listen_remotely, notify, watchdog_seconds
from penstock.live.server.peer import Bucket, Peer
from penstock.live.server.settings import ServerSettings
from penstock.model import InputError
from penstock.model.files import read

LOG: Final = logging.getLogger("penstock.coordinator")
STRANGERS: Final = 64
"""Connections of a user beyond those of its applications: who is about to register, or asks questions."""
CALM: Final = 2.0 * SLICE
"""Seconds for which an application is spared small changes of its rate: two slices of what it moves at once."""
LONGEST_SLEEP: Final = 3600.0
MOST_UNWRITTEN: Final = 10_000
"""Ended operations that wait for a journal that cannot be written."""
RETRY_SECONDS: Final = 1.0
"""Between two tries to write a journal that fails."""
MOST_RECENT: Final = 500
"""Grants that are remembered for whoever looks."""


Introduction: TypeAlias = Register | Join | Control
"""Messages that say who a peer is."""


class Server:
    """A running coordinator."""

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
        self.cut_off = 0
        self.refused = 0
        self.messages: Counter[type] = Counter()
        self.recent: deque[tuple[float, int, str, float]] = deque(maxlen=MOST_RECENT)
        """The latest grants: date, application, its job, bytes/s."""
        self.peers: set[Peer] = set()
        self._connections: Counter[int | str] = Counter()
        self._date: float | None = None
        self._written_policy = ""
        self._try_again = 0.0
        self._at: dict[int, Peer] = {}
        self._buckets: dict[int | str, Bucket] = {}
        self._after_commit: list[Callable[[], None]] = []
        self._timer: asyncio.TimerHandle | None = None
        self._awake_at = 0.0
        self._stopped = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._fault: str | None = None

    # Life

    async def run(self, ready: Callable[[], Any] = lambda: None) -> None:
        """Listen until told to stop; `ready` is called when clients can come."""
        async with contextlib.AsyncExitStack() as stack:
            stack.callback(self.journal.close)
            await listen_locally(Path(self.settings.socket), lambda: Peer(self, local=True), stack)
            if self.settings.listen:
                await listen_remotely(self.settings.listen, lambda: Peer(self, local=False), stack)
            if self.settings.http:
                from penstock.live.server.http import serving

                await stack.enter_async_context(serving(self))
            watchdog = asyncio.create_task(self._feed_watchdog())
            stack.callback(watchdog.cancel)
            self._decide()
            gc.collect()
            gc.freeze()  # else the compiler's half a million objects are looked through every few minutes, for 60 ms
            ready()
            notify(f"READY=1\nSTATUS=sharing {self.core.bandwidth:g} bytes/s by {self.core.policy.name}")
            await self._stopped.wait()
            notify("STOPPING=1")
            for peer in list(self.peers):
                peer.hang_up()
            self._decide()

    def stop(self) -> None:
        """End `run`; clients go on by themselves and come back to the next coordinator."""
        self._stopped.set()

    async def _feed_watchdog(self) -> None:
        seconds = watchdog_seconds()
        while seconds > 0.0:
            notify("WATCHDOG=1")
            await asyncio.sleep(seconds / 2.0)

    def now(self) -> float:
        """The date of what has arrived since the last decision: all of it is one, and a decision follows it."""
        if self._date is None:
            self._date = self.clock.now()
            asyncio.get_running_loop().call_soon(self._decide)
        return self._date

    # Peers

    def admit(self, peer: Peer) -> bool:
        """Whether there is room for one more connection of this user."""
        self.peers.add(peer)
        self._connections[peer.user] += 1
        return self._connections[peer.user] <= self.settings.max_applications_per_user + STRANGERS

    def bucket(self, user: int | str) -> Bucket:
        """The messages that all peers of a user may send."""
        if user not in self._buckets:
            self._buckets[user] = Bucket(self.settings.message_rate_per_user, self.clock.now())
        return self._buckets[user]

    def gone(self, peer: Peer) -> None:
        """A connection has ended."""
        self.peers.discard(peer)
        self._connections[peer.user] -= 1
        if self._connections[peer.user] <= 0:
            del self._connections[peer.user]
            self._buckets.pop(peer.user, None)
        application = peer.application
        if application is not None and self._at.get(application.number) is peer:
            del self._at[application.number]
            if application.number in self.core.applications:
                self.core.lost(self.now(), application)

    def handle(self, peer: Peer, message: Request) -> None:
        """Enter a message; Refused if it cannot be."""
        kind, application = type(message), peer.application
        self.messages[kind] += 1
        if isinstance(message, Introduction):
            self._introduce(peer, message)
        elif application is None:
            raise Refused(UNEXPECTED, "nobody has said who this is; expected a register or join message first")
        elif application.number not in self.core.applications:
            raise Refused(UNKNOWN, f"application {application.number} is forgotten; expected to register anew")
        else:
            ENTERED[kind](self, peer, application, message)

    def leave(self, peer: Peer, application: Client, message: Leave) -> None:
        """An application ends."""
        self.core.leave(self.now(), application)
        peer.application = None
        self._at.pop(application.number, None)
        peer.say(Left(message.seq))
        peer.hang_up()

    def beat(self, peer: Peer, application: Client, message: Beat) -> None:
        """A sign of life, returned; it changes nothing that a decision would be about."""
        self.core.alive(self.clock.now(), application)
        peer.say(message)

    def _introduce(self, peer: Peer, message: Introduction) -> None:
        if message.version != VERSION:
            raise Refused(VERSION_UNKNOWN, f"version {message.version} is not spoken here; expected {VERSION}")
        if isinstance(message, Control):
            if not peer.local or peer.uid not in (0, os.getuid()):
                raise Refused(DENIED, "only whoever runs the coordinator may ask this; expected its user, or root")
            peer.is_control = True
            peer.introduced()
            self._answer(peer, message)
            return
        if not peer.local and not hmac.compare_digest(message.token.encode(), self.token.encode()):
            raise Refused(DENIED, "the token is not right; expected the one in the coordinator's token file")
        if peer.application is not None or peer.is_control:
            raise Refused(UNEXPECTED, "this connection has an owner already; expected one connection an application")
        if isinstance(message, Register):
            self._register(peer, message)
        else:
            self._join(peer, message)
        peer.introduced()

    def _answer(self, peer: Peer, message: Control) -> None:
        """Carry out an order; one that takes long, as a policy that must be compiled, beside everything else."""
        body = control.answer(self, message.command, message.argument)
        if not inspect.isawaitable(body):
            peer.say(Answer(message.seq, body))
            return

        async def later() -> None:
            try:
                peer.say(Answer(message.seq, await body))
            except Refused as error:
                peer.say(Error(error.code, str(error), message.seq))

        task = asyncio.get_running_loop().create_task(later())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _register(self, peer: Peer, message: Register) -> None:
        self.core.check_newcomer(
            message.job, message.user, message.nodes, message.bandwidth, message.elapsed, message.progress
        )
        self._make_room(peer)
        key = secrets.token_hex(16)
        application = self.core.register(
            self.now(),
            message.job,
            nodes=message.nodes,
            user=message.user,
            uid=peer.uid,
            key_digest=_digest(key),
            bandwidth=message.bandwidth,
            elapsed=message.elapsed,
            progress=message.progress,
            lead=message.lead,
            whole=message.whole,
        )
        self._seat(peer, application, message.seq, key)

    def _join(self, peer: Peer, message: Join) -> None:
        application = self.core.applications.get(message.application)
        known = application.key_digest if application is not None else ""
        right = hmac.compare_digest(known.encode(), _digest(message.key).encode())
        if application is None or not right or application.uid != peer.uid:
            raise Refused(UNKNOWN, f"application {message.application} with that key is not known; expected to register")
        before = self._at.pop(application.number, None)
        if before is not None:
            before.application = None
            before.hang_up()
        self.core.join(self.now(), application, message.operation)
        self._seat(peer, application, message.seq, message.key)

    def _seat(self, peer: Peer, application: Client, seq: int, key: str) -> None:
        """The connection is the application's; it is told so when that is written down."""
        peer.application = application
        self._at[application.number] = peer
        reply = Registered(seq, application.number, key, self.settings.lease, self.core.policy.name)
        self._after_commit.append(lambda: peer.say(reply))

    def _make_room(self, peer: Peer) -> None:
        """Where a limit is reached, who has been away for longest loses its books; Refused if there is nobody such."""
        per_user = self.settings.max_applications_per_user if peer.local else self.settings.max_applications
        for limit, uid in ((per_user, peer.uid), (self.settings.max_applications, None)):
            members = [a for a in self.core.applications.values() if uid is None or a.uid == uid]
            if len(members) < limit:
                continue
            away = [member for member in members if member.number not in self._at and member.place == NO_PLACE]
            if not away:
                raise Refused(TOO_MANY, f"{len(members)} applications are here already; expected at most {limit}")
            self.core.leave(self.now(), min(away, key=lambda member: member.heard))

    # Decisions

    def _decide(self) -> None:
        """Decide when all that has arrived is entered, write it down, and tell."""
        core, self._date = self.core, None
        instructions = core.decide(self.clock.now())
        if core.changed or instructions or core.chosen != self._written_policy or self.journal.failure:
            self._commit()
        for said in self._after_commit:
            said()
        self._after_commit.clear()
        for instruction in instructions:
            number = instruction.application.number
            peer = self._at.get(number)
            if isinstance(instruction, ForgetInstruction):
                LOG.info("%s (application %d): %s", instruction.application.job, number, instruction.reason)
                if peer is not None:
                    peer.say(Forgotten(instruction.reason))
                    peer.hang_up()
                continue
            self.recent.append((core.now, number, instruction.application.job, instruction.rate))
            if peer is not None:
                peer.say(protocol.Grant(instruction.operation, instruction.number, instruction.rate))
        self._tell_faults()
        self._sleep()

    def _commit(self) -> None:
        core, mark, before = self.core, self.clock.mark(), self.journal.failure
        if before and mark.now < self._try_again:
            core.written()
            del core.passages[:-MOST_UNWRITTEN]
            return
        present = Present(
            now=mark.now,
            monotonic=mark.monotonic,
            wall=mark.wall,
            boot=mark.boot,
            bandwidth=core.bandwidth,
            policy=core.chosen,
            configured=self.settings.policy,
            next_number=core.next_number,
            departed=core.departed,
        )
        whole = self.journal.is_long
        self.journal.commit(JournalEntry(present, *core.unwritten(whole=whole), whole), core.passages)
        core.written()  # what a failing journal misses is written when it can be, all anew
        self._written_policy = core.chosen
        if not self.journal.failure:
            core.passages.clear()
            return
        self._try_again = mark.now + RETRY_SECONDS
        if not before:
            LOG.error("journal %s: %s; going on without it", self.journal.path, self.journal.failure)

    def _tell_faults(self) -> None:
        if self.core.fault != self._fault:
            self._fault = self.core.fault
            if self._fault:
                LOG.error("%s", self._fault)

    def _sleep(self) -> None:
        """Wake up when the core wants to, though nothing happens."""
        date = min(self.core.next_date(), self._try_again if self.journal.failure else math.inf)
        if self._timer is not None and (self._awake_at > date or self._awake_at <= self.clock.now()):
            self._timer.cancel()
            self._timer = None
        if self._timer is None and date < math.inf:
            now = self.clock.now()
            self._awake_at = min(now + LONGEST_SLEEP, max(now, date))
            self._timer = asyncio.get_running_loop().call_later(self._awake_at - now, self._decide)


ENTERED: Final[dict[type, Callable[[Server, Peer, Client, Any], None]]] = {
    Inform: lambda server, _, one, m: server.core.inform(server.now(), one, m.operation, m.volume, m.rounds, m.moved),
    Report: lambda server, _, one, m: server.core.report(server.now(), one, m.operation, m.moved),
    Yielded: lambda server, _, one, m: server.core.yielded(server.now(), one, m.grant),
    Release: lambda server, _, one, m: server.core.release(server.now(), one, m.operation, m.moved),
    Leave: Server.leave,
    Beat: Server.beat,
}
"""How the messages of a known application are entered."""


def _from_journal(journal: Journal, settings: ServerSettings) -> tuple[Clock, Core]:
    """Time and state as they were, or as they begin. A policy that was changed outlives a restart with the same settings."""
    present, applications = journal.load()
    if present is None:
        clock = Clock()
        return clock, _core(settings, settings.policy, clock.now())
    clock = Clock(present.mark)
    policies = dict.fromkeys([*([present.policy] if present.configured == settings.policy else []), settings.policy])
    for policy in policies:
        try:
            core = _core(settings, policy, clock.now())
            core.next_number = present.next_number
            core.restore(applications, present.departed)
            return clock, core
        except InputError as error:
            if policy == settings.policy:
                raise
            LOG.error("%s; going on with %s", error, settings.policy)
    raise AssertionError("the settings name a policy")


def _core(settings: ServerSettings, policy: str, now: float) -> Core:
    return Core(
        policy,
        settings.bandwidth,
        node_bandwidth=settings.node_bandwidth,
        lease=settings.lease,
        keep=settings.keep,
        keep_most=settings.max_applications,
        calm=CALM,
        workload=read(settings.workload) if settings.workload else None,
        now=now,
    )


def _digest(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()
