"""What a connection is to send: numbered in the order it is sent, and remembered where an answer may concern it.

One application as its client sees it: messages in, messages out, and the rate it may use now.

No socket, no clock, no thread: whoever holds a `Session` tells it what happened and when (seconds, never going back) and
asks it what to send. A grant above 0 is kept to at once. A pause is kept to between two rounds: the round under way goes on
at the rate it had. A grant for less is answered by `Yielded`, once, when it is kept to. When the coordinator is lost the
rate is kept for as long as patience lasts (`doubt`). A pause that a living coordinator imposes has no limit.
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
"""A message that lacks its `seq`."""


class Outbox:
    """For one connection; `clear` begins another."""

    def __init__(self) -> None:
        self._waiting: list[Unnumbered] = []
        self._seq = 0
        self._asked: dict[int, Request] = {}

    def clear(self) -> None:
        """There is a new connection, or none: what waits is dropped, and numbers begin anew."""
        self._waiting, self._seq, self._asked = [], 0, {}

    def post(self, *messages: Unnumbered) -> None:
        """Send these when there is time."""
        self._waiting += messages

    def take(self) -> tuple[list[Request], bool]:
        """What waits, with its numbers, and whether anything of it wants an answer."""
        messages = []
        for make in self._waiting:
            self._seq += 1
            message = make(seq=self._seq)
            if isinstance(message, Register | Join | Inform):
                self._asked[self._seq] = message
            messages.append(message)
        self._waiting = []
        return messages, any(isinstance(message, Register | Join | Inform | Beat) for message in messages)

    def asked(self, seq: int) -> Request | None:
        """The question of this number, if it was one."""
        return self._asked.pop(seq, None)

    def settled(self) -> None:
        """All questions are answered."""
        self._asked.clear()


LEAST_BEAT: Final = 0.05
"""Seconds between two signs of life, at least."""
REPORTS: Final = 0.1
"""Seconds between two reports, at least."""
RETRY_REFUSED: Final = 5.0
"""Seconds after which one who was refused asks again."""
INCURABLE: Final = (VERSION_UNKNOWN, DENIED, TOO_MANY, INVALID)


class Session:
    """The state of one application; `where` is the coordinator's address for messages to people."""

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
        """Grows whenever something happens that may change the rate."""
        self.hang_up: float | None = None
        """Set when the connection is to be closed: a new one is wanted after so many seconds, at least."""
        self.notices: list[tuple[int, str]] = []
        """(logging level, text) for people, to be taken away by the holder."""
        self._doubt = OutageTimer(patience, where, now)
        self._token = token
        self._key = ""
        self._born = self._heard = now
        self._operations = 0
        self._grant = 0
        self._outbox = Outbox()
        self._beats = self._next_beat = math.inf

    # What the application may do.

    def rate(self, now: float) -> float:
        """bytes/s the operation may use now: 0 is wait, infinite is uncoordinated."""
        operation = self.operation
        if operation is None or operation.refused or self.uncoordinated(now):
            return math.inf
        return operation.rate

    def uncoordinated(self, now: float) -> bool:
        """Whether it has to do without the coordinator."""
        return self.disabled or now >= self.patient_until()

    def patient_until(self) -> float:
        """The date at which it goes on uncoordinated, if nothing happens before."""
        return self._doubt.until(self._in_step())

    def _in_step(self) -> bool:
        operation = self.operation
        return self.registered and (operation is None or operation.granted or operation.refused)

    # The application's side.

    def begin(self, volume: int, rounds: int, now: float) -> Operation:
        """A new operation, announced as soon as there is somebody to tell; one of 0 bytes is nobody's business."""
        assert self.operation is None
        self._operations += 1
        self.changes += 1
        self.operation = Operation(self._operations, volume, rounds, refused=volume == 0)
        self._inform(now)
        return self.operation

    def round_ended(self, now: float) -> bool:
        """No round is under way; whether a pause was waiting for that, so that there is something to send."""
        operation = self.operation
        self.changes += 1
        if operation is None or not operation.round_ended():
            return False
        self._report(operation, now)
        self._answer(operation.answers())
        return True

    def end(self) -> None:
        """The operation is complete, or given up."""
        operation, self.operation = self.operation, None
        self.changes += 1
        if operation is None:
            return
        self._answer(operation.answers())
        if operation.informed:
            self._outbox.post(partial(Release, operation=operation.number, moved=float(operation.moved)))

    def leave(self) -> None:
        """The application ends."""
        self.end()
        if self.registered and not self.leaving:
            self._outbox.post(Leave)
        self.leaving = True

    def disable(self, now: float) -> None:
        """Go on without a coordinator for good."""
        self.disabled = True
        self.lost("disabled", now)

    # The connection's side.

    def connect(self, now: float) -> None:
        """There is a new connection; it begins with who this is."""
        self.connected, self.hang_up, self._heard = True, None, now
        self._grant = 0
        self._doubt.connected()
        self._outbox.clear()
        if self.application is None:
            self._outbox.post(self.identity.register(now - self._born, self._token))
        else:
            known = partial(Join, version=VERSION, application=self.application, key=self._key, token=self._token)
            self._outbox.post(partial(known, operation=self.operation.number if self.operation is not None else 0))

    def lost(self, why: str, now: float) -> None:
        """The connection is lost, or could not be made; if it was to be closed it is known why."""
        if self.hang_up is None:
            self._doubt.because(why, now)
        self.connected = self.registered = False
        self.hang_up = None
        self.changes += 1
        self._next_beat = math.inf
        self._outbox.clear()
        if self.operation is not None:
            self.operation.cut_off()
        self._doubt.begin(now)
        self.look(now)

    def send(self, now: float) -> list[Request]:
        """What is to be sent now, each with its number."""
        operation = self.operation
        if operation is not None and operation.informed and now >= operation.reports_from:
            self._report(operation, now)
        if now >= self._next_beat:
            self._outbox.post(Beat)
            self._next_beat = now + self._beats
        messages, asks = self._outbox.take()
        if asks:
            self._doubt.begin(now)
            self.changes += 1
        return messages

    def due(self, now: float) -> float:
        """The date at which `send` or `look` has something to do, if nothing happens before."""
        dates = [self._next_beat, self._doubt.say_from(self._in_step())]
        if self.connected:
            dates.append(self._doubt.dead_from(self._heard))
        operation = self.operation
        if operation is not None and operation.informed and self.rate(now) > 0.0:
            dates.append(max(operation.reports_from, now + REPORTS))
        return min(dates)

    def look(self, now: float) -> None:
        """See whether patience is over."""
        if self.disabled:
            return
        if now >= self._doubt.say_from(self._in_step()):
            self.notices.append(self._doubt.say())
        if self.connected and now >= self._doubt.dead_from(self._heard):
            self.hang_up = 0.0

    def receive(self, message: Reply, now: float) -> None:
        """A message of the coordinator."""
        used = self.rate(now)
        self.changes += 1
        self._heard = now
        match message:
            case Registered():
                self._registered(message, now)
            case Grant():
                self._granted(message, used)
            case Error():
                self._failed(message, now)
            case Forgotten():
                self._anew(f"forgotten: {message.reason}", now)
            case Left():
                self.left = True
            case _:
                pass
        if self._in_step():
            self.notices += self._doubt.end()
            operation = self.operation
            if operation is not None and operation.flying and self.rate(now) <= 0.0 < used:
                operation.hold(used)  # it went on without the coordinator, and may end its round

    def _registered(self, message: Registered, now: float) -> None:
        self.registered, self.application, self._key = True, message.application, message.key
        self.policy = message.policy
        self._beats = max(LEAST_BEAT, message.lease / 3.0) if message.lease > 0.0 else LEAST_BEAT
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
        self._outbox.settled()
        self._doubt.content()
        operation.refused = False
        self._answer(operation.grant(message.number, max(0.0, message.rate), used))

    def _failed(self, message: Error, now: float) -> None:
        asked = self._outbox.asked(message.seq)
        text = f"{message.code}: {message.text}"
        match asked:
            case Join() if message.code in (UNKNOWN, DENIED):
                self._anew(text, now)
            case Register() | Join():
                self.hang_up = 0.0
                self._doubt.because(text, now)
                if message.code in INCURABLE:
                    self.hang_up, self._doubt.refused = RETRY_REFUSED, True
                    self.look(now)
            case Inform() if self.operation is not None and asked.operation == self.operation.number:
                self.notices += self._doubt.complain(text)
                self.operation.refused = True
            case _:
                pass

    def _anew(self, why: str, now: float) -> None:
        self.application, self._key, self.hang_up, self.registered = None, "", 0.0, False
        self._doubt.because(why, now)

    def _inform(self, now: float) -> None:
        operation = self.operation
        if operation is None or operation.volume == 0:
            return
        self._doubt.begin(now)
        if not self.registered:
            return
        operation.informed, operation.reported = True, operation.moved
        told = partial(Inform, operation=operation.number, volume=float(operation.volume), rounds=operation.rounds)
        self._outbox.post(partial(told, moved=float(operation.moved)))

    def _report(self, operation: Operation, now: float) -> None:
        if operation.informed and operation.moved != operation.reported:
            operation.reported, operation.reports_from = operation.moved, now + REPORTS
            self._outbox.post(partial(Report, operation=operation.number, moved=float(operation.moved)))

    def _answer(self, numbers: list[int]) -> None:
        self._outbox.post(*(partial(Yielded, grant=number) for number in numbers))
