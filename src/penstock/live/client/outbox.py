"""The messages that a client sends: numbered as they are sent, with those that are to be answered or may be refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

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
        """The message of this number, if the coordinator may refuse it."""
        return self._refusable.pop(seq, None)

    def all_answered(self) -> None:
        """Forget the messages sent so far: none of them will be refused."""
        self._refusable.clear()

    def ask(self, volume: int, rounds: int) -> Question:
        """Queue a question about an operation of so many bytes and rounds."""
        question = Question()

        def make(seq: int) -> Ask:
            question.seq = seq
            return Ask(seq, float(volume), rounds)

        self._asked.append(question)
        self.post(make)
        return question

    def answer(self, seq: int, outlook: Outlook | None) -> None:
        """Answer the question of this number, if there is one."""
        self._close([question for question in self._asked if question.seq == seq], outlook)

    def _close(self, questions: list[Question], answer: Outlook | None) -> None:
        for question in questions:
            question.is_open, question.answer = False, answer
        self._asked = [question for question in self._asked if question.is_open]
