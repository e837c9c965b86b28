"""All processes of one `penstock run` as one application of the coordinator.

A `Hub` listens on a socket in the folder of the run. The processes register with the hub as with a coordinator. The hub has
one connection to the coordinator for all of them. It divides the rate that the coordinator grants equally among the
processes that move data:

- The hub begins an operation of the job when a process has bytes to move. The volume of the operation is the sum of what the
  processes announce at that moment. The operation ends when this volume has moved, or when no process has had data to move
  for `HOLD_SECONDS`. So short processes in a row share one turn.
- The rates of the processes never add up to more than the rate of the job: the hub raises the rate of a process only after
  others have acknowledged a lower rate. It acknowledges a pause when every process has ended its round.
- A process that ends or is killed closes its connection, and the hub frees its part of the rate at once. If a process is
  stopped (SIGSTOP), the hub forgets it after `LEASE_SECONDS`.

If the hub dies, processes behave as when a coordinator dies: each waits for its patience and then goes on without a limit.
The hub does not listen before it has found a coordinator, so until then processes connect to nothing. Processes on other
nodes cannot reach the hub's socket; they connect to the coordinator themselves.
"""

from __future__ import annotations

import math
import os
import selectors
import socket
import threading
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final

from penstock.live.client.environment import (
    NAME_CHARACTERS,
    SOCKET_PATH_BYTES,
    Place,
    Unix,
    disabled,
    find_place,
    identify,
    printable,
)
from penstock.live.client.link import CHUNK, Link
from penstock.live.client.session import Session
from penstock.live.protocol import (
    MOST_ROUNDS,
    UNEXPECTED,
    UNKNOWN,
    Beat,
    Error,
    Grant,
    Inform,
    Join,
    Leave,
    Left,
    Lines,
    Malformed,
    Oversized,
    Register,
    Registered,
    Release,
    Reply,
    Report,
    Request,
    Yielded,
    decode_request,
    encode,
)

HOLD_SECONDS: Final = 0.01
"""The job gives its turn up when no process has had I/O for so long; a single process does the same."""
LEASE_SECONDS: Final = 3.0
"""Seconds of silence after which a process is forgotten."""
LOOK_SECONDS: Final = 1.0
"""Interval at which the hub looks for a coordinator while there is none."""
NO_LIMIT: Final = 1e18
"""The rate in bytes/s that tells a process that nothing limits it."""
LEAST_STEP: Final = 0.01
"""The hub raises the rate of a process only if it gains at least this part of an equal share; this saves messages."""
MOST_UNSENT: Final = 1 << 16
"""If more bytes than this wait to be sent to a process, the hub closes its connection."""


@dataclass(eq=False)
class Share:
    """The part of the job's rate that one process has, in bytes/s."""

    told: float = 0.0
    """The rate of the last grant."""
    held: float = 0.0
    """Upper limit of what the process may be using now: above `told` until the process acknowledges a reduced grant."""
    grant: int = 0
    """The number of the last grant."""
    lowered: int = 0
    """The number of the last grant that reduced the rate."""
    owed: bool = False
    """The process has announced an operation and waits for a grant; the hub must answer, even with a rate of 0."""

    def tell(self, rate: float) -> None:
        """Note a grant of `rate` bytes/s; the caller sends it."""
        self.grant += 1
        self.lowered = self.grant if rate < self.told else self.lowered
        self.told, self.held, self.owed = rate, max(self.held, rate), False

    def acknowledge(self, grant: int) -> None:
        """Note that the process has acknowledged `grant`, and with it all reductions up to this grant."""
        if grant >= self.lowered:
            self.held = self.told


def divide(rate: float, shares: Iterable[Share]) -> list[Share]:
    """Divide the rate of the job equally among processes.

    Args:
        rate: Bytes/s of all processes together.
        shares: The shares of the processes that move data.

    Returns:
        The shares whose processes must be sent a grant. The sum of `Share.held` never grows beyond `rate`.
    """
    shares = list(shares)
    each = min(rate / len(shares), NO_LIMIT) if shares else 0.0
    lower = [share for share in shares if share.told > each]
    for share in lower:
        share.tell(each)
    free = rate - math.fsum(share.held for share in shares)
    raised = []
    for share in shares:
        given = min(each, share.held + max(0.0, free))
        if given - share.told >= LEAST_STEP * each > 0.0:
            free -= max(0.0, given - share.held)
            share.tell(given)
            raised.append(share)
    owed = [share for share in shares if share.owed]
    for share in owed:
        share.tell(share.told)
    return lower + raised + owed


