"""The coordinator's own time: seconds since its first start, never stepped, going on over restarts.

The system's monotonic clock runs through restarts of the coordinator but not of the machine; over those, the wall clock
tells how long it was down. While it runs, a step of the wall clock changes nothing.

The journal: what a coordinator must know after ``kill -9`` and a restart, in SQLite with a write-ahead log.

A commit adds a row with the books of the applications that have changed and what is in force for whom, and one with the
operations that have ended (`penstock.live.core.recording`), written before any grant is sent, so that a coordinator that
comes back never grants what somebody may still be using. To know what was is to read the rows in their order; when they have
become long, a row that holds everything takes the place of them all. A commit is one write to the log, without waiting for
the disk: it survives the process, and the loss of power costs at most the last moments. The log is folded into the file by a
thread of its own, so that a slow disk delays nobody.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from penstock.live.core.clients import Client
from penstock.live.core.recording import CompletedOperation
from penstock.model import InputError


def boot_id() -> str:
    """Which start of the machine this is; empty where the system does not say."""
    with contextlib.suppress(OSError):
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    return ""


@dataclass(frozen=True)
class Mark:
    """One instant on three clocks, in seconds: the coordinator's, the monotonic one of a boot, the wall's."""

    now: float
    monotonic: float
    wall: float
    boot: str


class Clock:
    """The time since a mark, or since now."""

    def __init__(self, mark: Mark | None = None) -> None:
        present = Mark(0.0, time.monotonic(), time.time(), boot_id())
        self._boot = present.boot
        if mark is None:
            self._offset = -present.monotonic
        elif mark.boot == present.boot and present.monotonic >= mark.monotonic:
            self._offset = mark.now - mark.monotonic
        else:
            self._offset = mark.now + max(0.0, present.wall - mark.wall) - present.monotonic

    def now(self) -> float:
        """Seconds since the first start."""
        return time.monotonic() + self._offset

    def mark(self) -> Mark:
        """The present instant."""
        monotonic = time.monotonic()
        return Mark(monotonic + self._offset, monotonic, time.time(), self._boot)


FORMAT: Final = 2
PAGE_BYTES: Final = 2048
"""A commit writes whole pages: small ones."""
LONG_BYTES: Final = 32 * 2**20
"""Rows of more bytes than these, and four times those of one with everything, are long."""
VOID_ROWS: Final = 4
"""So many rows that hold nothing any more are deleted with a commit: all at once would take tens of milliseconds."""
FOLD_SECONDS: Final = 5.0
FOLD_BYTES: Final = 256 * 2**20
"""The log is folded into the file when it is that long, which stalls writers for some tens of milliseconds."""
BUSY_SECONDS: Final = 0.01
"""So long a commit waits for whoever else has locked the file."""
MOST_PASSAGES: Final = 1_000_000
"""Operations that are remembered; some tens of bytes each."""
_TABLES: Final = """
CREATE TABLE IF NOT EXISTS entry (id INTEGER PRIMARY KEY, entry BLOB);
CREATE TABLE IF NOT EXISTS passages (id INTEGER PRIMARY KEY, passages BLOB);
"""


class Present(msgspec.Struct):
    """The date on all clocks, the policy, and what else there is but applications."""

    now: float
    monotonic: float
    wall: float
    boot: str
    bandwidth: float
    policy: str
    configured: str
    """The policy it was started with: one that was changed since outlives a restart with the same."""
    next_number: int
    departed: list[str] = []
    """Jobs known ahead that have come and gone."""

    @property
    def mark(self) -> Mark:
        """The date."""
        return Mark(self.now, self.monotonic, self.wall, self.boot)


class JournalEntry(msgspec.Struct, array_like=True):
    """One row: what has changed since the one before, or with `whole` all there is."""

    present: Present
    changed: list[Client]
    gone: list[int]
    """Numbers of applications that are no more."""
    granted: dict[int, tuple[float, int]]
    """Bytes/s that an application may be using, and the number of its latest grant, where its books have not changed."""
    whole: bool = False


_entry: Final = msgspec.msgpack.Decoder(JournalEntry)
_passages: Final = msgspec.msgpack.Decoder(list[CompletedOperation])
_pack: Final = msgspec.msgpack.Encoder()


class Journal:
    """The file. `failure` says why it can no longer be written, if so: the coordinator goes on without."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.failure: str | None = None
        self.is_long = True
        """Whether the next entry should be `whole`."""
        self._commits = 0
        self._bytes = self._whole_bytes = 0
        self._ended = 0
        """Operations that have ended so far: the last of those that a row tells of is its number."""
        self._void, self._valid = 0, 0
        """Rows from the first of these numbers on and before the second hold nothing any more."""
        self._fold_due = False
        self._lock = _lock(path)
        try:
            self._database = _open(path)
        except sqlite3.Error as error:
            raise InputError(path, f"cannot be used as a journal: {error}; move it away to begin anew") from None
        self._done = threading.Event()
        self._folder = threading.Thread(target=self._fold, name="penstock-journal", daemon=True)
        self._folder.start()

    def load(self) -> tuple[Present | None, list[Client]]:
        """What was known at the last commit; nothing in a new file."""
        try:
            entries = entries_in(self._database)
            (self._void,) = self._database.execute("SELECT coalesce(min(id), 0) FROM entry").fetchone()
            (self._ended,) = self._database.execute("SELECT coalesce(max(id), 0) FROM passages").fetchone()
        except (sqlite3.Error, msgspec.MsgspecError) as error:
            raise InputError(self.path, f"cannot be read: {error}; move it away to begin anew") from None
        return entries[-1].present if entries else None, fold(entries)

    def commit(self, entry: JournalEntry, passages: Sequence[CompletedOperation] = ()) -> None:
        """Write it down, and the operations that have ended."""
        packed, ended = _pack.encode(entry), self._ended + len(passages)
        try:
            with self._database:
                if passages:
                    self._database.execute("INSERT INTO passages VALUES (?, ?)", (ended, _pack.encode(passages)))
                if ended > MOST_PASSAGES:
                    self._database.execute("DELETE FROM passages WHERE id <= ?", (ended - MOST_PASSAGES,))
                row = self._database.execute("INSERT INTO entry (entry) VALUES (?)", (packed,)).lastrowid
                void = max(self._void, min(self._void + VOID_ROWS, self._valid))
                if void > self._void:
                    self._database.execute("DELETE FROM entry WHERE id >= ? AND id < ?", (self._void, void))
        except sqlite3.Error as error:
            self.failure, self.is_long = str(error), True
            return
        self.failure = None
        self._commits += 1
        self._void, self._ended = void, ended
        if entry.whole:
            self._bytes, self._whole_bytes, self._valid = 0, len(packed), row or 0
        self._bytes += len(packed)
        self.is_long = self._bytes > LONG_BYTES + 4 * self._whole_bytes
        if self._fold_due:
            self._fold_due = False
            with contextlib.suppress(sqlite3.Error):
                self._database.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def close(self) -> None:
        """Fold the log into the file and let go of it."""
        self._done.set()
        self._folder.join()
        self._database.close()
        os.close(self._lock)

    def _fold(self) -> None:
        """Copy the log into the file, beside whoever writes; it is emptied with a commit, when little is left."""
        log, seen = Path(f"{self.path}-wal"), -1
        with contextlib.closing(sqlite3.connect(self.path, isolation_level=None, timeout=0.0)) as database:
            while not self._done.wait(FOLD_SECONDS):
                rests, seen = self._commits == seen, self._commits
                with contextlib.suppress(sqlite3.Error, OSError):
                    if not rests and log.stat().st_size > FOLD_BYTES:
                        database.execute("PRAGMA wal_checkpoint(PASSIVE)")
                        self._fold_due = True


