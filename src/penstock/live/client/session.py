"""One application as its client sees it: messages in, messages out, and the rate that it may use now.

A `Session` has no socket, no clock and no thread: its holder tells it what happened and when (seconds, never going back)
and asks it what to send. A grant above 0 takes effect at once. A pause (a grant of 0) takes effect between two rounds: the
current round goes on at the rate it had. The session acknowledges a lower grant with `Yielded`, once, when the grant has
taken effect. When the coordinator is lost, the client keeps its rate until its patience ends
(`penstock.live.client.outstanding`), and then goes on without a limit. A pause from a live coordinator has no time limit.
"""

from __future__ import annotations

import logging
import math
from functools import partial
from typing import Final

from penstock.live.client.environment import Identity
from penstock.live.client.outstanding import OutageTimer, Outbox, Question
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

LEASE_IN_BEATS: Final = 3.0
"""A client gives a sign of life so often in a lease."""
SHORTEST_BEAT: Final = 0.05
"""Seconds between two signs of life, at least."""
REPORT_SECONDS: Final = 0.1
"""Seconds between two reports, at least."""
RETRY_REFUSED: Final = 5.0
"""Seconds after which a client that was refused tries again."""
FIRST_WITH_ASK: Final = 2
"""The first version of the protocol that knows `ask`."""
PERMANENT: Final = (VERSION_UNKNOWN, DENIED, TOO_MANY, INVALID)
"""Errors that trying again at once does not cure."""


