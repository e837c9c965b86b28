"""A test bed: an ext4 file system on a loop device of a given bandwidth, shared by all processes that join its cgroup.

`up` makes, in this order: the directory (if it is missing), a sparse image, the loop device, a file system without a
journal (so that only applications write), a cgroup of the blkio controller (v1) that limits reads and writes of that
device, and the mount. Each step is recorded before it is done; if one fails, `up` undoes those before it. `down` undoes
the recorded steps in the opposite order, and checks before each removal that the thing is ours
(`penstock.testbed.system`).

The kernel serves the requests of one cgroup in the order of their arrival. So applications whose processes each have one
request of the same size share the device in proportion to their processes, as 003 assumes for `interfering`.
"""

from __future__ import annotations

import os
import secrets
import shutil
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from penstock.model import InputError, parse_units
from penstock.testbed import system
from penstock.testbed.system import BedRecord, Runner

PROGRAMS: Final = ("losetup", "mkfs.ext4", "mount", "setpriv", "umount")
SMALLEST: Final = 16 * 2**20
"""Bytes of the smallest image; the file system itself needs most of it."""
SLOWEST: Final = 64 * 2**10
"""Bytes/s; below this a single request takes seconds."""
LIMITS: Final = ("blkio.throttle.read_bps_device", "blkio.throttle.write_bps_device")
DETACHED_SECONDS: Final = 5.0
"""Longest wait for a loop device to be detached, which happens when its last user is gone."""
JOIN: Final = 'echo $$ > "$0" && exec "$@"'


@dataclass(frozen=True)
class Bed:
    """A test bed that is up."""

    state: BedRecord
    device: system.Loop

    @property
    def directory(self) -> Path:
        """Where it is mounted."""
        return Path(self.state.directory)

    @property
    def bandwidth(self) -> float:
        """Bytes/s of its device, for reads and for writes."""
        return float(self.state.bandwidth)

    @property
    def free(self) -> int:
        """Bytes that can still be written: limited by its file system and by the one that has its sparse image."""
        inside, around = os.statvfs(self.directory), os.statvfs(Path(self.state.image).parent)
        free, used = inside.f_bavail * inside.f_frsize, (inside.f_blocks - inside.f_bfree) * inside.f_frsize
        held = max(0, Path(self.state.image).stat().st_blocks * 512 - used)
        return min(free, held + around.f_bavail * around.f_frsize)

    def inside(self, command: Sequence[str]) -> list[str]:
        """The `command` as one that joins the cgroup first and then runs in the same process."""
        return ["/bin/sh", "-c", JOIN, str(Path(self.state.group) / system.MEMBERS), *command]


def up(directory: Path, bandwidth: object, size: object, run: Runner = system.run) -> Bed:
    """Make a test bed; if that fails, nothing is left of it.

    Args:
        directory: Where to mount it: an empty directory, or a free name.
        bandwidth: Of its device, in bytes/s or as text with a unit.
        size: Of its image, in bytes or as text with a unit.
        run: Runs the system's programs.

    Raises:
        InputError: If an argument is wrong, or the machine cannot have a test bed.
    """
    rate, length = int(parse_units.bandwidth(bandwidth, "bandwidth")), int(parse_units.volume(size, "size"))
    if rate < SLOWEST:
        raise InputError("bandwidth", f"{bandwidth!r} is too slow; expected {SLOWEST:,} bytes/s or more")
    if length < SMALLEST:
        raise InputError("size", f"{size!r} is too small; expected {SMALLEST:,} bytes or more")
    root = _needs()
    place, folder = Path(os.path.realpath(directory)), system.folder_of_beds()
    with system.locked(folder):
        _refuse_used(place, folder)
        _refuse_no_space(length, folder)
        name = f"penstock-{secrets.token_hex(6)}"
        image, group = folder / f"{name}.img", root / name
        made = BedRecord(name, str(place), rate, length, str(image), str(group))
        try:
            for step, action in _steps(made, run):
                made = made.begun(step)
                system.write_record(folder, made)
                action()
            made = replace(made, complete=True)
            system.write_record(folder, made)
            return Bed(made, _loop(made))
        except BaseException as error:
            _roll_back(made, folder, run, error)
            if isinstance(error, OSError):
                raise InputError(str(directory), f"no test bed: {error}") from None
            raise


