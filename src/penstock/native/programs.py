"""Programs that a preloaded library cannot see: static and Go programs, programs with the rights of another user.

A script is as visible as its interpreter. What cannot be told is taken to be visible.
"""

from __future__ import annotations

import os
import shutil
import stat
import struct
from pathlib import Path
from typing import Final

PROGRAM_HEADER_INTERPRETER: Final = 3
MOST_SCRIPTS: Final = 4
"""Interpreters of interpreters that are followed; Linux follows as many."""


def unseen_because(command: str) -> str | None:
    """Why a preloaded library does not see a program; None if it does, as far as can be told.

    Args:
        command: The program, by its path or its name on PATH.
    """
    found = shutil.which(command)
    if found is None:
        return None
    path = Path(found)
    for _ in range(MOST_SCRIPTS):
        if _privileged(path):
            return f"{path} runs with the rights of another user, so the system preloads nothing into it"
        try:
            with path.open("rb") as file:
                head = file.read(4096)
                if head.startswith(b"\x7fELF"):
                    return _unseen_elf(path, head)
        except OSError:
            return None
        interpreter = _interpreter(head)
        if interpreter is None:
            return None
        path = interpreter
    return None


def _privileged(path: Path) -> bool:
    try:
        found = path.stat()
    except OSError:
        return False
    other_user = bool(found.st_mode & stat.S_ISUID) and found.st_uid != os.getuid()
    return other_user or (bool(found.st_mode & stat.S_ISGID) and found.st_gid != os.getgid())


def _interpreter(head: bytes) -> Path | None:
    """The interpreter of a script, through `env` if that finds it."""
    if not head.startswith(b"#!"):
        return None
    words = head[2:].partition(b"\n")[0].decode(errors="replace").split()
    if not words:
        return None
    if Path(words[0]).name == "env":
        names = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
        found = shutil.which(names[0]) if names else None
        return Path(found) if found else None
    return Path(words[0])


def _unseen_elf(path: Path, head: bytes) -> str | None:
    """Why an ELF program is unseen: it asks for no dynamic loader, or Go made it."""
    if len(head) < 64 or head[4] != 2:  # not 64 bit: the library does not fit
        return f"{path} is no 64-bit program, which the library is made for"
    order = "<" if head[5] == 1 else ">"
    (offset,) = struct.unpack_from(f"{order}Q", head, 32)
    size, count = struct.unpack_from(f"{order}HH", head, 54)
    dynamic = any(
        struct.unpack_from(f"{order}I", head, offset + size * index)[0] == PROGRAM_HEADER_INTERPRETER
        for index in range(count)
        if offset + size * index + 4 <= len(head)
    )
    if not dynamic:
        return f"{path} is linked statically, so nothing can be preloaded into it"
    if b"Go build ID" in head or b".note.go.buildid" in head:
        return f"{path} is a Go program, which calls the kernel without the C library"
    return None