class Session:
    """The state of one application.

    Args:
        identity: What the application registers with.
        patience: Seconds to wait for a coordinator that does not answer.
        now: The present date, in seconds.
        where: The address of the coordinator, for messages to people.
        token: The secret that a coordinator over TCP asks for.
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
        self.observing = False
        """The coordinator holds nobody back."""
        self.longest_round: float | None = None
        """Seconds that a round may take at the granted rate."""
        self.addresses: tuple[str, ...] = ()
        """Further addresses of the coordinator."""
        self.operation: Operation | None = None
        self.changes = 0
        """Counts what may have changed the rate."""
        self.hang_up: float | None = None
        """Not None when the connection must be closed: the seconds to wait, at least, before the next one."""
        self.notices: list[tuple[int, str]] = []
        """(logging level, text) for people; the holder empties the list."""
        self._outage = OutageTimer(patience, where, now)
        self._ever_connected = False
        self._token = token
        self._key = ""
        self._version = VERSION
        """The version that the coordinator speaks."""
        self._born = self._last_heard = now
        self._operations = 0
        self._joined_with = 0
        """The operation that the last `Join` told of."""
        self._release: partial[Release] | None = None
        """The end of that operation, if it comes before the answer to the `Join`."""
        self._grant = 0
        self._outbox = Outbox()
        self._beats = math.inf
        """Seconds between two signs of life without an operation."""
        self._last_beat = math.inf

    # What the application may do

    def rate(self, now: float) -> float:
        """Bytes/s that the operation may use now: 0 means wait, infinite means uncoordinated."""
        operation = self.operation
        if operation is None or operation.refused or self.uncoordinated(now):
            return math.inf
        return operation.rate

    def uncoordinated(self, now: float) -> bool:
        """Whether the client goes on without the coordinator at the date `now`."""
        return self.disabled or now >= self.outage_from()

    def outage_from(self) -> float:
        """The date from which the client goes on uncoordinated, if nothing happens before."""
        return self._outage.outage_from(self._in_step())

    def _in_step(self) -> bool:
        operation = self.operation
        return self.registered and (operation is None or operation.granted or operation.refused)

    # The application's side

    def begin(
        self, volume: int, rounds: int, now: float, *, follows: int = 0, bandwidth: float | None = None, store: str = ""
    ) -> Operation:
        """Start an operation. The coordinator is told once it is connected, unless the operation has 0 bytes.

        Args:
            volume: Bytes.
            rounds: Number of rounds.
            now: The date, in seconds.
            follows: Bytes of the same I/O phase that come after this operation.
            bandwidth: The most that it can use, in bytes/s; None for the application's bandwidth.
            store: The name of the store that it uses; empty if it does not matter.
        """
        assert self.operation is None
        self._operations += 1
        self.changes += 1
        self.operation = Operation(
            self._operations, volume, rounds, refused=volume == 0, follows=follows, bandwidth=bandwidth, store=store
        )
        self._inform(now)
        return self.operation

    def round_ended(self, now: float) -> bool:
        """Note that the round has ended at the date `now`, and acknowledge a pause that waited for that; whether one did."""
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
        release = partial(Release, operation=operation.number, moved=float(operation.moved))
        if operation.informed:
            self._outbox.post(release)
        elif operation.known and operation.number == self._joined_with:
            self._release = release

    def ask(self, volume: int, rounds: int) -> Question:
        """Ask who does I/O, and how long an operation of `volume` bytes in `rounds` rounds would wait.

        The answer is None if nobody can tell.
        """
        if self.registered and self._version >= FIRST_WITH_ASK:
            return self._outbox.ask(volume, rounds)
        return Question(is_open=False)

    def leave(self) -> None:
        """End the application."""
        self.end()
        if self.registered and not self.leaving:
            self._outbox.post(Leave)
        self.leaving = True

    def disable(self, now: float) -> None:
        """Go on without a coordinator for good, from the date `now`."""
        self.disabled = True
        self.lost("disabled", now)

    # The connection's side

    def look_at(self, where: str, token: str) -> None:
        """From now on connect to the address `where`, with this `token`."""
        self._outage.where, self._token = where, token

    def connect(self, now: float) -> None:
        """Use a new connection from the date `now` on: register, or join if the coordinator knows the application."""
        self.connected, self.hang_up, self._last_heard = True, None, now
        self._ever_connected = True
        self._grant = self._joined_with = 0
        self._release = None
        self._outage.connected()
        self._outbox.clear()
        if self.application is None:
            self._outbox.post(self.identity.register(now - self._born, self._token))
        else:
            self._joined_with = self.operation.number if self.operation is not None else 0
            known = partial(Join, version=VERSION, application=self.application, key=self._key, token=self._token)
            self._outbox.post(partial(known, operation=self._joined_with))

    def lost(self, why: str, now: float, *, absent: bool = False) -> None:
        """Note that the connection was lost at the date `now`, or could not be made, for the reason `why`.

        If `absent`, there is nothing at the address to connect to.
        """
        if self.hang_up is None:
            self._outage.failed(why, now)
        if absent and not self._ever_connected:
            self._outage.gave_up = True
        self.connected = self.registered = False
        self.hang_up = None
        self.changes += 1
        self._last_beat = math.inf
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
        if now >= self._next_beat():
            self._outage.start(now, self._last_heard)
            self._outbox.post(Beat)
            self._last_beat = now
        messages, asks = self._outbox.take()
        if asks:
            self._outage.start(now)
            self.changes += 1
        return messages

    def _next_beat(self) -> float:
        """When the next sign of life is due: sooner while an operation depends on a live coordinator."""
        beats, operation = self._last_beat + self._beats, self.operation
        if operation is None or not operation.granted:
            return beats
        return min(beats, max(self._last_beat, self._last_heard) + max(SHORTEST_BEAT, self._outage.ask_after))

    def due(self, now: float) -> float:
        """The date, after `now`, at which `send` or `check_patience` has something to do, if nothing happens before."""
        dates = [self._next_beat(), self._outage.announce_from(self._in_step())]
        if self.connected:
            dates.append(self._outage.close_from(self._last_heard))
        operation = self.operation
        if operation is not None and operation.informed and self.rate(now) > 0.0:
            dates.append(max(operation.reports_from, now + REPORT_SECONDS))
        return min(dates)

    def check_patience(self, now: float) -> bool:
        """Log an outage that begins by the date `now`, and have a dead connection closed; whether an outage begins."""
        if self.disabled:
            return False
        begins = now >= self._outage.announce_from(self._in_step())
        if begins:
            self.notices.append(self._outage.announce())
        if self.connected and now >= self._outage.close_from(self._last_heard):
            self.hang_up = 0.0
        return begins

    def receive(self, message: Reply, now: float) -> None:
        """Apply a `message` from the coordinator, which arrived at the date `now`."""
        used, operation = self.rate(now), self.operation
        waits = operation is not None and operation.pausing
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
            case Outlook():
                self._outbox.answer(message.seq, message)
            case Warned():
                text = " ".join(message.text.split())
                self.notices.append((logging.WARNING, f"penstock: the coordinator at {self._outage.where} warns: {text}"))
            case _:
                pass
        if self._in_step():
            self.notices += self._outage.in_step()
            operation = self.operation
            if operation is not None and operation.in_round and self.rate(now) <= 0.0 < used:
                operation.pause_after_round(used)  # it went on without the coordinator and may end its round
        if operation is not None and operation.pausing and not waits:
            operation.pause_by = now + self._pause_seconds(operation)

    def _pause_seconds(self, operation: Operation) -> float:
        """Seconds that a pause may wait for the end of the round: what a round takes at its rate, and half a lease."""
        longest = math.inf if self.longest_round is None else self.longest_round
        is_paced = 0.0 < operation.rate < math.inf
        a_round = operation.volume / operation.rounds / operation.rate if is_paced else math.inf
        return min(a_round, longest) + LEASE_IN_BEATS / 2.0 * self._beats

    def _registered(self, message: Registered, now: float) -> None:
        self.registered, self.application, self._key = True, message.application, message.key
        self.policy, self.observing, self.longest_round = message.policy, message.observing, message.longest_round
        self.addresses, self._version = message.addresses, message.version
        self._beats = max(SHORTEST_BEAT, message.lease / LEASE_IN_BEATS) if message.lease > 0.0 else SHORTEST_BEAT
        self._last_beat = now
        if self._release is not None:
            self._outbox.post(self._release)
            self._release = None
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
                    self.hang_up, self._outage.gave_up = RETRY_REFUSED, True
                    self.check_patience(now)
            case None:
                self._outbox.answer(message.seq, None)
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
        operation.informed = operation.known = True
        operation.reported = operation.moved
        told = partial(Inform, operation=operation.number, volume=float(operation.volume), rounds=operation.rounds)
        hints = partial(told, bandwidth=operation.bandwidth, follows=float(operation.follows), store=operation.store)
        self._outbox.post(partial(hints, moved=float(operation.moved)))

    def _report(self, operation: Operation, now: float) -> None:
        if operation.informed and operation.moved != operation.reported:
            operation.reported, operation.reports_from = operation.moved, now + REPORT_SECONDS
            self._outbox.post(partial(Report, operation=operation.number, moved=float(operation.moved)))

    def _acknowledge(self, numbers: list[int]) -> None:
        self._outbox.post(*(partial(Yielded, grant=number) for number in numbers))
