"""What the system has and does for a test bed, and the record of what a test bed has made.

The system has mounts, loop devices, cgroups, and programs that change them. Whether a thing belongs to a test bed is read
from the kernel, not from the record: a loop device is ours if its backing file is our image, a mount if its device is
that loop device.

The record is written before each step, so that a crash leaves nothing that cannot be removed. There is one file for each
directory that a test bed is mounted at, in one folder, beside the image. Reading and changing these files requires the lock
of the folder.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final, NamedTuple

from penstock.model.errors import InputError
from penstock.model.files import replacing

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


FOLDER: Final = "/var/lib/penstock-testbeds"
VARIABLE: Final = "PENSTOCK_TESTBEDS"
"""The environment variable with another folder for images and records."""


def folder_of_beds() -> Path:
    """The folder of images and records, without symbolic links, as the kernel names it."""
    return Path(os.path.realpath(os.environ.get(VARIABLE) or FOLDER))


@dataclass(frozen=True)
class BedRecord:
    """One test bed: what it will be, in bytes and bytes/s, and which steps were started."""

    name: str
    """The unique name of the image and the cgroup."""
    directory: str
    bandwidth: int
    size: int
    image: str
    group: str
    steps: tuple[str, ...] = ()
    complete: bool = False

    def begun(self, step: str) -> BedRecord:
        """The record with one more `step` started."""
        return replace(self, steps=(*self.steps, step))


def path_of_record(folder: Path, directory: Path) -> Path:
    """The file in the `folder` of records for the test bed at a `directory`."""
    return folder / f"{hashlib.sha256(os.fsencode(directory)).hexdigest()[:16]}.json"


def write_record(folder: Path, state: BedRecord) -> None:
    """Replace the record of a test bed atomically: `state`, in the `folder` of records."""
    with replacing(path_of_record(folder, Path(state.directory))) as temporary:
        temporary.write_text(json.dumps(asdict(state), indent=1) + "\n")


def read_record(folder: Path, directory: Path) -> BedRecord | None:
    """The test bed at a `directory` by the `folder` of records, or None; InputError if its record cannot be read."""
    return _read(path_of_record(folder, directory))


def read_records(folder: Path) -> list[BedRecord]:
    """All test beds of a `folder` of records."""
    found = (_read(path) for path in sorted(folder.glob("[0-9a-f]*.json")))
    return [state for state in found if state is not None]


def forget_record(folder: Path, state: BedRecord) -> None:
    """Remove the record `state` from the `folder`, and the folder if nothing is left in it."""
    path_of_record(folder, Path(state.directory)).unlink(missing_ok=True)
    with suppress(OSError):
        folder.rmdir()


def _read(path: Path) -> BedRecord | None:
    try:
        document: dict[str, Any] = json.loads(path.read_text())
        return BedRecord(**{**document, "steps": tuple(document["steps"])})
    except FileNotFoundError:
        return None
    except (ValueError, TypeError, KeyError):
        raise InputError(str(path), "is not the state of a test bed; expected the file as penstock wrote it") from None


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Lock the `folder` while the block runs. It is made if it is missing, and removed if it is empty at the end."""
    descriptor = _lock(folder)
    try:
        yield
    finally:
        with suppress(OSError):
            folder.rmdir()
        os.close(descriptor)


def _lock(folder: Path) -> int:
    while True:
        try:
            with suppress(FileExistsError):
                folder.mkdir(mode=0o700, parents=True)
            descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        except FileNotFoundError:
            continue
        except OSError as error:
            raise InputError(str(folder), f"cannot be used: {error.strerror}; expected a folder for test beds") from None
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(descriptor), folder.stat()):
                return descriptor
        os.close(descriptor)  # the process that had the lock has removed the folder
