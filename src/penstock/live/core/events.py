"""The interface of the core: events in; instructions and refusals out.

An event is something that happened to one client; its date is given beside it (`penstock.live.core.core.Core.handle`).
Volumes are bytes, rates bytes/s, times seconds. The fields are those of the messages in `penstock.live.protocol`.
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from penstock.live.core.clients import NO_GROUP, Client


class Refused(Exception):
    """The core refuses an event and has changed nothing. `code` is one of the protocol's error codes.

    Args:
        code: One of the protocol's error codes.
        text: What is wrong and what is expected, in one line.
    """

    def __init__(self, code: str, text: str) -> None:
        self.code = code
        super().__init__(text)


class RegisterEvent(msgspec.Struct, frozen=True):
    """A new client registers."""

    job: str
    nodes: int = 1
    user: str = ""
    uid: int = -1
    key_digest: str = ""
    bandwidth: float | None = None
    """The most that the client can use; None for its nodes times the bandwidth of one node."""
    elapsed: float = 0.0
    """Seconds since its release."""
    progress: float | None = None
    """Seconds of its dedicated run done since its release; None for all of `elapsed`."""
    lead: float = 0.0
    """Seconds from now on that belong to no iteration."""
    dedicated_seconds: float | None = None
    """Length of its complete dedicated run; None if unknown."""
    group: str = ""
    gid: int = NO_GROUP
    """The group that it is known to belong to, of those that the site has given weights."""


class JoinEvent(msgspec.Struct, frozen=True):
    """A client reconnects. `operation` is the number of its pending operation, 0 for none."""

    client: Client
    operation: int = 0
    gid: int | None = None
    """As in `RegisterEvent`; None if that is as before."""


class InformEvent(msgspec.Struct, frozen=True):
    """A client posts an operation, or announces its pending operation again after a reconnect."""

    client: Client
    operation: int
    volume: float
    rounds: int = 1
    """Equal rounds between which it can be paused; 0 if it can be paused anywhere."""
    moved: float = 0.0
    bandwidth: float | None = None
    """The most that the operation can use; None for all that the client can use."""
    follows: float = 0.0
    """Bytes of the same I/O phase that the client will announce after the operation."""


class ReportEvent(msgspec.Struct, frozen=True):
    """A client reports how many bytes of its operation it has moved."""

    client: Client
    operation: int
    moved: float


class YieldEvent(msgspec.Struct, frozen=True):
    """A client acknowledges that it keeps to the grant of this number, and so to all grants before it."""

    client: Client
    grant: int


class ReleaseEvent(msgspec.Struct, frozen=True):
    """A client ends its operation. `moved` is None if it moved the whole volume."""

    client: Client
    operation: int
    moved: float | None = None


class LeaveEvent(msgspec.Struct, frozen=True):
    """A client ends."""

    client: Client


class BeatEvent(msgspec.Struct, frozen=True):
    """A client shows that it is alive: its lease is renewed."""

    client: Client


class DisconnectEvent(msgspec.Struct, frozen=True):
    """The connection of a client is lost. The client keeps its grant until its lease ends."""

    client: Client


class ForgetEvent(msgspec.Struct, frozen=True):
    """The operator removes a client. If it is alive, it may register anew."""

    client: Client
    reason: str


Event: TypeAlias = (
    RegisterEvent
    | JoinEvent
    | InformEvent
    | ReportEvent
    | YieldEvent
    | ReleaseEvent
    | LeaveEvent
    | BeatEvent
    | DisconnectEvent
    | ForgetEvent
)


class GrantInstruction(msgspec.Struct, frozen=True):
    """Tell the client what it may use from now on, in bytes/s. 0 pauses it; more than 0 after a pause resumes it."""

    client: Client
    operation: int
    number: int
    """Numbers the grants of a client, growing."""
    rate: float


class ForgetInstruction(msgspec.Struct, frozen=True):
    """Tell the client, if it is connected, that it has lost its grant and its place among the pending operations."""

    client: Client
    reason: str


class WarnInstruction(msgspec.Struct, frozen=True):
    """Tell the client, if it is connected, what the coordinator will act on or has acted on."""

    client: Client
    text: str


class Refusal(msgspec.Struct, frozen=True):
    """An event that was refused, the error code of the protocol, and the reason."""

    event: Event
    code: str
    text: str


class Instructions(msgspec.Struct, frozen=True):
    """What follows from some events. Tell the clients in this order: first who is forgotten, then the grants."""

    forgets: list[ForgetInstruction]
    grants: list[GrantInstruction]
    refusals: list[Refusal]
    """Events that were refused."""
    registered: list[Client]
    """The new clients, one for each `RegisterEvent` that was not refused."""
    warnings: list[WarnInstruction] = []
    withheld: list[GrantInstruction] = []
    """What a core that only observes would have granted; nobody is told."""

    def __bool__(self) -> bool:
        """Whether anything follows."""
        return bool(self.forgets or self.grants or self.refusals or self.registered or self.warnings)