def down(directory: Path, run: Runner = system.run) -> bool:
    """Remove all that `up` made, even if it did not finish.

    `directory` is where the test bed is, and `run` runs the system's programs. Returns whether there was anything. Raises
    InputError if processes still use it, or something cannot be removed.
    """
    _refuse_no_root()
    folder = system.folder_of_beds()
    if not folder.is_dir():
        return False
    with system.locked(folder):
        known = system.read_record(folder, Path(os.path.realpath(directory)))
        if known is None:
            return False
        _refuse_busy(known)
        try:
            _undo(known, run)
        except OSError as error:
            raise InputError(str(directory), f"cannot be removed: {error}") from None
        system.forget_record(folder, known)
        return True


def find(directory: Path) -> Bed:
    """The test bed that contains a `directory`.

    Raises InputError if there is none, if it is not complete, or without root.
    """
    _refuse_no_root()
    place, folder = Path(os.path.realpath(directory)), system.folder_of_beds()
    if not place.is_dir():
        raise InputError(str(directory), "is not a directory; expected one in a test bed")
    known = next(filter(None, (system.read_record(folder, at) for at in (place, *place.parents))), None)
    if known is None:
        raise InputError(str(directory), "has no test bed; expected one made by penstock testbed up")
    loops = system.loops_of(Path(known.image))
    if not known.complete or not loops or not Path(known.group).is_dir():
        raise InputError(
            str(directory), f"its test bed is not whole; expected penstock testbed down {known.directory}, then up"
        )
    if system.device_of(place) != loops[0].device:
        raise InputError(str(directory), f"is on another device than its test bed; expected a folder on {loops[0].path}")
    return Bed(known, loops[0])


def condition(known: BedRecord) -> str:
    """The condition of a `known` test bed: up, unfinished, or gone (after a restart of the machine)."""
    if not known.complete:
        return "unfinished"
    loops = system.loops_of(Path(known.image))
    return "up" if loops and _mounted(known, loops) is not None and Path(known.group).is_dir() else "gone"


def _steps(made: BedRecord, run: Runner) -> list[tuple[str, Callable[[], object]]]:
    """The steps in order; the directory only if it does not exist."""
    directory, image = Path(made.directory), Path(made.image)
    fresh = [] if directory.exists() else [("directory", lambda: directory.mkdir())]
    return [
        *fresh,
        ("image", lambda: _make_image(image, made.size)),
        ("loop", lambda: run(["losetup", "--find", str(image)])),
        ("file system", lambda: run(["mkfs.ext4", "-q", "-m", "0", "-O", "^has_journal", str(_loop(made).path)])),
        ("group", lambda: _make_group(made)),
        ("mount", lambda: run(["mount", "-t", "ext4", str(_loop(made).path), made.directory])),
    ]


def _make_image(image: Path, size: int) -> None:
    with image.open("xb") as file:
        image.chmod(0o600)
        file.truncate(size)


def _make_group(made: BedRecord) -> None:
    group = Path(made.group)
    group.mkdir()
    for limit in LIMITS:
        (group / limit).write_text(f"{_loop(made).device} {made.bandwidth}")


def _loop(made: BedRecord) -> system.Loop:
    loops = system.loops_of(Path(made.image))
    if not loops:
        raise InputError(made.directory, "its loop device is gone; expected that nobody else detaches it")
    return loops[0]


def _roll_back(made: BedRecord, folder: Path, run: Runner, error: BaseException) -> None:
    """Undo the steps that were started; if that fails, keep the record and say so in the error."""
    try:
        _undo(made, run)
    except (InputError, OSError) as second:
        why = str(error) or type(error).__name__
        raise InputError(made.directory, f"{why}; it could not be undone ({second}): try penstock testbed down") from error
    system.forget_record(folder, made)


