"""What a test bed has made, in a file: written before each step, so that all of it can be removed after a crash.

A file for each directory that a test bed is mounted at, in one folder, beside the image. Whoever reads and changes these
files holds the lock of the folder.
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
"""Where else images and states are kept."""


def folder_of_beds() -> Path:
    """Where images and states are kept, as the kernel names it: without links."""
    return Path(os.path.realpath(os.environ.get(VARIABLE) or FOLDER))


@dataclass(frozen=True)
class BedRecord:
    """One test bed: what it is to be, and which steps were begun."""

    name: str
    """Nobody else has it: that of the image and of the cgroup."""
    directory: str
    bandwidth: int
    size: int
    image: str
    group: str
    steps: tuple[str, ...] = ()
    complete: bool = False

    def begun(self, step: str) -> BedRecord:
        """The same once a step is begun."""
        return replace(self, steps=(*self.steps, step))


def path_of(folder: Path, directory: Path) -> Path:
    """The file of the test bed at a directory."""
    return folder / f"{hashlib.sha256(os.fsencode(directory)).hexdigest()[:16]}.json"


def write(folder: Path, state: BedRecord) -> None:
    """Put the state in the place of what was there, at once."""
    with replacing(path_of(folder, Path(state.directory))) as temporary:
        temporary.write_text(json.dumps(asdict(state), indent=1) + "\n")


def read(folder: Path, directory: Path) -> BedRecord | None:
    """The test bed at a directory, if there is one."""
    return _read(path_of(folder, directory))


def read_all(folder: Path) -> list[BedRecord]:
    """All test beds."""
    found = (_read(path) for path in sorted(folder.glob("[0-9a-f]*.json")))
    return [state for state in found if state is not None]


def forget(folder: Path, state: BedRecord) -> None:
    """Remove the file, and the folder if nothing is left in it."""
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
    """Nobody else changes the test beds of the folder, which is made where it is missing and gone if it stays empty."""
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
        os.close(descriptor)  # removed by the one who had the lock