def entries_in(database: sqlite3.Connection) -> list[JournalEntry]:
    """The rows of a journal, in their order."""
    return [_entry.decode(row) for (row,) in database.execute("SELECT entry FROM entry ORDER BY id")]


def fold(entries: Sequence[JournalEntry]) -> list[Client]:
    """The applications as they are after all entries."""
    applications: dict[int, Client] = {}
    for entry in _latest(entries):
        applications.update((application.number, application) for application in entry.changed)
        for number in entry.gone:
            applications.pop(number, None)
        for number, (rate, grant) in entry.granted.items():
            applications[number].in_force, applications[number].grant_number = rate, grant
    return [applications[number] for number in sorted(applications)]


def _latest(entries: Sequence[JournalEntry]) -> Sequence[JournalEntry]:
    """Those from the last that holds everything on: the others are void."""
    first = max((place for place, entry in enumerate(entries) if entry.whole), default=0)
    return entries[first:]


def recorded(path: str) -> tuple[Present, list[CompletedOperation]]:
    """What a journal remembers, whether or not a coordinator is using it."""
    if not Path(path).is_file():
        raise InputError(path, "there is no such journal; expected the file of a coordinator")
    try:
        with contextlib.closing(sqlite3.connect(f"{Path(path).absolute().as_uri()}?mode=ro", uri=True)) as database:
            database.execute("BEGIN")
            rows = database.execute("SELECT passages FROM passages ORDER BY id").fetchall()
            last = database.execute("SELECT entry FROM entry ORDER BY id DESC LIMIT 1").fetchone()
        if last is None:
            raise InputError(path, "nothing is recorded yet; expected a coordinator to have used it")
        return _entry.decode(last[0]).present, [passage for (row,) in rows for passage in _passages.decode(row)]
    except (sqlite3.Error, msgspec.MsgspecError) as error:
        raise InputError(path, f"cannot be read: {error}; expected the journal of a coordinator") from None


def _lock(path: str) -> int:
    """Take the journal for this process alone: two coordinators would grant the same bandwidth twice."""
    import fcntl

    try:
        Path(path).parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor = os.open(f"{path}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise InputError(path, f"cannot be written: {error.strerror}") from None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise InputError(path, "another coordinator uses this journal; expected one of its own, --journal FILE") from None
    return descriptor


def _open(path: str) -> sqlite3.Connection:
    previous = os.umask(0o077)
    try:
        database = sqlite3.connect(path, timeout=BUSY_SECONDS)
        database.execute(f"PRAGMA page_size={PAGE_BYTES}")
        database.execute("PRAGMA journal_mode=WAL")
    finally:
        os.umask(previous)
    database.execute("PRAGMA synchronous=NORMAL")
    database.execute("PRAGMA wal_autocheckpoint=0")
    found = database.execute("PRAGMA user_version").fetchone()[0]
    if found not in (0, FORMAT):
        raise sqlite3.DatabaseError(f"its format is {found}, not {FORMAT}")
    database.executescript(_TABLES)
    database.execute(f"PRAGMA user_version={FORMAT}")
    return database