def _undo(made: BedRecord, run: Runner) -> None:
    """Undo the steps that were started, last one first; leave what does not exist or is not ours."""
    undo: dict[str, Callable[[], object]] = {
        "mount": lambda: _unmount(made, run),
        "group": lambda: _remove_group(made),
        "loop": lambda: _detach(made, run),
        "image": lambda: Path(made.image).unlink(missing_ok=True),
        "directory": lambda: _remove_directory(made),
    }
    for step in reversed(made.steps):
        if step in undo:
            undo[step]()


def _mounted(made: BedRecord, loops: Sequence[system.Loop]) -> system.Mount | None:
    """The mount at the directory, if it is ours and not covered by another."""
    over = [mount for mount in system.mounts() if mount.at == made.directory]
    return over[-1] if over and over[-1].device in {loop.device for loop in loops} else None


def _unmount(made: BedRecord, run: Runner) -> None:
    loops = system.loops_of(Path(made.image))
    if _mounted(made, loops) is not None:
        run(["umount", made.directory])
    left = [mount.at for mount in system.mounts() if mount.device in {loop.device for loop in loops}]
    if left:
        raise InputError(
            made.directory, f"its device is mounted at {left[-1]} too, or under another; expected that unmounted first"
        )


def _remove_group(made: BedRecord) -> None:
    with suppress(FileNotFoundError):
        Path(made.group).rmdir()


def _detach(made: BedRecord, run: Runner) -> None:
    for loop in system.loops_of(Path(made.image)):
        run(["losetup", "--detach", str(loop.path)])
    end = time.monotonic() + DETACHED_SECONDS
    while left := system.loops_of(Path(made.image)):
        if time.monotonic() > end:
            raise InputError(made.directory, f"{left[0].path} is still in use; expected it closed by all")
        time.sleep(0.02)


def _remove_directory(made: BedRecord) -> None:
    with suppress(OSError):  # it is not empty: others use it
        Path(made.directory).rmdir()


def _needs() -> Path:
    """The folder of the blkio controller; InputError if this machine cannot have a test bed."""
    _refuse_no_root()
    lacking = [program for program in PROGRAMS if shutil.which(program) is None]
    if lacking:
        raise InputError("testbed", f"{', '.join(lacking)} not found; expected util-linux and e2fsprogs installed")
    if not system.LOOP_CONTROL.exists():
        raise InputError("testbed", f"no loop devices ({system.LOOP_CONTROL} is missing); expected a kernel that has them")
    root = system.blkio_root()
    if root is None:
        raise InputError(
            "testbed", "no blkio controller of cgroup v1 is mounted; expected one (with cgroup v2 alone there is none)"
        )
    return root


def _refuse_no_root() -> None:
    if os.geteuid() != 0:
        raise InputError("testbed", "only root can mount and limit a device; expected to be run as root")


def _refuse_used(place: Path, folder: Path) -> None:
    for other in system.read_records(folder):
        if Path(other.directory) == place:
            what = "a test bed" if other.complete else "one that was not finished"
            raise InputError(str(place), f"there is {what}; expected penstock testbed down {place} first")
        if Path(other.directory) in place.parents:
            raise InputError(str(place), f"is inside the test bed at {other.directory}; expected a directory of its own")
    if not place.parent.is_dir():
        raise InputError(str(place), f"{place.parent} is not a directory; expected one to make it in")
    if place.exists() and (not place.is_dir() or any(place.iterdir()) or os.path.ismount(place)):
        raise InputError(str(place), "is not an empty directory; expected one, or a name that is free")


def _refuse_no_space(size: int, folder: Path) -> None:
    usage = os.statvfs(folder)
    free = usage.f_bavail * usage.f_frsize
    if size > free:
        raise InputError("size", f"{size:,} bytes do not fit into {folder} ({free:,} free); expected less")


def _refuse_busy(known: BedRecord) -> None:
    members = system.members(Path(known.group))
    if members:
        shown = ", ".join(map(str, members[:5])) + (" …" if len(members) > 5 else "")
        raise InputError(known.directory, f"processes run in its cgroup ({shown}); expected them ended first")
