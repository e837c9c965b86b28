"""What the system has and does for a test bed: mounts, loop devices, cgroups, and programs that change them.

Whether a thing belongs to a test bed is read from the kernel, not from a record: a loop device is ours if its backing
file is our image, a mount if its device is that loop device.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from penstock.model.errors import InputError

Runner = Callable[[Sequence[str]], str]
"""Runs a command and returns its output; raises InputError with the reason in one line."""
TIMEOUT_SECONDS: Final = 120.0


def run(command: Sequence[str]) -> str:
    """Run a `command` to its end and return its output; InputError if it fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=TIMEOUT_SECONDS)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired) as error:
        raise InputError(command[0], str(error)) from None
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip().splitlines()
        raise InputError(command[0], said[-1] if said else f"failed with code {done.returncode}")
    return done.stdout


MOUNTS: Final = Path("/proc/self/mountinfo")
BLOCK: Final = Path("/sys/block")
LOOP_CONTROL: Final = Path("/dev/loop-control")
MEMBERS: Final = "cgroup.procs"


class Mount(NamedTuple):
    """A mounted file system: the numbers of its device ("7:0"), its directory, its type and the options of its type."""

    device: str
    at: str
    kind: str
    options: tuple[str, ...]


class Loop(NamedTuple):
    """A loop device: its path and its numbers."""

    path: Path
    device: str


def mounts() -> list[Mount]:
    """All mounts, in the order they were made."""
    found = []
    for line in MOUNTS.read_text(encoding="utf-8", errors="surrogateescape").splitlines():
        fields, _, last = line.partition(" - ")
        _, _, device, _, at, *_ = fields.split(" ")
        kind, _, options = last.split(" ", 2)
        found.append(Mount(device, _unescaped(at), kind, tuple(options.split(","))))
    return found


def _unescaped(text: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), text)


def loops_of(image: Path) -> list[Loop]:
    """The loop devices whose backing file is the `image`."""
    found = []
    for file in sorted(BLOCK.glob("loop*/loop/backing_file")):
        try:
            if file.read_text().rstrip("\n") == str(image):
                found.append(Loop(Path("/dev") / file.parents[1].name, (file.parents[1] / "dev").read_text().strip()))
        except OSError:  # detached meanwhile
            continue
    return found


def blkio_root() -> Path | None:
    """Where the blkio controller of cgroup v1 is mounted."""
    return next((Path(mount.at) for mount in mounts() if mount.kind == "cgroup" and "blkio" in mount.options), None)


def device_of(path: Path) -> str:
    """The numbers of the device that has this file or folder (`path`), such as "7:0"."""
    number = path.stat().st_dev
    return f"{os.major(number)}:{os.minor(number)}"


def members(group: Path) -> list[int]:
    """The processes in a cgroup, by the folder of the `group`; none if it does not exist."""
    try:
        return [int(line) for line in (group / MEMBERS).read_text().split()]
    except FileNotFoundError:
        return []
