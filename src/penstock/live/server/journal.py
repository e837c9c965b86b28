"""The journal: what a coordinator must know after ``kill -9`` and a restart.

The journal is an SQLite file with a write-ahead log. Each commit adds a row with the books of the clients that have changed
and the grants in force, and a row with the operations that have ended (`penstock.live.core.recording`). It is written before
any grant is sent, so that a restarted coordinator never grants bandwidth that a client may still be using. Reading the rows
in order gives the state; when they have become long, one full row replaces them all. A commit is one write to the log and
does not wait for the disk: it survives the end of the process, and a loss of power costs at most the last moments. A thread
folds the log into the file, so that a slow disk delays no decision.

The coordinator's clock, which goes on over restarts.

The clock counts seconds since the coordinator's first start. The system's monotonic clock goes on while the coordinator
restarts, but not while the machine does; the wall clock tells how long the machine was down. While the coordinator runs, a
step of the wall clock changes nothing.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sqlite3
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from penstock.live.core.clients import Client
from penstock.live.core.recording import CompletedOperation
from penstock.live.server.owned_files import (
    BUSY_SECONDS,
    STARTING_SECONDS,
    identity,
    is_full,
    lock_journal,
    open_journal,
    open_unshared,
)
from penstock.model import InputError

if TYPE_CHECKING:
    from penstock.live.core.core import Core


def boot_id() -> str:
    """Identifies this boot of the machine; empty where the system does not say."""
    with contextlib.suppress(OSError):
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    return ""


@dataclass(frozen=True)
class Mark:
    """One instant on three clocks, in seconds: the coordinator's, the monotonic clock of a boot, and the wall clock."""

    now: float
    monotonic: float
    wall: float
    boot: str


class Clock:
    """Seconds since the coordinator's first start.

    Args:
        mark: An instant to go on from; None to start at 0.
    """

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


LONG_BYTES: Final = 32 * 2**20
"""A full row is due after rows of this many bytes, and four times those of the last full row."""
VOID_ROWS: Final = 4
"""Void rows that one commit deletes; deleting all at once would take tens of milliseconds."""
FOLD_SECONDS: Final = 5.0
FOLD_BYTES: Final = 256 * 2**20
"""Length of the log from which it is folded into the file; folding stalls writers for some tens of milliseconds."""
MOST_OPERATIONS: Final = 1_000_000
"""Ended operations that the journal keeps; some tens of bytes each."""
MOST_UNWRITTEN: Final = 10_000
"""Ended operations that wait for a journal that cannot be written."""
CHECK_SECONDS: Final = 5.0
"""The longest time until deleted files are noticed."""
RETRY_SECONDS: Final = 1.0
"""Between two attempts to write a journal that fails."""
LOG: Final = logging.getLogger("penstock.coordinator")


class Present(msgspec.Struct):
    """The coordinator's state apart from its clients: the date on all clocks, the policy, and numbers."""

    now: float
    monotonic: float
    wall: float
    boot: str
    bandwidth: float
    policy: str
    configured: str
    """The policy in the settings. A policy changed at run time survives a restart with the same settings."""
    next_number: int
    departed: list[str] = []
    """Jobs of the workload file that have come and gone."""

    @property
    def mark(self) -> Mark:
        """The date."""
        return Mark(self.now, self.monotonic, self.wall, self.boot)


class JournalEntry(msgspec.Struct, array_like=True):
    """One row: what has changed since the row before, or everything if it is `full`."""

    present: Present
    changed: list[Client]
    gone: list[int]
    """Numbers of clients that are gone."""
    granted: dict[int, tuple[float, int]]
    """Of clients with nothing else changed: the rate in force in bytes/s, and the number of the latest grant."""
    full: bool = False


_entry: Final = msgspec.msgpack.Decoder(JournalEntry)
_operations: Final = msgspec.msgpack.Decoder(list[CompletedOperation])
_pack: Final = msgspec.msgpack.Encoder()


