"""A lock file that names its owner, for the socket of a coordinator and for its journal.

A process holds the lock as long as it lives, even while it is stopped (SIGSTOP). The system releases the lock when it ends.
"""

from __future__ import annotations

import contextlib
import fcntl
import os

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
