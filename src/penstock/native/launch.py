"""Run a program with the libraries preloaded, and collect what they saw.

The program gets an environment and nothing else: scripts, MPI launchers and Slurm steps pass it on to what they start.

A preloaded library cannot see static programs, Go programs, and programs with the rights of another user. A script is as
visible as its interpreter. A program of which nothing can be found out counts as visible.

The library for MPI must be of the family of the program's MPI. That is found from the libraries of the programs that the
command names, or from its launcher. If neither tells, as with a script, all that were built are preloaded: one of another
family passes all calls on.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import stat
import struct
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from penstock.live.client.environment import identify
from penstock.model.errors import InputError
from penstock.native.libraries import POSIX, mpi_libraries, require

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


def unseen_programs(folder: Path) -> list[str]:
    """Why each program is not seen that a process of a run started, and into which nothing could be preloaded.

    Args:
        folder: The folder of the records.
    """
    noted = folder / "unseen"
    if not noted.is_file():
        return []
    paths = dict.fromkeys(noted.read_text(encoding="utf-8", errors="replace").splitlines())
    return [reason for reason in map(unseen_because, paths) if reason is not None]


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


FAMILIES: Final = {
    "openmpi": ("libmpi.so.40", "libopen-rte.", "libprrte."),
    "abi": ("libmpi_abi.",),
    "mpich": ("libmpich.", "libmpi.so.12", "libmpi_intel.", "libmpi_gnu", "libmpi_cray."),
}
"""How libraries of an MPI or of its launcher are called."""
LAUNCHERS: Final = {"mpiexec.hydra": "mpich", "mpiexec.gforker": "mpich", "orterun": "openmpi", "prterun": "openmpi"}
"""The programs that names such as mpiexec stand for."""


def mpi_family(command: Sequence[str]) -> str | None:
    """The family of MPIs that a command uses, as far as can be told.

    Args:
        command: A program and its arguments, among which there may be another program.
    """
    found = [shutil.which(word) for word in command]
    programs = list(dict.fromkeys(Path(path).resolve() for path in found if path is not None))
    linked = (_family_of(program) for program in reversed(programs))
    launchers = (LAUNCHERS.get(program.name) for program in programs)
    return next((family for family in (*linked, *launchers) if family), None)


def _family_of(program: Path) -> str | None:
    """The family of the MPI that a program is linked with."""
    with program.open("rb") as file:
        if file.read(4) != b"\x7fELF" or shutil.which("ldd") is None:
            return None
    said = subprocess.run(["ldd", str(program)], capture_output=True, text=True, check=False).stdout  # noqa: S603, S607
    names = [line.split()[0] for line in said.splitlines() if line.strip()]
    return next(
        (family for family, marks in FAMILIES.items() if any(Path(name).name.startswith(marks) for name in names)), None
    )


PARALLEL: Final = ("lustre", "gpfs", "beegfs", "ceph", "pvfs2", "panfs", "wekafs", "daos", "nfs", "nfs4", "fuse.cvmfs2")
"""File systems that nodes share, by the names in /proc/self/mounts."""
PASSED_ON: Final = (signal.SIGHUP, signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2)
KILLED: Final = 128
"""What is added to the number of a signal that ended a program, as shells do."""


SHORTEST_GAP: Final = 1e-3
LONGEST_GAP: Final = 1e6
"""Seconds between which the library takes a gap."""
HINT: Final = re.compile(r"(volume|rounds)=[0-9]+(,(volume|rounds)=[0-9]+)?")


@dataclass(frozen=True)
class Options:
    """What ``penstock run`` is told.

    Raises:
        InputError: If the gap is out of range.
        UsageError: If a coordinator would refuse the name, the nodes or the bandwidth.
    """

    mounts: tuple[Path, ...] = ()
    """Folders whose files are watched; none for `default_mounts`."""
    name: str | None = None
    nodes: int | None = None
    bandwidth: float | None = None
    """The most that the program can use, in bytes/s."""
    gap: float | None = None
    """Seconds without I/O that end a phase."""
    socket: str | None = None
    observe: bool = False
    """Only record: connect to no coordinator."""
    each: bool = False
    """Each process is an application of its own."""

    def __post_init__(self) -> None:
        identify(self.name, self.nodes, bandwidth=self.bandwidth)
        if self.gap is not None and not SHORTEST_GAP <= self.gap <= LONGEST_GAP:
            raise InputError("--gap", f"{self.gap:g} s is out of range; expected {SHORTEST_GAP:g} to {LONGEST_GAP:g} s")

    def doubts(self, given: Mapping[str, str] = os.environ) -> list[str]:
        """What may be a slip, a sentence each: the program runs all the same.

        Args:
            given: The environment, which may have a hint of the program's phases.
        """
        absent = [str(mount) for mount in self.mounts if not mount.exists()]
        said = [f"--mount: there is no folder {mount!r}; files below it are seen only if it is made" for mount in absent]
        phase = given.get("PENSTOCK_PHASE", "")
        if phase and not HINT.fullmatch(phase):
            said.append(f"PENSTOCK_PHASE: {phase!r} is no hint; expected volume=BYTES,rounds=N with plain numbers")
        return said


def default_mounts(mounts: str | None = None) -> tuple[Path, ...]:
    """What is watched unless told: the mount points of shared file systems, or the current folder if there are none.

    Args:
        mounts: The text of /proc/self/mounts; None reads it.
    """
    text = Path("/proc/self/mounts").read_text(encoding="utf-8", errors="replace") if mounts is None else mounts
    rows = [line.split() for line in text.splitlines()]
    shared = [Path(_unescaped(row[1])) for row in rows if len(row) > 2 and row[2] in PARALLEL]
    return tuple(shared) or (Path.cwd(),)


def _unescaped(text: str) -> str:
    """A path of /proc/self/mounts, in which spaces and some other characters are octal numbers."""
    for octal, letter in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        text = text.replace(octal, letter)
    return text


def environment(
    options: Options,
    record: Path | None,
    given: Mapping[str, str] = os.environ,
    command: Sequence[str] = (),
    hub: Path | None = None,
) -> dict[str, str]:
    """The variables to add for a program.

    Args:
        options: What was asked for.
        record: The folder in which processes leave their records; None for none.
        given: The environment as it is; a library that is preloaded already stays so, after ours.
        command: The program and its arguments, which tell the MPI that it uses.
        hub: The socket at which the processes become one application, unless each is one; None for none.

    Raises:
        InputError: If the library was not built, or a mount cannot be named.
    """
    mounts = [str(mount.absolute()) for mount in options.mounts or default_mounts()]
    for mount in mounts:
        if ":" in mount:
            raise InputError("--mount", f"{mount!r} has a colon, which separates folders; expected a folder without one")
    family, built = mpi_family(command), mpi_libraries()
    preloaded = [str(path) for name, path in built.items() if family in (None, name)] + [str(require(POSIX))]
    others = [path for path in given.get("LD_PRELOAD", "").replace(":", " ").split() if path not in preloaded]
    no_hub = "" if "PENSTOCK_JOB_SOCKET" in given else None  # a run inside another one is a job of its own
    told = {
        "LD_PRELOAD": ":".join([*preloaded, *others]),
        "PENSTOCK_MOUNTS": ":".join(mounts),
        "PENSTOCK_NAME": options.name,
        "PENSTOCK_NODES": options.nodes,
        "PENSTOCK_BANDWIDTH": options.bandwidth,
        "PENSTOCK_GAP": options.gap,
        "PENSTOCK_SOCKET": options.socket,
        "PENSTOCK_OBSERVE": 1 if options.observe else None,
        "PENSTOCK_RECORD": record,
        "PENSTOCK_JOB_SOCKET": hub if hub and not (options.each or options.observe) else no_hub,
    }
    variables = {name: str(value) for name, value in told.items() if value is not None}
    return variables | (_for_all_nodes(command, variables, given) if family == "openmpi" else {})


def _for_all_nodes(command: Sequence[str], variables: Mapping[str, str], given: Mapping[str, str]) -> dict[str, str]:
    """Have Open MPI's launcher pass the variables on to other nodes; it refuses to, beside -x.

    Ranks on other nodes without the library would be waited for, so it must know that they have it.
    """
    launcher = shutil.which(command[0])
    if launcher is None or LAUNCHERS.get(Path(launcher).resolve().name) != "openmpi" or "-x" in command:
        return {}
    told = [*given.get("OMPI_MCA_mca_base_env_list", "").split(";"), *variables, "PENSTOCK_ALL_RANKS"]
    listed = ";".join(dict.fromkeys(name for name in told if name))
    return {"OMPI_MCA_mca_base_env_list": listed, "PENSTOCK_ALL_RANKS": "1"}


def run(command: Sequence[str], variables: Mapping[str, str]) -> int:
    """Run a program to its end with these variables added; returns its exit code, as a shell would.

    Ctrl-C reaches the program by its terminal; we wait for it to end. Signals by which a batch system asks for a checkpoint
    or for the end are passed on.

    Args:
        command: The program and its arguments.
        variables: The variables to add to the environment.
    """
    with _signals_passed_on() as told:
        try:
            # Descriptors are passed on: ranks of a Slurm step find each other by one.
            process = subprocess.Popen(list(command), env={**os.environ, **variables}, close_fds=False)  # noqa: S603
        except FileNotFoundError:
            raise InputError("run", f"there is no program {command[0]!r}; expected one on PATH, or its path") from None
        except OSError as error:
            expected = "a program that may be executed, or a script whose first line names its interpreter"
            raise InputError("run", f"{command[0]!r} cannot be run: {error.strerror}; expected {expected}") from None
        told(process)
        code = process.wait()
    return KILLED - code if code < 0 else code


@contextmanager
def _signals_passed_on() -> Iterator[Callable[[subprocess.Popen[bytes]], None]]:
    """Pass signals on to the process that the block tells, also those that come before; those that are ignored stay so.

    Handlers, which the program does not inherit, and no SIG_IGN, which it would.
    """
    early: list[int] = []
    pass_on = early.append

    def tell(process: subprocess.Popen[bytes]) -> None:
        nonlocal pass_on
        pass_on = process.send_signal
        for number in early:
            process.send_signal(number)

    def handle(number: int, _: object) -> None:
        if number != signal.SIGINT:
            pass_on(number)

    handled = [one for one in (signal.SIGINT, *PASSED_ON) if signal.getsignal(one) != signal.SIG_IGN]
    before = {number: signal.signal(number, handle) for number in handled}
    try:
        yield tell
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