@dataclass(eq=False)
class JobProcess:
    """One process of the job, and its connection to the hub."""

    number: int
    connection: socket.socket
    since: float
    """When the process connected."""
    heard: float
    """When the hub last received data from the process."""
    lines: Lines = field(default_factory=Lines)
    out: bytes = b""
    waits: Register | None = None
    """The registration of the process, until the hub has answered it; then None."""
    share: Share = field(default_factory=Share)
    operation: int = 0
    """The number of its operation; 0 if the process has no data to move."""
    volume: int = 0
    rounds: int = 1
    moved: int = 0

    @property
    def left(self) -> int:
        """Bytes that the process has announced and not moved."""
        return max(0, self.volume - self.moved)

    def count(self, moved: float) -> int:
        """Note that `moved` bytes of the operation have moved in all; return how many of them are new."""
        more = max(0, int(moved) - self.moved)
        self.moved += more
        return more

    def end(self) -> None:
        """Note that the process has no more data to move, and free its share."""
        self.operation, self.share.told, self.share.held, self.share.owed = 0, 0.0, 0.0, False


class Hub:
    """Stands between the processes of a run and the coordinator; a context manager that listens in its block.

    Args:
        path: The socket to listen on.
        command: The program that is run, which names the job if nothing else does.
        name: The name of the job; None for Slurm's, or without Slurm for that of the program with the process id.
        nodes: Nodes of the job; None for the number that its first process announces.
        bandwidth: The highest rate that the job can use, in bytes/s; None for no limit.
        address: Where the coordinator is; None to find it from the environment.
    """

    def __init__(
        self,
        path: Path,
        command: str,
        *,
        name: str | None = None,
        nodes: int | None = None,
        bandwidth: float | None = None,
        address: str | None = None,
    ) -> None:
        self.coordinated = False
        """Whether a coordinator has coordinated the job at any time."""
        self.outages = 0
        """How many times the job lost its coordinator and went on without it."""
        self.used = False
        """Whether a process has registered."""
        self._path, self._address = path, address
        slurm = "SLURM_JOB_ID" in os.environ
        own = None if slurm else f"{Path(command).name}-{os.getpid()}"[-NAME_CHARACTERS:]
        self._identify = partial(identify, name if name is not None else own, bandwidth=bandwidth)
        self._nodes = nodes
        self._coordinator: Place | None = None
        """Where the coordinator was when the hub began to listen."""
        self._link: Link | None = None
        self._processes: dict[int, JobProcess] = {}
        self._made = 0
        self._patience = 0.0
        """Seconds that the job, and each process, waits for a coordinator that does not answer."""
        self._follows = False
        self._moved_at = -math.inf
        """When a process last had data to move."""
        self._listener: socket.socket | None = None
        self._ends = socket.socketpair()
        self._selector = selectors.DefaultSelector()
        self._stopped = False
        self._thread = threading.Thread(target=self._run, name="penstock-hub", daemon=True)

    def __enter__(self) -> Hub:
        for end in self._ends:
            end.setblocking(False)
        self._selector.register(self._ends[0], selectors.EVENT_READ)
        self._look()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped = True
        self._wake()
        self._thread.join()
        if self._link is not None:
            self._link.leave(1.0)

    # The connections

    def _place(self) -> Place | None:
        """Where the coordinator is; None if there is none."""
        place = Place(problem="disabled") if disabled() else find_place(self._address)
        if place.problem or (isinstance(place.address, Unix) and not os.path.lexists(place.address.path)):
            return None
        return place

    def _look(self) -> None:
        """Begin to listen if there is a coordinator and the hub does not listen yet."""
        if self._listener is not None or len(os.fsencode(self._path)) > SOCKET_PATH_BYTES:
            return
        self._coordinator = self._place()
        if self._coordinator is None:
            return
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.setblocking(False)
        self._listener.bind(str(self._path))
        self._listener.listen(socket.SOMAXCONN)
        self._selector.register(self._listener, selectors.EVENT_READ)

    def _wake(self) -> None:
        with suppress(OSError):
            self._ends[1].send(b"!")

    def _run(self) -> None:
        try:
            while not self._stopped:
                for key, events in self._selector.select(self._timeout()):
                    self._serve(key.fileobj, key.data, events)
                self._look()
                self._forget_silent()
                if self._link is not None:
                    self._settle(self._link)
        finally:  # also after an unexpected error: the processes then go on without the hub
            for process in list(self._processes.values()):
                self._drop(process)
            for each in (*self._ends, self._listener, self._selector):
                if each is not None:
                    each.close()

    def _timeout(self) -> float:
        session = self._link.session if self._link is not None else None
        if session is None or (session.operation is None and not self._processes):
            return LOOK_SECONDS
        if any(process.waits for process in self._processes.values()):
            return min(self._patience / 4.0, LEASE_SECONDS / 10.0)
        return HOLD_SECONDS if session.operation is not None and not self._moving() else LEASE_SECONDS / 10.0

    def _serve(self, file: Any, process: JobProcess | None, events: int) -> None:
        if file is self._listener:
            self._accept()
        elif process is None:
            with suppress(BlockingIOError):
                self._ends[0].recv(CHUNK)
        else:
            if events & selectors.EVENT_WRITE:
                self._send(process)
            if events & selectors.EVENT_READ:
                self._hear(process)

    def _accept(self) -> None:
        assert self._listener is not None
        try:
            connection, _ = self._listener.accept()
        except OSError:  # no descriptor is left: the process that waits goes on after its patience
            time.sleep(HOLD_SECONDS)
            return
        connection.setblocking(False)
        self._made, now = self._made + 1, time.monotonic()
        process = self._processes[self._made] = JobProcess(self._made, connection, now, now)
        self._selector.register(connection, selectors.EVENT_READ, process)

    def _hear(self, process: JobProcess) -> None:
        process.heard = time.monotonic()
        try:
            data = process.connection.recv(CHUNK)
            for line in process.lines.feed(data):
                self._apply(process, decode_request(line))
        except BlockingIOError:
            return
        except (OSError, Malformed, Oversized):
            data = b""
        if not data:
            self._drop(process)

    def _say(self, process: JobProcess, message: Reply) -> None:
        process.out += encode(message)
        self._send(process)

    def _send(self, process: JobProcess) -> None:
        with suppress(OSError):  # a lost connection is noticed when it is read
            process.out = process.out[process.connection.send(process.out) :]
        if process.number not in self._processes:
            return
        wanted = selectors.EVENT_READ | (selectors.EVENT_WRITE if process.out else 0)
        if len(process.out) > MOST_UNSENT:
            self._drop(process)
        elif self._selector.get_key(process.connection).events != wanted:
            self._selector.modify(process.connection, wanted, process)

    def _drop(self, process: JobProcess) -> None:
        if self._processes.pop(process.number, None) is not None:
            self._selector.unregister(process.connection)
            process.connection.close()
            process.end()

    def _forget_silent(self) -> None:
        now = time.monotonic()
        for process in [each for each in self._processes.values() if now - each.heard > LEASE_SECONDS]:
            self._drop(process)

    # What the processes say

    def _apply(self, process: JobProcess, message: Request) -> None:
        match message:
            case Register():
                process.waits, self.used = message, True
                self._join(message)
            case Inform():
                self._inform(process, message)
            case Report():
                self._advance(process.count(message.moved))
            case Yielded():
                process.share.acknowledge(message.grant)
            case Release():
                self._advance(process.count(process.volume if message.moved is None else message.moved))
                process.end()
            case Leave():
                self._say(process, Left(message.seq))
                process.end()
            case Beat():
                self._say(process, Beat(message.seq))
            case Join():
                self._say(process, Error(UNKNOWN, "this process was forgotten; expected a register message", message.seq))
            case _:
                self._say(process, Error(UNEXPECTED, "processes of a run do not ask for this", message.seq))

    def _join(self, first: Register) -> None:
        """Connect to the coordinator when the `first` process registers.

        If the coordinator has gone meanwhile, the processes go on at once.
        """
        place = self._coordinator
        if place is None or self._link is not None:
            return
        self._patience = place.patience
        identity = self._identify(nodes=self._nodes if self._nodes is not None else first.nodes)
        session = Session(identity, place.patience, time.monotonic(), where=printable(str(place.address)), token=place.token)
        self._link = Link(session, place.address, is_default=place.is_default)
        self._link.listeners.add(self._wake)
        self._link.start()

    def _inform(self, process: JobProcess, message: Inform) -> None:
        if message.operation != process.operation:
            process.end()
            process.operation, process.moved = message.operation, int(message.moved)
        process.volume, process.rounds = int(message.volume), message.rounds
        process.share.owed = True

    def _advance(self, count: int) -> None:
        assert self._link is not None
        with self._link.lock:
            operation = self._link.session.operation
            if operation is not None:
                operation.advance(count)

    # The job's operation

    def _moving(self) -> list[JobProcess]:
        return [process for process in self._processes.values() if process.operation]

    def _settle(self, link: Link) -> None:
        """Begin, continue or end the operation of the job, and send the resulting grants to the processes."""
        moving = self._moving()
        by_share = {process.share: process for process in moving}
        with link.lock:
            session, now = link.session, link.clock()
            self._note(session, now)
            self._moved_at = now if moving else self._moved_at
            told = divide(self._rate(session, moving, now), by_share)
            is_held = any(share.held > 0.0 for share in by_share)
            operation = session.operation
            if operation is not None:
                operation.in_round = is_held
                if operation.pausing and not is_held:
                    session.round_ended(now)
                if self._ends_now(session, moving, now) and not is_held:
                    session.end()
                    self._wake()  # what is left begins as another operation
            answers = session.registered or session.uncoordinated(now)
        link.send()
        now = time.monotonic()
        for share in told:
            process = by_share[share]
            self._say(process, Grant(process.operation, share.grant, share.told))
        waiting = [process for process in self._processes.values() if process.waits is not None]
        for process in waiting:
            if answers or now - process.since >= self._patience / 2.0:
                self._welcome(process, session)

    def _rate(self, session: Session, moving: list[JobProcess], now: float) -> float:
        """Bytes/s that all processes together may use now; begins an operation if processes have data and there is none."""
        if session.uncoordinated(now):
            if session.operation is not None and self._ends_now(session, moving, now):
                session.end()
            return math.inf
        if session.operation is None and moving and not any(process.share.held for process in moving):
            volume = max(1, sum(process.left for process in moving))
            in_rounds = sum(max(1.0, process.volume / process.rounds) for process in moving)
            session.begin(volume, min(max(1, math.ceil(volume / in_rounds)), MOST_ROUNDS), now)
        operation = session.operation
        if operation is None or operation.pausing or self._ends_now(session, moving, now):
            return 0.0
        return session.rate(now)

    def _ends_now(self, session: Session, moving: list[JobProcess], now: float) -> bool:
        operation = session.operation
        assert operation is not None
        return operation.moved >= operation.volume or (not moving and now - self._moved_at >= HOLD_SECONDS)

    def _note(self, session: Session, now: float) -> None:
        """Note whether a coordinator coordinates the job now, and count an outage if it is lost."""
        alone = session.uncoordinated(now)
        self.outages += alone and self._follows
        self._follows = session.registered and not alone
        self.coordinated = self.coordinated or self._follows

    def _welcome(self, process: JobProcess, session: Session) -> None:
        """Answer the registration of a process, when the coordinator has answered or half of the patience is over."""
        assert process.waits is not None
        answer = Registered(
            process.waits.seq,
            process.number,
            "",
            LEASE_SECONDS,
            session.policy,
            process.waits.version,
            longest_round=session.longest_round,
        )
        process.waits = None
        self._say(process, answer)
