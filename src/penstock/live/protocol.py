"""The messages between applications and the coordinator, version 2, and their form on a socket.

A message is one JSON object on one line of UTF-8, at most `MESSAGE_BYTES` long with its newline; `type` names the
message. A client's messages carry `seq`, which grows with every message of a connection; a reply carries the `seq` of
the message that it answers. Volumes are bytes, rates bytes/s, times seconds. The page "Protocol" of the documentation
describes the protocol.

In terms of 003 §III.C, `Inform` is Inform, `Report` is Release after a step, `Release` is Complete, and `Grant` carries what
Check and Wait ask for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Annotated, Any, Final, TypeAlias

import msgspec

VERSION: Final = 2
SERVED: Final = (1, 2)
"""Versions that a coordinator serves. Version 1 lacks `ask`, `outlook` and `warned`, and the members that say so."""
MESSAGE_BYTES: Final = 16_384
"""A longer line is refused, and the connection closed."""

MOST_ROUNDS: Final = 10**9
MOST_NODES: Final = 10**9
Count: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=2**53)]
Positive: TypeAlias = Annotated[int, msgspec.Meta(ge=1, le=2**53)]
Rounds: TypeAlias = Annotated[int, msgspec.Meta(ge=1, le=MOST_ROUNDS)]
Nodes: TypeAlias = Annotated[int, msgspec.Meta(ge=1, le=MOST_NODES)]
Bytes: TypeAlias = Annotated[float, msgspec.Meta(ge=0.0, le=1e21)]
Rate: TypeAlias = Annotated[float, msgspec.Meta(ge=0.0, le=1e18)]
Seconds: TypeAlias = Annotated[float, msgspec.Meta(ge=0.0, le=1e10)]
Name: TypeAlias = Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
Label: TypeAlias = Annotated[str, msgspec.Meta(max_length=200)]
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
    """Unknown fields are ignored, so that a newer peer may add some."""


class Credential(msgspec.Struct, frozen=True, omit_defaults=True):
    """A proof of who the client is, of a kind that the site checks."""

    kind: Annotated[str, msgspec.Meta(min_length=1, max_length=40)]
    value: Annotated[str, msgspec.Meta(max_length=8192)]


class Register(_Message, frozen=True):
    """An application registers; the connection is its own from then on. Answered by `Registered`."""

    seq: Count
    version: Count
    job: Name
    nodes: Nodes = 1
    user: Label = ""
    """Shown to people. On a Unix socket the kernel tells who the client is."""
    bandwidth: Rate | None = None
    """The most that it can use; default: its nodes times the bandwidth of one."""
    elapsed: Seconds = 0.0
    """Seconds since its release, when it started to run."""
    progress: Seconds | None = None
    """Seconds of its dedicated run done in that time; default: all of it."""
    lead: Seconds = 0.0
    """Seconds from now on that belong to no iteration, such as its start-up."""
    whole: Seconds | None = None
    """Seconds of its complete dedicated run, if known."""
    token: Secret = ""
    group: Label = ""
    """Version 2: the project or account that it belongs to. Shown to people."""
    credential: Credential | None = None
    """Version 2: a proof of who it is, where the site asks for one."""


class Join(_Message, frozen=True):
    """A registered application is back, after its connection or the coordinator was lost. Answered by `Registered`."""

    seq: Count
    version: Count
    application: Count
    key: Secret
    operation: Count = 0
    """Its pending operation; 0 for none, then an operation that was pending has ended."""
    token: Secret = ""
    credential: Credential | None = None
    """Version 2: as in `Register`."""


class Inform(_Message, frozen=True):
    """The application posts an operation. Answered by a `Grant`."""

    seq: Count
    operation: Positive
    """Numbers the operations of the application, growing."""
    volume: Bytes
    rounds: Rounds = 1
    """How many equal rounds; the application can be paused between two of them."""
    moved: Bytes = 0.0
    """What it has moved of the volume so far."""
    bandwidth: Rate | None = None
    """Version 2: the most that this operation can use; default: what the application can use."""
    follows: Bytes = 0.0
    """Version 2: bytes of the same I/O phase that the application will announce after this operation."""
    store: Label = ""
    """Version 2: the store that it uses; default: the one that the coordinator shares."""


class Report(_Message, frozen=True):
    """How many bytes of the operation are moved."""

    seq: Count
    operation: Positive
    moved: Bytes


class Yielded(_Message, frozen=True):
    """The application keeps to this grant from now on: what it had above that is free."""

    seq: Count
    grant: Positive


class Release(_Message, frozen=True):
    """The operation ends, complete or not."""

    seq: Count
    operation: Positive
    moved: Bytes | None = None
    """What was moved in all; default: the volume."""


class Leave(_Message, frozen=True):
    """The application ends. Answered by `Left`."""

    seq: Count


class Beat(_Message, frozen=True):
    """A sign of life, which renews the lease. Answered by the same message."""

    seq: Count


class Ask(_Message, frozen=True):
    """Version 2: who does I/O now, and how long would an operation like this one take? Answered by `Outlook`."""

    seq: Count
    volume: Bytes = 0.0
    """Bytes of the operation that the application thinks of; 0 asks only who does I/O."""
    rounds: Rounds = 1


class Control(_Message, frozen=True):
    """A command of the operator: the coordinator's own user or root, on the Unix socket. Answered by `Answer`."""

    seq: Count
    version: Count
    command: Annotated[str, msgspec.Meta(max_length=40)]
    argument: Annotated[str, msgspec.Meta(max_length=4000)] = ""


