"""What a connection is to send: numbered in the order it is sent, and remembered where an answer may concern it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from penstock.client.protocol import Beat, Inform, Join, Register, Request

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
