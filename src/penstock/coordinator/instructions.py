"""What the core answers: instructions to applications, or that an event cannot be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from penstock.coordinator.application import Application


class Refused(Exception):
    """An event that cannot be; nothing has changed. `code` is one of the protocol's."""

    def __init__(self, code: str, text: str) -> None:
        self.code = code
        super().__init__(text)


@dataclass(frozen=True)
class Grant:
    """Tell the application what it may use from now on, in bytes/s; 0 pauses it, more than 0 after that resumes it."""

    application: Application
    operation: int
    number: int
    rate: float


@dataclass(frozen=True)
class Forget:
    """Tell the application, if it can be told, that it has lost its place."""

    application: Application
    reason: str


Instruction: TypeAlias = Grant | Forget
