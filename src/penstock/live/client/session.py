"""One application as its client sees it: messages in, messages out, and the rate that it may use now.

A `Session` has no socket, no clock and no thread: its holder tells it what happened and when (seconds, never going back)
and asks it what to send. A grant above 0 takes effect at once. A pause takes effect between two rounds: the current
round goes on at the rate it had. A lower grant is acknowledged with `Yielded`, once, when it has taken effect. When the
coordinator is lost, the client keeps its rate until its patience ends (`penstock.live.client.outage`). A pause from a
live coordinator has no limit.

The `Outbox` numbers messages in the order in which they are sent and remembers those that may be refused.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Final, TypeAlias

from penstock.live.client.outage import OutageTimer
from penstock.live.client.registration import Identity
from penstock.live.client.transfer import Operation
from penstock.live.protocol import (
    DENIED,
    INVALID,
    TOO_MANY,
    UNKNOWN,
    VERSION,
    VERSION_UNKNOWN,
    Beat,
    Error,
    Forgotten,
    Grant,
    Inform,
    Join,
    Leave,
    Left,
    Register,
    Registered,
    Release,
    Reply,
    Report,
    Request,
    Yielded,
)

Unnumbered: TypeAlias = Callable[..., Request]
"""Makes a message when it is given its `seq`."""


class Outbox:
    """The messages to send on one connection; `clear` starts another."""

    def __init__(self) -> None:
        self._waiting: list[Unnumbered] = []
        self._seq = 0
        self._questions: dict[int, Request] = {}

    def clear(self) -> None:
        """Drop all messages and number from 1 again: there is a new connection, or none."""
        self._waiting, self._seq, self._questions = [], 0, {}

    def post(self, *messages: Unnumbered) -> None:
        """Queue messages."""
        self._waiting += messages

    def take(self) -> tuple[list[Request], bool]:
        """The queued messages with their numbers, and whether any of them needs an answer."""
        messages = []
        for make in self._waiting:
            self._seq += 1
            message = make(seq=self._seq)
            if isinstance(message, Register | Join | Inform):
                self._questions[self._seq] = message
            messages.append(message)
        self._waiting = []
        return messages, any(isinstance(message, Register | Join | Inform | Beat) for message in messages)

    def question(self, seq: int) -> Request | None:
        """The message of this number, if the coordinator may refuse it."""
        return self._questions.pop(seq, None)

    def all_answered(self) -> None:
        """Forget the messages sent so far: none of them will be refused."""
        self._questions.clear()


SHORTEST_BEAT: Final = 0.05
"""Seconds between two signs of life, at least."""
REPORT_SECONDS: Final = 0.1
"""Seconds between two reports, at least."""
RETRY_REFUSED: Final = 5.0
"""Seconds after which a client that was refused tries again."""
PERMANENT: Final = (VERSION_UNKNOWN, DENIED, TOO_MANY, INVALID)
"""Errors that trying again at once does not cure."""


class Session:
    """The state of one application.

    Args:
        identity: What the application registers with.
        patience: Seconds to wait for a coordinator that does not answer.
        now: The present date, in seconds.
        where: The address of the coordinator, for messages to people.
        token: Opens a coordinator over TCP.
    """

    def __init__(self, identity: Identity, patience: float, now: float, *, where: str = "", token: str = "") -> None:
        self.identity = identity
        self.disabled = False
        self.connected = False
        self.registered = False
        self.leaving = False
        self.left = False
        self.application: int | None = None
        self.policy = ""
        self.operation: Operation | None = None
        self.changes = 0
        """Counts what may have changed the rate."""
        self.hang_up: float | None = None
        """Not None when the connection must be closed: the seconds to wait, at least, before the next one."""
        self.notices: list[tuple[int, str]] = []
        """(logging level, text) for people; the holder empties the list."""
        self._outage = OutageTimer(patience, where, now)
        self._token = token
        self._key = ""
        self._born = self._last_heard = now
        self._operations = 0
        self._grant = 0
        self._outbox = Outbox()
        self._beats = self._next_beat = math.inf

    # What the application may do

    def rate(self, now: float) -> float:
        """Bytes/s that the operation may use now: 0 means wait, infinite means uncoordinated."""
        operation = self.operation
        if operation is None or operation.refused or self.uncoordinated(now):
            return math.inf
        return operation.rate

    def uncoordinated(self, now: float) -> bool:
        """Whether the client goes on without the coordinator."""
        return self.disabled or now >= self.outage_from()

    def outage_from(self) -> float:
        """The date from which it goes on uncoordinated, if nothing happens before."""
        return self._outage.outage_from(self._in_step())

    def _in_step(self) -> bool:
        operation = self.operation
        return self.registered and (operation is None or operation.granted or operation.refused)

    # The application's side

    def begin(self, volume: int, rounds: int, now: float) -> Operation:
        """Start an operation; the coordinator is told as soon as there is one, except about 0 bytes."""
        assert self.operation is None
        self._operations += 1
        self.changes += 1
        self.operation = Operation(self._operations, volume, rounds, refused=volume == 0)
        self._inform(now)
        return self.operation

    def round_ended(self, now: float) -> bool:
        """The round has ended; whether a pause was waiting for that, which then is acknowledged."""
        operation = self.operation
        self.changes += 1
        if operation is None or not operation.round_ended():
            return False
        self._report(operation, now)
        self._acknowledge(operation.take_acknowledgements())
        return True

    def end(self) -> None:
        """End the operation, complete or not."""
        operation, self.operation = self.operation, None
        self.changes += 1
        if operation is None:
            return
        self._acknowledge(operation.take_acknowledgements())
        if operation.informed:
            self._outbox.post(partial(Release, operation=operation.number, moved=float(operation.moved)))

    def leave(self) -> None:
        """End the application."""
        self.end()
        if self.registered and not self.leaving:
            self._outbox.post(Leave)
        self.leaving = True

    def disable(self, now: float) -> None:
        """Go on without a coordinator for good."""
        self.disabled = True
        self.lost("disabled", now)

    # The connection's side

    def connect(self, now: float) -> None:
        """There is a new connection: register on it, or join."""
        self.connected, self.hang_up, self._last_heard = True, None, now
        self._grant = 0
        self._outage.connected()
        self._outbox.clear()
        if self.application is None:
            self._outbox.post(self.identity.register(now - self._born, self._token))
        else:
            known = partial(Join, version=VERSION, application=self.application, key=self._key, token=self._token)
            self._outbox.post(partial(known, operation=self.operation.number if self.operation is not None else 0))

    def lost(self, why: str, now: float) -> None:
        """The connection is lost, or could not be made."""
        if self.hang_up is None:
            self._outage.failed(why, now)
        self.connected = self.registered = False
        self.hang_up = None
        self.changes += 1
        self._next_beat = math.inf
        self._outbox.clear()
        if self.operation is not None:
            self.operation.cut_off()
        self._outage.start(now)
        self.check_patience(now)

    def send(self, now: float) -> list[Request]:
        """The messages to send now."""
        operation = self.operation
        if operation is not None and operation.informed and now >= operation.reports_from:
            self._report(operation, now)
        if now >= self._next_beat:
            self._outbox.post(Beat)
            self._next_beat = now + self._beats
        messages, asks = self._outbox.take()
        if asks:
            self._outage.start(now)
            self.changes += 1
        return messages

    def due(self, now: float) -> float:
        """The date at which `send` or `check_patience` has something to do, if nothing happens before."""
        dates = [self._next_beat, self._outage.announce_from(self._in_step())]
        if self.connected:
            dates.append(self._outage.close_from(self._last_heard))
        operation = self.operation
        if operation is not None and operation.informed and self.rate(now) > 0.0:
            dates.append(max(operation.reports_from, now + REPORT_SECONDS))
        return min(dates)

    def check_patience(self, now: float) -> None:
        """Log an outage that begins, and have a dead connection closed."""
        if self.disabled:
            return
        if now >= self._outage.announce_from(self._in_step()):
            self.notices.append(self._outage.announce())
        if self.connected and now >= self._outage.close_from(self._last_heard):
            self.hang_up = 0.0

    def receive(self, message: Reply, now: float) -> None:
        """Apply a message from the coordinator."""
        used = self.rate(now)
        self.changes += 1
        self._last_heard = now
        match message:
            case Registered():
                self._registered(message, now)
            case Grant():
                self._granted(message, used)
            case Error():
                self._failed(message, now)
            case Forgotten():
                self._register_anew(f"forgotten: {message.reason}", now)
            case Left():
                self.left = True
            case _:
                pass
        if self._in_step():
            self.notices += self._outage.in_step()
            operation = self.operation
            if operation is not None and operation.in_round and self.rate(now) <= 0.0 < used:
                operation.pause_after_round(used)  # it went on without the coordinator and may end its round

    def _registered(self, message: Registered, now: float) -> None:
        self.registered, self.application, self._key = True, message.application, message.key
        self.policy = message.policy
        self._beats = max(SHORTEST_BEAT, message.lease / 3.0) if message.lease > 0.0 else SHORTEST_BEAT
        self._next_beat = now + self._beats
        if self.leaving:
            self._outbox.post(Leave)
        elif self.operation is not None:
            self._inform(now)

    def _granted(self, message: Grant, used: float) -> None:
        operation = self.operation
        if operation is None or message.operation != operation.number or message.number <= self._grant:
            return
        self._grant = message.number
        self._outbox.all_answered()
        self._outage.operation_granted()
        operation.refused = False
        self._acknowledge(operation.grant(message.number, max(0.0, message.rate), used))

    def _failed(self, message: Error, now: float) -> None:
        question = self._outbox.question(message.seq)
        text = f"{message.code}: {message.text}"
        match question:
            case Join() if message.code in (UNKNOWN, DENIED):
                self._register_anew(text, now)
            case Register() | Join():
                self.hang_up = 0.0
                self._outage.failed(text, now)
                if message.code in PERMANENT:
                    self.hang_up, self._outage.refused = RETRY_REFUSED, True
                    self.check_patience(now)
            case Inform() if self.operation is not None and question.operation == self.operation.number:
                self.notices += self._outage.operation_refused(text)
                self.operation.refused = True
            case _:
                pass

    def _register_anew(self, why: str, now: float) -> None:
        self.application, self._key, self.hang_up, self.registered = None, "", 0.0, False
        self._outage.failed(why, now)

    def _inform(self, now: float) -> None:
        operation = self.operation
        if operation is None or operation.volume == 0:
            return
        self._outage.start(now)
        if not self.registered:
            return
        operation.informed, operation.reported = True, operation.moved
        told = partial(Inform, operation=operation.number, volume=float(operation.volume), rounds=operation.rounds)
        self._outbox.post(partial(told, moved=float(operation.moved)))

    def _report(self, operation: Operation, now: float) -> None:
        if operation.informed and operation.moved != operation.reported:
            operation.reported, operation.reports_from = operation.moved, now + REPORT_SECONDS
            self._outbox.post(partial(Report, operation=operation.number, moved=float(operation.moved)))

    def _acknowledge(self, numbers: list[int]) -> None:
        self._outbox.post(*(partial(Yielded, grant=number) for number in numbers))
