"""The log of a coordinator, as text for people or JSON for programs, and its audit log.

Every event has a name and fields. ``serve -v`` logs it as a line or, with ``--log-format json``, as one JSON object. The
audit log is a file of JSON lines to which the coordinator only appends. It has the events in `AUDITED`: who registered, came
back, was refused, was sent away or gave a command. Anybody can cause refusals, so the log lists only some per second and
counts the others.
"""

from __future__ import annotations

import logging
import os
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

import msgspec

from penstock.model import InputError

if TYPE_CHECKING:
    from penstock.live.core.clients import Client
    from penstock.live.protocol import Error
    from penstock.live.server.peer import Peer

LOG: Final = logging.getLogger("penstock.coordinator")
RARELY_SECONDS: Final = 60.0
REFUSALS_PER_SECOND: Final = 20
"""Refused messages and connections that are written down; others are counted."""
AUDITED: Final = frozenset(
    {"started", "stopped", "registered", "joined", "left", "forgotten", "warned", "refused", "command"}
)
"""Events that go to the audit log."""
TEXT_FORMAT: Final = "penstock serve: %(message)s"


class RareLog:
    """Logs a kind of warning at most once a minute, and then says how many were left out."""

    def __init__(self) -> None:
        self._next = 0.0
        self._left_out = 0

    def warn(self, text: str, *values: object) -> None:
        """Log the warning `text` with its `values`, or count it."""
        now = time.monotonic()
        if now < self._next:
            self._left_out += 1
            return
        more = f" ({self._left_out} times more since the last such line)" if self._left_out else ""
        LOG.warning(text + "%s", *values, more)
        self._next, self._left_out = now + RARELY_SECONDS, 0


class JsonLines(logging.Formatter):
    """Formats a record as one JSON object: date, level, the name of the event and its fields, or the text."""

    def format(self, record: logging.LogRecord) -> str:
        """The `record` as one line."""
        fields = getattr(record, "fields", {"event": "message"})
        return json_line(record.created, level=record.levelname.lower(), **fields, text=record.getMessage())


def json_line(date: float, **fields: Any) -> str:
    """An event and its `fields` as one JSON object; the `date` is in seconds of the wall clock."""
    return msgspec.json.encode({"time": _date(date), **fields}).decode()


def set_up(log_format: str, *, verbose: bool) -> None:
    """Log to standard error, as lines or as JSON by `log_format`: all events if `verbose`, else warnings only."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonLines() if log_format == "json" else logging.Formatter(TEXT_FORMAT))
    logging.basicConfig(level=logging.INFO if verbose else logging.WARNING, handlers=[handler])


class Logbook:
    """Writes events down.

    Args:
        audit_log: The file of the audit log; empty for none.

    Raises:
        InputError: If the file cannot be opened.
    """

    def __init__(self, audit_log: str = "") -> None:
        self._path = audit_log
        self._file: int | None = None
        self._failed = RareLog()
        self._second = 0
        self._refusals = self._left_out = 0
        if audit_log:
            try:
                self._file = os.open(audit_log, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
            except OSError as error:
                raise InputError(f"audit_log {audit_log}", f"cannot be written: {error.strerror}") from None

    def note(self, event: str, text: str, **fields: Any) -> None:
        """Write an `event` with its `fields` down; `text` is for people, and leaves out nothing that matters."""
        if not text.isprintable():  # a name in it may be anything
            text = ascii(text)[1:-1]
        if LOG.isEnabledFor(logging.INFO):
            LOG.info("%s", text, extra={"fields": {"event": event, **fields}})
        if self._file is not None and event in AUDITED:
            self._audit(json_line(time.time(), event=event, **fields, text=text))

    def client(self, event: str, client: Client, text: str, **more: Any) -> None:
        """Write down what a `client` does: the `event`, its `text` for people, `more` fields.

        Its number tells two jobs of one name apart.
        """
        self.note(event, f"{client.job!r} (application {client.number}) {text}", **_fields(client), **more)

    def overrun(self, client: Client) -> None:
        """Write down the first overrun of a client, the second, the fourth and so on."""
        if client.overruns & (client.overruns - 1) == 0:
            text = f"has reported more than it was granted, {client.overruns} times by now"
            self.client("overrun", client, text, overruns=client.overruns)

    def refused(self, peer: Peer, error: Error) -> None:
        """Write down that a message or the connection of `peer` was refused with `error`.

        That is done for some in a second; then follows how many were left out.
        """
        second = int(time.monotonic())
        if second != self._second:
            left_out, self._left_out = self._left_out, 0
            self._second, self._refusals = second, 0
            if left_out:
                self.note("refused", f"{left_out} more were refused and are not listed", count=left_out)
        self._refusals += 1
        if self._refusals > REFUSALS_PER_SECOND:
            self._left_out += 1
            return
        fields = {**(_fields(peer.client) if peer.client is not None else {}), "uid": peer.uid, "from": peer.origin}
        self.note("refused", f"refused {peer.origin}: {error.text} ({error.code})", code=error.code, **fields)

    def close(self) -> None:
        """Close the audit log."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _audit(self, line: str) -> None:
        assert self._file is not None
        try:
            os.write(self._file, line.encode() + b"\n")
        except OSError as error:
            self._failed.warn("audit log %s: %s; going on without it", self._path, error.strerror)


def _fields(client: Client) -> dict[str, Any]:
    return {"application": client.number, "job": client.job, "user": client.user, "uid": client.uid}


def _date(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
