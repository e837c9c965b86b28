"""The journal: what a coordinator must know after ``kill -9`` and a restart, in SQLite with a write-ahead log.

One row an application holds its books, one row an operation that has ended what it was (`penstock.coordinator.recording`);
one row holds what is in force, written before any grant is sent, so that a
coordinator that comes back never grants what somebody may still be using. A commit is one write to the log, without waiting
for the disk: it survives the process, and the loss of power costs at most the last moments. The log is folded into the file
by a thread of its own, so that a slow disk delays nobody.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

import msgspec

from penstock.coordinator.application import Application
from penstock.coordinator.clock import Mark
from penstock.coordinator.recording import Passage
from penstock.model import InputError

FORMAT: Final = 1
PAGE_BYTES: Final = 1024
"""A commit writes the pages of the applications that have changed: small ones, for two or three applications each."""
FOLD_SECONDS: Final = 5.0
FOLD_BYTES: Final = 64 * 2**20
"""The log is folded into the file when it is that long, which stalls writers for a moment."""
BUSY_SECONDS: Final = 0.01
"""So long a commit waits for whoever else has locked the file."""
MOST_PASSAGES: Final = 1_000_000
"""Operations that are remembered; some tens of bytes each."""
PRUNED: Final = 1_000
"""So many commits lie between two looks at whether there are more."""
_TABLES: Final = """
CREATE TABLE IF NOT EXISTS application (number INTEGER PRIMARY KEY, job TEXT, uid INTEGER, books BLOB) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS passage (id INTEGER PRIMARY KEY, passage BLOB);
CREATE TABLE IF NOT EXISTS present (id INTEGER PRIMARY KEY CHECK (id = 1), state BLOB);
"""


class Present(msgspec.Struct):
    """What changes with every decision: the date on all clocks, the policy, and what is in force by application."""

    now: float
    monotonic: float
    wall: float
    boot: str
    bandwidth: float
    policy: str
    configured: str
    """The policy it was started with: one that was changed since outlives a restart with the same."""
    next_number: int
    in_force: dict[int, tuple[float, int]]
    """Bytes/s that an application with an operation under way may be using, and the number of its latest grant."""
    departed: list[str] = []
    """Jobs known ahead that have come and gone."""

    @property
    def mark(self) -> Mark:
        """The date."""
        return Mark(self.now, self.monotonic, self.wall, self.boot)


_books: Final = msgspec.msgpack.Decoder(Application)
_present: Final = msgspec.msgpack.Decoder(Present)
_passage: Final = msgspec.msgpack.Decoder(Passage)
_pack: Final = msgspec.msgpack.Encoder()


class Journal:
    """The file. `failure` says why it can no longer be written, if so: the coordinator goes on without."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.failure: str | None = None
        self._commits = 0
        self._fold_due = False
        self._lock = _lock(path)
        try:
            self._database = _open(path)
        except sqlite3.Error as error:
            raise InputError(
                path, f"cannot be used as a journal: {error}; expected a file of an earlier run, or none"
            ) from None
        self._done = threading.Event()
        self._folder = threading.Thread(target=self._fold, name="penstock-journal", daemon=True)
        self._folder.start()

    def load(self) -> tuple[Present | None, list[Application]]:
        """What was known at the last commit; nothing in a new file."""
        try:
            row = self._database.execute("SELECT state FROM present").fetchone()
            present = _present.decode(row[0]) if row else None
            rows = self._database.execute("SELECT books FROM application ORDER BY number").fetchall()
            applications = [_books.decode(books) for (books,) in rows]
        except (sqlite3.Error, msgspec.MsgspecError) as error:
            raise InputError(self.path, f"cannot be read: {error}; move it away to begin anew") from None
        in_force = present.in_force if present else {}
        for application in applications:
            rate, number = in_force.get(application.number, (0.0, 0))
            application.in_force = rate
            application.grant_number = max(number, application.grant_number)
        return present, applications

    def commit(
        self,
        present: Present,
        changed: Iterable[tuple[int, Application | None]],
        passages: Sequence[Passage] = (),
        *,
        anew: bool = False,
    ) -> None:
        """Write it down; None is an application that is no more, `anew` says that those changed are all there are."""
        kept, gone = [], []
        for number, application in changed:
            if application is None:
                gone.append((number,))
            else:
                kept.append((number, application.job, application.uid, _pack.encode(application)))
        try:
            with self._database:
                if anew:
                    self._database.execute("DELETE FROM application")
                if kept:
                    self._database.executemany("INSERT OR REPLACE INTO application VALUES (?, ?, ?, ?)", kept)
                if gone:
                    self._database.executemany("DELETE FROM application WHERE number = ?", gone)
                if passages:
                    ended = [(_pack.encode(passage),) for passage in passages]
                    self._database.executemany("INSERT INTO passage (passage) VALUES (?)", ended)
                self._database.execute("INSERT OR REPLACE INTO present VALUES (1, ?)", (_pack.encode(present),))
                self._commits += 1
                if self._commits % PRUNED == 0:
                    last = "(SELECT max(id) FROM passage)"
                    self._database.execute(f"DELETE FROM passage WHERE id <= {last} - ?", (MOST_PASSAGES,))  # noqa: S608
            self.failure = None
            if self._fold_due:
                self._fold_due = False
                self._database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        except sqlite3.Error as error:
            self.failure = str(error)

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


def recorded(path: str) -> tuple[Present, list[Passage]]:
    """What a journal remembers, whether or not a coordinator is using it."""
    if not Path(path).is_file():
        raise InputError(path, "there is no such journal; expected the file of a coordinator")
    try:
        with contextlib.closing(sqlite3.connect(f"{Path(path).absolute().as_uri()}?mode=ro", uri=True)) as database:
            (state,) = database.execute("SELECT state FROM present").fetchone() or (None,)
            rows = database.execute("SELECT passage FROM passage ORDER BY id").fetchall()
        if state is None:
            raise InputError(path, "nothing is recorded yet; expected a coordinator to have used it")
        return _present.decode(state), [_passage.decode(row) for (row,) in rows]
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
