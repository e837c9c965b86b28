"""The messages between applications and the coordinator, version 1, and how they are laid on a socket.

A message is one JSON object on one line of UTF-8, at most `MESSAGE_BYTES` long with its newline; `type` says which. What a
client sends carries `seq`, which grows with every message of a connection; what answers a message carries the same number.
Volumes are bytes, rates bytes/s, times seconds. The page "Protocol" of the documentation has it all in words.

003 §III.C: `Inform` is 003's Inform, `Report` its Release after a step, `Release` its Complete; `Grant` tells what Check and
Wait ask for.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Final, TypeAlias

import msgspec

VERSION: Final = 1
MESSAGE_BYTES: Final = 16_384
"""A longer line is no message: the peer is told so and cut off."""

Count: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=2**53)]
Positive: TypeAlias = Annotated[int, msgspec.Meta(ge=1, le=2**53)]
Amount: TypeAlias = Annotated[float, msgspec.Meta(ge=0.0, le=1e30)]
Name: TypeAlias = Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
Secret: TypeAlias = Annotated[str, msgspec.Meta(max_length=512)]

# Why a message was refused: the `code` of an `Error`.
MALFORMED: Final = "malformed"
OVERSIZED: Final = "oversized"
VERSION_UNKNOWN: Final = "version"
DENIED: Final = "denied"
OUT_OF_ORDER: Final = "out-of-order"
UNEXPECTED: Final = "unexpected"
UNKNOWN: Final = "unknown"
TOO_MANY: Final = "too-many"
INVALID: Final = "invalid"


class _Message(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="type", tag=str.lower):
    """Fields nobody knows are ignored, so that a newer peer may add some."""


class Register(_Message, frozen=True):
    """An application presents itself; the connection is its own from then on. Answered by `Registered`."""

    seq: Count
    version: Count
    job: Name
    nodes: Positive = 1
    user: Annotated[str, msgspec.Meta(max_length=200)] = ""
    """Told to people; on a Unix socket the kernel says who it is."""
    bandwidth: Amount | None = None
    """The most it can use; by default its nodes times the bandwidth of one."""
    elapsed: Amount = 0.0
    """Seconds since it was released (began to run)."""
    progress: Amount | None = None
    """Seconds of its dedicated run done in that time; all of it unless told."""
    lead: Amount = 0.0
    """Seconds from now on that belong to no iteration, such as its start-up."""
    whole: Amount | None = None
    """Seconds of its whole dedicated run, where known."""
    token: Secret = ""


class Join(_Message, frozen=True):
    """An application that was registered before is back, after its connection or the coordinator was lost."""

    seq: Count
    version: Count
    application: Count
    key: Secret
    operation: Count = 0
    """The operation it is at; 0 if it is at none, so that one which was under way is over."""
    token: Secret = ""


class Inform(_Message, frozen=True):
    """It wants to do I/O: an operation is posted. Answered by a `Grant`."""

    seq: Count
    operation: Positive
    """Numbers the operations of the application, growing."""
    volume: Amount
    rounds: Positive = 1
    """In how many equal steps; it can be paused between two of them."""
    moved: Amount = 0.0
    """What it has moved of the volume already."""


class Report(_Message, frozen=True):
    """How far the operation has come, in bytes since it began."""

    seq: Count
    operation: Positive
    moved: Amount


class Yielded(_Message, frozen=True):
    """The application keeps to the grant of this number from now on: what it had above that is free."""

    seq: Count
    grant: Positive


class Release(_Message, frozen=True):
    """The operation is complete, or given up."""

    seq: Count
    operation: Positive
    moved: Amount | None = None
    """What was moved in all, if not the whole volume."""


class Leave(_Message, frozen=True):
    """The application ends. Answered by `Left`."""

    seq: Count


class Beat(_Message, frozen=True):
    """A sign of life, which renews the lease; answered by the same."""

    seq: Count


class Control(_Message, frozen=True):
    """A question or order of whoever runs the coordinator (on the Unix socket: its own user, or root)."""

    seq: Count
    version: Count
    command: Annotated[str, msgspec.Meta(max_length=40)]
    argument: Annotated[str, msgspec.Meta(max_length=4000)] = ""


class Registered(_Message, frozen=True, omit_defaults=False):
    """The application is known under this number; `key` proves it when it comes back."""

    seq: Count
    application: Count
    key: Secret
    lease: float
    """Seconds of silence after which its grant is taken away."""
    policy: str
    version: Count = VERSION


class Grant(_Message, frozen=True):
    """What the application may use from now on; 0 is a pause, to begin between two rounds at the latest.

    Less than before must be answered with `Yielded` as soon as it is kept to.
    """

    operation: Positive
    number: Positive
    """Numbers the grants of the application, growing."""
    rate: float


class Left(_Message, frozen=True):
    """The application is forgotten, as it wished."""

    seq: Count


class Forgotten(_Message, frozen=True):
    """The application has lost its place; it may register anew."""

    reason: str


class Error(_Message, frozen=True):
    """A message was refused and changed nothing; `seq` is its number where that could be read."""

    code: str
    text: str
    seq: Count = 0


class Answer(_Message, frozen=True):
    """To a `Control`."""

    seq: Count
    body: Any = None


Request: TypeAlias = Register | Join | Inform | Report | Yielded | Release | Leave | Beat | Control
Reply: TypeAlias = Registered | Grant | Left | Forgotten | Error | Answer | Beat

_encoder: Final = msgspec.json.Encoder()
_requests: Final[msgspec.json.Decoder[Request]] = msgspec.json.Decoder(Request)
_replies: Final[msgspec.json.Decoder[Reply]] = msgspec.json.Decoder(Reply)


def encode(message: Request | Reply) -> bytes:
    """The message as one line."""
    return _encoder.encode(message) + b"\n"


class Malformed(Exception):
    """A line that is no message."""


def decode_request(line: bytes) -> Request:
    """What a client sent; Malformed if that is no message of it."""
    try:
        return _requests.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Malformed(str(error)) from None


def decode_reply(line: bytes) -> Reply:
    """What the coordinator sent; Malformed if that is no message of it."""
    try:
        return _replies.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Malformed(str(error)) from None


class Oversized(Exception):
    """A line longer than a message may be."""


class Lines:
    """Cuts what arrives on a socket into lines, in time linear in it."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> Iterator[bytes]:
        """The lines that are whole by now, without their newlines; Oversized when one is too long."""
        lines = (self._rest + data).split(b"\n")
        self._rest = lines.pop()
        for line in lines:
            if len(line) >= MESSAGE_BYTES:
                raise Oversized
            yield line
        if len(self._rest) >= MESSAGE_BYTES:
            raise Oversized
