"""The files that one coordinator owns at a time: lock files, and the journal's database.

A lock file names its owner, for the socket of a coordinator and for its journal. A process holds the lock as long as it
lives, even while it is stopped (SIGSTOP). The system releases the lock when it ends.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import sqlite3
import tempfile
from pathlib import Path
from typing import Final

from penstock.model import InputError


class LockFile:
    """A lock that one process holds at a time.

    Args:
        path: The file, which is made and never removed.
        place: What is locked, for the error.
        conflict: What the owner does with it and what is expected instead, for the error.

    Raises:
        InputError: If another process holds the lock; names its process id.
        OSError: If the file cannot be made.
    """

    def __init__(self, path: str, place: str, conflict: str) -> None:
        self.path = path
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            owner = os.pread(self._file, 20, 0).decode("ascii", "replace").strip()
            self.close()
            who = f"another coordinator (pid {owner})" if owner.isdecimal() else "another coordinator"
            raise InputError(place, f"{who} {conflict}") from None
        with contextlib.suppress(OSError):  # on a full disk the lock holds, too
            os.ftruncate(self._file, 0)
            os.pwrite(self._file, f"{os.getpid()}\n".encode(), 0)

    @property
    def is_there(self) -> bool:
        """Whether the file at the path is still the one that is locked."""
        with contextlib.suppress(OSError):
            return os.path.samestat(os.stat(self.path), os.fstat(self._file))  # noqa: PTH116
        return False

    def close(self) -> None:
        """Release the lock."""
        os.close(self._file)


FORMAT: Final = 2
PAGE_BYTES: Final = 2048
"""A commit writes complete pages, so they are small."""
NEW_BYTES: Final = 65_536
"""More than a new journal takes."""
BUSY_SECONDS: Final = 0.01
"""How long a commit waits for another process that has locked the file."""
STARTING_SECONDS: Final = 30.0
"""How long a start waits for it: a reader of the journal may repair its log after a coordinator was killed."""
_TABLES: Final = """
CREATE TABLE IF NOT EXISTS entry (id INTEGER PRIMARY KEY, entry BLOB);
CREATE TABLE IF NOT EXISTS passages (id INTEGER PRIMARY KEY, passages BLOB);
"""


def lock_journal(path: str) -> LockFile:
    """Lock the journal at `path` for this process: two coordinators would grant the same bandwidth twice."""
    try:
        Path(path).parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        return LockFile(f"{path}.lock", path, "uses this journal; expected one of its own, --journal FILE")
    except OSError as error:
        raise InputError(path, f"cannot be written: {error.strerror}") from None


def identity(path: str) -> tuple[int, int]:
    """Device and inode of the file at `path`; zeros if it is not there."""
    try:
        found = os.stat(path)  # noqa: PTH116
    except OSError:
        return 0, 0
    return found.st_dev, found.st_ino


def is_full(path: str) -> bool:
    """Whether the disk takes no more data at the path, so that the journal may be right and cannot be written."""
    try:
        with tempfile.TemporaryFile(dir=Path(path).parent, buffering=0) as probe:
            return (probe.write(bytes(NEW_BYTES)) or 0) < NEW_BYTES
    except OSError as error:
        return error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def open_unshared(path: str) -> sqlite3.Connection:
    """Open the journal at `path` to read it where the index of its log, which processes share, cannot be written."""
    database = sqlite3.connect(f"{Path(path).absolute().as_uri()}?mode=rw", uri=True, timeout=BUSY_SECONDS)
    database.execute("PRAGMA locking_mode=EXCLUSIVE")
    return database


def open_journal(path: str, wait: float) -> sqlite3.Connection:
    """Open the journal at `path` or make one, which only its owner may read; sqlite3.Error if it cannot be used.

    If another process has locked it, wait so many seconds.
    """
    previous = os.umask(0o077)
    try:
        database = sqlite3.connect(path, timeout=wait)
    finally:
        os.umask(previous)
    try:
        _prepare(database)
        database.execute(f"PRAGMA busy_timeout={round(1000 * BUSY_SECONDS)}")
    except sqlite3.Error:
        database.close()
        raise
    return database


def _prepare(database: sqlite3.Connection) -> None:
    previous = os.umask(0o077)
    try:
        database.execute(f"PRAGMA page_size={PAGE_BYTES}")
        database.execute("PRAGMA journal_mode=WAL")
        database.execute("PRAGMA synchronous=NORMAL")
        database.execute("PRAGMA wal_autocheckpoint=0")
        found = database.execute("PRAGMA user_version").fetchone()[0]
        if found not in (0, FORMAT):
            raise sqlite3.DatabaseError(f"its format is {found}, not {FORMAT}")
        if found != FORMAT:
            database.executescript(_TABLES)
            database.execute(f"PRAGMA user_version={FORMAT}")
        database.execute("SELECT count(*) FROM sqlite_master").fetchone()  # opens the log
    finally:
        os.umask(previous)
