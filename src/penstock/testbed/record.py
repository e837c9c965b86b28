"""The record of what a test bed has made, written before each step, so that a crash leaves nothing that cannot be removed.

There is one file for each directory that a test bed is mounted at, in one folder, beside the image. Reading and changing
these files requires the lock of the folder.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

from penstock.model.errors import InputError
from penstock.model.files import replacing

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


def path_of(folder: Path, directory: Path) -> Path:
    """The file in the `folder` of records for the test bed at a `directory`."""
    return folder / f"{hashlib.sha256(os.fsencode(directory)).hexdigest()[:16]}.json"


def write(folder: Path, state: BedRecord) -> None:
    """Replace the record of a test bed atomically: `state`, in the `folder` of records."""
    with replacing(path_of(folder, Path(state.directory))) as temporary:
        temporary.write_text(json.dumps(asdict(state), indent=1) + "\n")


def read(folder: Path, directory: Path) -> BedRecord | None:
    """The test bed at a `directory` by the `folder` of records, or None; InputError if its record cannot be read."""
    return _read(path_of(folder, directory))


def read_all(folder: Path) -> list[BedRecord]:
    """All test beds of a `folder` of records."""
    found = (_read(path) for path in sorted(folder.glob("[0-9a-f]*.json")))
    return [state for state in found if state is not None]


def forget(folder: Path, state: BedRecord) -> None:
    """Remove the record `state` from the `folder`, and the folder if nothing is left in it."""
    path_of(folder, Path(state.directory)).unlink(missing_ok=True)
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
