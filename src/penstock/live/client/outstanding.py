"""The messages of a client that await replies, and when the client stops waiting for its coordinator.

Messages are numbered as they are sent. `Outbox` keeps those that are to be answered or may be refused.

A client waits for its coordinator from the moment the coordinator owes it a reply or the connection is lost, until both
are in step again: the client is registered and, if it has an operation, has a grant for it. Waiting for `patience`
seconds is an outage: the client goes on uncoordinated and logs that once. A client that is refused, or that finds nothing
to connect to when it starts, does not wait.

While it has an operation, a client asks for a sign of life `ask_after` seconds after the last message. The silence counts
from that message on, so a coordinator that dies at any moment holds an application for at most its patience, whatever
the lease.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

from penstock.live.protocol import Ask, Beat, Inform, Join, Outlook, Register, Request

Unnumbered: TypeAlias = Callable[..., Request]
"""Makes a message when it is given its `seq`."""


@dataclass
class Question:
    """A question to the coordinator."""

    is_open: bool = True
    answer: Outlook | None = None
    seq: int | None = None
    """The number of its message, once it is sent."""


class Outbox:
    """The messages to send on one connection; `clear` starts another."""

    def __init__(self) -> None:
        self._waiting: list[Unnumbered] = []
        self._seq = 0
        self._refusable: dict[int, Request] = {}
        self._asked: list[Question] = []

    def clear(self) -> None:
        """Drop all messages and number from 1 again: there is a new connection, or none. No question is answered."""
        self._waiting, self._seq, self._refusable = [], 0, {}
        self._close(self._asked, None)

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
                self._refusable[self._seq] = message
            messages.append(message)
        self._waiting = []
        return messages, any(isinstance(message, Register | Join | Inform | Beat | Ask) for message in messages)

    def question(self, seq: int) -> Request | None:
        """The message with the number `seq`, if the coordinator may refuse it."""
        return self._refusable.pop(seq, None)

    def all_answered(self) -> None:
        """Forget the messages sent so far: none of them will be refused."""
        self._refusable.clear()

    def ask(self, volume: int, rounds: int) -> Question:
        """Queue a question about an operation of `volume` bytes in `rounds` rounds."""
        question = Question()

        def make(seq: int) -> Ask:
            question.seq = seq
            return Ask(seq, float(volume), rounds)

        self._asked.append(question)
        self.post(make)
        return question

    def answer(self, seq: int, outlook: Outlook | None) -> None:
        """Answer the question with the number `seq`, if there is one, by `outlook`."""
        self._close([question for question in self._asked if question.seq == seq], outlook)

    def _close(self, questions: list[Question], answer: Outlook | None) -> None:
        for question in questions:
            question.is_open, question.answer = False, answer
        self._asked = [question for question in self._asked if question.is_open]


SHORTEST_OUTAGE: Final = 0.5
"""Seconds of silence on an open connection that are no outage yet, whatever the patience."""
ASKS: Final = 3
"""Times in its patience that a client with an operation asks for a sign of life."""
DEAD_SECONDS: Final = 5.0
"""Seconds of silence, at least, after which a connection is closed."""


class OutageTimer:
    """Tells the session from when on there is an outage, and what to log.

    Args:
        patience: Seconds to wait for the coordinator.
        where: Its address, for messages to people.
        now: The present date, in seconds; the client waits from now on.
    """

    def __init__(self, patience: float, where: str, now: float) -> None:
        self.patience = patience
        self.where = where
        self.gave_up = False
        """Nobody to wait for: the coordinator refuses this client, or there was none when it started."""
        self._since: float | None = now
        self._why: str | None = None
        self._announced = False
        self._complained = False

    @property
    def ask_after(self) -> float:
        """Seconds without a message after which a client with an operation asks for a sign of life."""
        return max(self.patience, SHORTEST_OUTAGE) / ASKS

    def start(self, now: float, last_heard: float = math.inf) -> None:
        """Start waiting, unless the client waits already: the coordinator owes a reply.

        Args:
            now: The present date.
            last_heard: When the coordinator was last heard, if its silence counts from then on. No more than
                `ask_after` seconds count: the rest is the client's own delay.
        """
        if self._since is None:
            self._since = max(min(last_heard, now), now - self.ask_after)

    def failed(self, why: str, now: float) -> None:
        """The connection was lost at the date `now`, or could not be made; `why` is the reason."""
        self.start(now)
        self._why = " ".join(why.split())[:200]

    def connected(self) -> None:
        """There is a connection; whether anybody answers on it is not known yet."""
        self._why = None

    def in_step(self) -> list[tuple[int, str]]:
        """Stop waiting: the client is in step with the coordinator. Returns what to log."""
        announced, self._announced, self._since, self.gave_up = self._announced, False, None, False
        return [(logging.INFO, f"penstock: coordinated by {self.where} again")] if announced else []

    def operation_refused(self, text: str) -> list[tuple[int, str]]:
        """The coordinator refuses an operation, with this `text`. Returns what to log: nothing more until it grants one."""
        complained, self._complained = self._complained, True
        message = f"penstock: the coordinator at {self.where} refuses I/O ({text}); going on uncoordinated"
        return [] if complained else [(logging.WARNING, message)]

    def operation_granted(self) -> None:
        """The coordinator grants an operation."""
        self._complained = False

    def outage_from(self, in_step: bool) -> float:
        """The date from which there is an outage; while `in_step`, never before `SHORTEST_OUTAGE`."""
        if self.gave_up:
            return -math.inf
        if self._since is None:
            return math.inf
        return self._since + (max(self.patience, SHORTEST_OUTAGE) if in_step else self.patience)

    def close_from(self, last_heard: float) -> float:
        """The date from which to close a connection on which the coordinator was last heard at `last_heard`."""
        return math.inf if self._since is None else max(self._since, last_heard) + max(DEAD_SECONDS, 2.0 * self.patience)

    def announce_from(self, in_step: bool) -> float:
        """The date from which to log the outage, which depends on `in_step`; infinite if it is logged."""
        if self._announced:
            return math.inf
        date = self.outage_from(in_step)
        return date if self._since is None or self._why is not None else max(date, self._since + SHORTEST_OUTAGE)

    def announce(self) -> tuple[int, str]:
        """What to log about the outage."""
        self._announced = True
        why = self._why or f"no answer for {max(self.patience, SHORTEST_OUTAGE):g} s"
        return logging.WARNING, f"penstock: no coordinator at {self.where} ({why}); going on uncoordinated"