class Journal:
    """The file, locked for this process.

    Args:
        path: Where the file is, or will be.

    Raises:
        InputError: If the file cannot be used, or another coordinator uses it.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.failure: str | None = None
        """Why the last commit failed, if it did."""
        self.is_long = True
        """Whether the next entry should be full."""
        self._commits = 0
        self._bytes = self._full_bytes = 0
        self._ended = 0
        """Operations that have ended so far. The id of a row of operations is the number of its last one."""
        self._void, self._valid = 0, 0
        """Rows with ids from `_void` up to, but not including, `_valid` are void: a full row has replaced them."""
        self._fold_due = False
        self._lock = lock_journal(path)
        self._database: sqlite3.Connection | None = None
        self._files: dict[str, tuple[int, int]] = {}
        """Device and inode of the files of the database, by their paths."""
        self._done = threading.Event()
        self._folder: threading.Thread | None = None
        try:
            self._begin(STARTING_SECONDS)
        except sqlite3.Error as error:
            if not is_full(path):
                self._lock.close()
                raise InputError(path, f"cannot be used as a journal: {error}; move it away to begin anew") from None
            self.failure = str(error)
            LOG.warning("journal %s: %s; starting WITHOUT a journal, and trying again", path, error)

    def load(self) -> tuple[Present | None, list[Client]]:
        """The state at the last commit; None and no clients in a new file."""
        try:
            if self._database is None:
                with contextlib.closing(open_unshared(self.path)) as database:
                    return self._load(database)
            return self._load(self._database)
        except (sqlite3.Error, msgspec.MsgspecError) as error:
            if self._database is None:
                if Path(self.path).exists():
                    LOG.warning("journal %s cannot be read either: %s; earlier grants are not known", self.path, error)
                return None, []
            raise InputError(self.path, f"cannot be read: {error}; move it away to begin anew") from None

    def _load(self, database: sqlite3.Connection) -> tuple[Present | None, list[Client]]:
        entries = entries_in(database)
        (self._void,) = database.execute("SELECT coalesce(min(id), 0) FROM entry").fetchone()
        (self._ended,) = database.execute("SELECT coalesce(max(id), 0) FROM passages").fetchone()
        return entries[-1].present if entries else None, fold(entries)

    def commit(self, entry: JournalEntry, operations: Sequence[CompletedOperation] = ()) -> None:
        """Write an entry and the operations that have ended. A failure to write sets `failure`."""
        packed, ended = _pack.encode(entry), self._ended + len(operations)
        try:
            database = self._database or self._begin()
            with database:
                if operations:
                    database.execute("INSERT INTO passages VALUES (?, ?)", (ended, _pack.encode(operations)))
                if ended > MOST_OPERATIONS:
                    database.execute("DELETE FROM passages WHERE id <= ?", (ended - MOST_OPERATIONS,))
                row = database.execute("INSERT INTO entry (entry) VALUES (?)", (packed,)).lastrowid
                void = max(self._void, min(self._void + VOID_ROWS, self._valid))
                if void > self._void:
                    database.execute("DELETE FROM entry WHERE id >= ? AND id < ?", (self._void, void))
        except (sqlite3.Error, InputError) as error:
            self.failure, self.is_long = str(error), True
            return
        self.failure = None
        self._commits += 1
        self._void, self._ended = void, ended
        if entry.full:
            self._bytes, self._full_bytes, self._valid = 0, len(packed), row or 0
        self._bytes += len(packed)
        self.is_long = self._bytes > LONG_BYTES + 4 * self._full_bytes
        if self._fold_due:
            self._fold_due = False
            with contextlib.suppress(sqlite3.Error):
                database.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def begin_anew_if_gone(self) -> None:
        """If the files were deleted or replaced, leave what is there aside and begin new ones, with a full entry.

        What is written to a deleted file is lost at the end of the process, and then another one would grant the same
        bandwidth again.
        """
        if self._database is None or all(identity(path) == ours for path, ours in self._files.items()):
            return
        LOG.error("journal %s was deleted or replaced while in use; writing a new one", self.path)
        self._end()
        try:
            aside = f"{self.path}.found-{time.time_ns()}"
            for suffix in ("", "-wal", "-shm"):
                with contextlib.suppress(FileNotFoundError):
                    os.rename(f"{self.path}{suffix}", f"{aside}{suffix}")  # noqa: PTH104
            self._begin()
        except (sqlite3.Error, OSError, InputError) as error:
            self.failure = str(error)

    def close(self) -> None:
        """Fold the log into the file and close it."""
        self._end()
        self._lock.close()

    def _begin(self, wait: float = BUSY_SECONDS) -> sqlite3.Connection:
        """Open the files; wait so many seconds for another process that has locked them."""
        if not self._lock.is_there:  # the folder is a new one
            lock, self._lock = self._lock, lock_journal(self.path)
            lock.close()
        self._database = database = open_journal(self.path, wait)
        self._files = {path: identity(path) for path in (self.path, f"{self.path}-wal")}
        self.is_long = True
        self._void = self._valid = 0
        self._done = threading.Event()
        self._folder = threading.Thread(target=self._fold, args=(self._done,), name="penstock-journal", daemon=True)
        self._folder.start()
        return database

    def _end(self) -> None:
        if self._folder is not None:
            self._done.set()
            self._folder.join()
            self._folder = None
        if self._database is not None:
            self._database.close()
            self._database = None

    def _fold(self, done: threading.Event) -> None:
        """Copy the log into the file while others write. A commit empties the log, when little of it is left to copy."""
        log, seen = Path(f"{self.path}-wal"), -1
        with contextlib.closing(sqlite3.connect(self.path, isolation_level=None, timeout=0.0)) as database:
            while not done.wait(FOLD_SECONDS):
                rests, seen = self._commits == seen, self._commits
                with contextlib.suppress(sqlite3.Error, OSError):
                    if not rests and log.stat().st_size > FOLD_BYTES:
                        database.execute("PRAGMA wal_checkpoint(PASSIVE)")
                        self._fold_due = True


class JournalWriter:
    """Writes what has changed in a core, and does without the journal while it cannot be written.

    Args:
        journal: The file.
        clock: Gives the date of each entry.
        core: What is written.
        configured: The policy in the settings.
    """

    def __init__(self, journal: Journal, clock: Clock, core: Core, configured: str) -> None:
        self._journal = journal
        self._clock = clock
        self._core = core
        self._configured = configured
        self._policy = ""
        self._retry = 0.0
        self._check = 0.0

    @property
    def next_date(self) -> float:
        """When to try again, or to look whether the files are still there."""
        return self._retry if self._journal.failure else self._check

    @property
    def is_due(self) -> bool:
        """Whether books or the chosen policy have changed, an earlier commit failed, or the files are to be looked at."""
        core, is_failing = self._core, self._journal.failure
        changed = core.registry.changed or core.decider.chosen != self._policy
        return bool(changed or is_failing or self._clock.now() >= self._check)

    def commit(self) -> None:
        """Write what has changed; after a failure, try again every `RETRY_SECONDS`."""
        registry, mark, before = self._core.registry, self._clock.mark(), self._journal.failure
        self._journal.begin_anew_if_gone()
        self._check = mark.now + CHECK_SECONDS
        if before and mark.now < self._retry:
            registry.mark_written()  # the first entry after a failure is a full one
            del registry.ended[:-MOST_UNWRITTEN]
            return
        full = self._journal.is_long
        self._journal.commit(JournalEntry(self._present(mark), *registry.unwritten(full=full), full), registry.ended)
        registry.mark_written()
        self._policy = self._core.decider.chosen
        if not self._journal.failure:
            registry.ended.clear()
            return
        self._retry = mark.now + RETRY_SECONDS
        if not before:
            LOG.error("journal %s: %s; going on without it", self._journal.path, self._journal.failure)

    def _present(self, mark: Mark) -> Present:
        return Present(
            now=mark.now,
            monotonic=mark.monotonic,
            wall=mark.wall,
            boot=mark.boot,
            bandwidth=self._core.bandwidth,
            policy=self._core.decider.chosen,
            configured=self._configured,
            next_number=self._core.registry.next_number,
            departed=self._core.registry.departed,
        )


def entries_in(database: sqlite3.Connection) -> list[JournalEntry]:
    """The rows of a journal, which `database` holds, in their order."""
    return [_entry.decode(row) for (row,) in database.execute("SELECT entry FROM entry ORDER BY id")]


def fold(entries: Sequence[JournalEntry]) -> list[Client]:
    """The clients as they are after all entries."""
    clients: dict[int, Client] = {}
    for entry in _latest(entries):
        clients.update((client.number, client) for client in entry.changed)
        for number in entry.gone:
            clients.pop(number, None)
        for number, (rate, grant) in entry.granted.items():
            clients[number].in_force, clients[number].grant_number = rate, grant
    return [clients[number] for number in sorted(clients)]


def _latest(entries: Sequence[JournalEntry]) -> Sequence[JournalEntry]:
    """The entries from the last full one on."""
    first = max((place for place, entry in enumerate(entries) if entry.full), default=0)
    return entries[first:]


def recorded(path: str) -> tuple[Present, list[CompletedOperation]]:
    """Read a journal, whether or not a coordinator is using it.

    Args:
        path: The file.

    Returns:
        The state at the last commit, and the operations that have ended.

    Raises:
        InputError: If there is no journal at this path, or nothing in it.
    """
    if not Path(path).is_file():
        raise InputError(path, "there is no such journal; expected the file of a coordinator")
    try:
        with contextlib.closing(sqlite3.connect(f"{Path(path).absolute().as_uri()}?mode=ro", uri=True)) as database:
            database.execute("BEGIN")
            rows = database.execute("SELECT passages FROM passages ORDER BY id").fetchall()
            last = database.execute("SELECT entry FROM entry ORDER BY id DESC LIMIT 1").fetchone()
        if last is None:
            raise InputError(path, "nothing is recorded yet; expected a coordinator to have used it")
        return _entry.decode(last[0]).present, [operation for (row,) in rows for operation in _operations.decode(row)]
    except (sqlite3.Error, msgspec.MsgspecError) as error:
        raise InputError(path, f"cannot be read: {error}; expected the journal of a coordinator") from None