class Registered(_Message, frozen=True, omit_defaults=False):
    """The application has this number; `key` proves its identity when it reconnects."""

    seq: Count
    application: Count
    key: Secret
    lease: float
    """Seconds of silence after which the application loses its grant."""
    policy: str
    version: Count = VERSION
    """The version that the coordinator speaks on this connection: the one of the client."""
    longest_turn: Seconds | None = None
    """Version 2: seconds for which an operation may use the store while others wait; None for no limit."""
    longest_round: Seconds | None = None
    """Version 2: seconds within which a pause must take effect, whatever the rounds; None for no limit."""
    addresses: tuple[str, ...] = ()
    """Version 2: further addresses of the coordinator, to try in this order when it does not answer here."""
    observing: bool = False
    """Version 2: the coordinator only observes: every grant is all that the operation can use."""


class Grant(_Message, frozen=True):
    """What the application may use from now on, in bytes/s; 0 is a pause, which starts at the end of the round.

    A lower grant must be answered with `Yielded` as soon as the application keeps to it.
    """

    operation: Positive
    number: Positive
    """Numbers the grants of the application, growing."""
    rate: float


class Left(_Message, frozen=True):
    """The application has left."""

    seq: Count


class Forgotten(_Message, frozen=True):
    """The application has lost its grant and its place; it may register anew."""

    reason: str


class Warned(_Message, frozen=True):
    """Version 2: the application does something that the coordinator will act on if it goes on; `text` says what."""

    text: str


class Outlook(_Message, frozen=True, omit_defaults=False):
    """Version 2: the answer to an `Ask`."""

    seq: Count
    bandwidth: float
    """What all share, in bytes/s."""
    moving: Count
    """Operations that may move data now."""
    waiting: Count
    """Operations that wait for their turn."""
    wait: float | None = None
    """Seconds until the operation could start if nobody else came; None if that cannot be told."""
    seconds: float | None = None
    """Seconds until it could end if nobody else came; None if that cannot be told."""


class Error(_Message, frozen=True):
    """A message was refused and changed nothing; `seq` is its number, 0 if that could not be read."""

    code: str
    text: str
    seq: Count = 0


class Answer(_Message, frozen=True):
    """The answer to a `Control`."""

    seq: Count
    body: Any = None


Request: TypeAlias = Register | Join | Inform | Report | Yielded | Release | Leave | Beat | Ask | Control
Reply: TypeAlias = Registered | Grant | Left | Forgotten | Warned | Outlook | Error | Answer | Beat

_encoder: Final = msgspec.json.Encoder()
_requests: Final[msgspec.json.Decoder[Request]] = msgspec.json.Decoder(Request)
_replies: Final[msgspec.json.Decoder[Reply]] = msgspec.json.Decoder(Reply)


def encode(message: Request | Reply) -> bytes:
    """Encode the message as one line."""
    return _encoder.encode(message) + b"\n"


class Malformed(Exception):
    """A line that is not a message."""


def decode_request(line: bytes) -> Request:
    """Decode a `line`, a message of a client; Malformed if it is none."""
    try:
        return _requests.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Malformed(str(error)) from None


class _Numbered(msgspec.Struct):
    seq: Count


_numbers: Final = msgspec.json.Decoder(_Numbered)


def seq_of(line: bytes) -> int:
    """The `seq` in a line that may be no message; 0 if there is none."""
    try:
        return _numbers.decode(line).seq
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return 0


def decode_reply(line: bytes) -> Reply:
    """Decode a `line`, a message of the coordinator; Malformed if it is none."""
    try:
        return _replies.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Malformed(str(error)) from None


class Oversized(Exception):
    """A line longer than a message may be."""


class Lines:
    """Splits what arrives on a socket into lines, in linear time."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> Iterable[bytes]:
        """The lines that are complete with `data` added, without their newlines; Oversized if one is too long."""
        data = self._rest + data
        lines = data.split(b"\n")
        self._rest = lines.pop()
        return lines if len(data) < MESSAGE_BYTES else self._checked(lines)

    def _checked(self, lines: list[bytes]) -> Iterator[bytes]:
        """The lines up to the first one that is too long, where there is one."""
        for line in lines:
            if len(line) >= MESSAGE_BYTES:
                raise Oversized
            yield line
        if len(self._rest) >= MESSAGE_BYTES:
            raise Oversized
