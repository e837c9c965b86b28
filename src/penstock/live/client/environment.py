"""What a client knows before it connects: the coordinator's address, the token, the patience, and who the application is.

Arguments come first, then the environment, then defaults.

An address is a Unix socket, or a TCP port that needs a token: the argument, else `PENSTOCK_SOCKET`, else `default_socket()`.
As text it is a path or ``host:port`` (``[::1]:7000`` for IPv6). The identity of an application is its arguments, else what
Slurm says about its job, else the name of the program.

A wrong argument is an error of the program and raises an exception. A wrong setting in the environment is not: the
application goes on uncoordinated and logs the reason once.
"""

from __future__ import annotations

import errno
import logging
import math
import os
import pwd
import stat
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final, TypeAlias

from penstock.live.client.errors import AddressError, ClientError, UsageError
from penstock.live.protocol import MOST_NODES, VERSION, Register

log: Final = logging.getLogger("penstock.client")
SOCKET: Final = "PENSTOCK_SOCKET"
TOKEN_FILE: Final = "PENSTOCK_TOKEN_FILE"  # noqa: S105
SOCKET_PATH_BYTES: Final = 107
"""The longest path of a Unix socket on Linux."""
TOKEN_CHARACTERS: Final = 512
MACHINE_SOCKET: Final = Path("/run/penstock/penstock.sock")


@dataclass(frozen=True)
class Unix:
    """A socket in the file system; the kernel tells who connects."""

    path: Path

    def __str__(self) -> str:
        return str(self.path)


@dataclass(frozen=True)
class Tcp:
    """A port, for clients on other nodes than the coordinator."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


Address: TypeAlias = Unix | Tcp


def default_socket() -> Path:
    """Where a client looks by default: the user's own coordinator, then the machine's.

    Where another user has made the folder of the user's own coordinator, only the machine's is left, and a warning says so.
    A socket that cannot be seen is none.
    """
    own = own_socket()
    if is_foreign(own):
        log.warning(
            "%s belongs to another user, so no coordinator of yours is looked for there; if you run one, set %s",
            own.parent,
            SOCKET,
        )
        return MACHINE_SOCKET
    return MACHINE_SOCKET if _is_there(MACHINE_SOCKET) and not _is_there(own) else own


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # the folder may not be searched
        return False


def own_socket() -> Path:
    """Where the coordinator of a user listens."""
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    return (Path(runtime) if runtime else own_folder()) / "penstock.sock"


def own_folder() -> Path:
    """The folder of the socket of a user without a runtime folder. Other users may have made it: see `check_owner`."""
    return Path(f"/tmp/penstock-{os.getuid()}")  # noqa: S108


def is_foreign(path: Path) -> bool:
    """Whether the socket `path` is in `own_folder` and another user has made that folder, or put a link in its place."""
    folder = own_folder()
    if path.parent != folder:
        return False
    try:
        found = os.lstat(folder)
    except OSError:
        return False
    return found.st_uid != os.getuid() or not stat.S_ISDIR(found.st_mode)


def check_owner(address: Address) -> None:
    """PermissionError if `address` is a socket in `own_folder` and that folder belongs to another user."""
    if isinstance(address, Unix) and is_foreign(address.path):
        raise PermissionError(errno.EPERM, f"{own_folder()} belongs to another user")


def parse_address(text: str) -> Address:
    """Parse `text`, a path or ``host:port``. With a slash, or without a colon, it is a path, which is made absolute."""
    if not text or "\0" in text:
        raise AddressError(f"address {text!r} is no address; expected a path or host:port")
    if "/" in text or ":" not in text:
        path = Path(text).absolute()
        if len(os.fsencode(path)) > SOCKET_PATH_BYTES:
            raise AddressError(f"address {str(path)!r} is too long for a socket; expected at most {SOCKET_PATH_BYTES} bytes")
        return Unix(path)
    host, _, port = text.rpartition(":")
    bracketed = host.startswith("[") and host.endswith("]")
    if not (port.isascii() and port.isdigit() and 1 <= int(port) <= 65535):
        raise AddressError(f"address {text!r} has no port; expected host:port with a port from 1 to 65535")
    host = host[1:-1] if bracketed else host
    if not host or (":" in host and not bracketed):
        raise AddressError(f"address {text!r} has no host; expected host:port, or [host]:port for IPv6")
    return Tcp(host, int(port))


def find_address(address: str | Path | Address | None = None) -> Address:
    """The address to use: the argument, else `PENSTOCK_SOCKET`, else the default."""
    if isinstance(address, Unix | Tcp):
        return address
    if isinstance(address, Path):
        address = address.absolute()
    return parse_address(str(address or os.environ.get(SOCKET) or default_socket()))


def read_token(path: str | Path) -> str:
    """Read the token in the file `path`, which only its owner may read; AddressError if it cannot be used."""
    try:
        with Path(path).open("rb") as file:
            mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
            content = file.read(TOKEN_CHARACTERS * 4)
    except OSError as error:
        raise AddressError(f"token file {path}: {error.strerror}") from None
    if mode & 0o077:
        raise AddressError(f"token file {path}: others may use it (mode {mode:04o}); expected mode 0600")
    try:
        token = content.decode().strip()
    except UnicodeDecodeError:
        raise AddressError(f"token file {path}: not UTF-8; expected a line of text") from None
    if not 1 <= len(token) <= TOKEN_CHARACTERS:
        raise AddressError(f"token file {path}: {len(token)} characters; expected 1 to {TOKEN_CHARACTERS}")
    return token


def find_token(file: str | Path | None, address: Address) -> str:
    """The token for this address: empty on a Unix socket, else from the file, else from `PENSTOCK_TOKEN_FILE`."""
    if isinstance(address, Unix):
        return ""
    file = file or os.environ.get(TOKEN_FILE)
    return read_token(file) if file else ""


DISABLE: Final = "PENSTOCK_DISABLE"
PATIENCE: Final = "PENSTOCK_PATIENCE"
DEFAULT_PATIENCE: Final = 5.0
NOWHERE: Final = Unix(Path("/"))


@dataclass(frozen=True)
class Place:
    """Where the coordinator is and how long to wait for it."""

    address: Address = NOWHERE
    token: str = ""
    patience: float = 0.0
    """Seconds."""
    problem: str = ""
    """Why no coordinator can be looked for; empty if one can."""
    is_default: bool = False
    """Neither argument nor environment gave the address."""


def disabled() -> bool:
    """Whether ``PENSTOCK_DISABLE`` switches coordination off."""
    return os.environ.get(DISABLE, "") not in ("", "0")


def find_place(
    address: str | Path | Address | None = None,
    token_file: str | Path | None = None,
    patience: float | None = None,
) -> Place:
    """Find the place from the arguments and, where they say nothing, from the environment.

    Args:
        address: A path, or host:port.
        token_file: A file with the token of a coordinator over TCP.
        patience: Seconds to wait for a coordinator that does not answer.

    Returns:
        The place. If a setting in the environment cannot be used, `problem` says which and why.

    Raises:
        UsageError: If the argument `patience` is out of range.
        AddressError: If the argument `address` or `token_file` cannot be used.
    """
    seconds = None if patience is None else _seconds(patience)
    where = find_address(address) if address else None
    try:
        is_default = where is None and not os.environ.get(SOCKET)
        if where is None:
            where = find_address()
        token = "" if token_file else find_token(None, where)
        if seconds is None:
            seconds = _seconds(os.environ.get(PATIENCE) or DEFAULT_PATIENCE)
    except (ClientError, OSError) as error:
        return Place(problem=" ".join(str(error).split()))
    if token_file:
        token = find_token(token_file, where)
    return Place(where, token, seconds, is_default=is_default)


def _seconds(told: object) -> float:
    try:
        value = float(told)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        value = math.nan
    if not 0.0 <= value < math.inf:
        raise UsageError(f"patience {told!r} is out of range; expected a finite number of seconds, 0 or more")
    return value


NAME_CHARACTERS: Final = 200
MOST_RATE: Final = 1e18
"""The highest rate that a message may have, in bytes/s."""
MOST_SECONDS: Final = 1e10
"""The longest time that a message may have."""


@dataclass(frozen=True)
class Identity:
    """What an application says about itself when it registers. Dates are relative to the creation of this object."""

    job: str
    nodes: int = 1
    user: str = ""
    bandwidth: float | None = None
    """The most that it can use, in bytes/s."""
    elapsed: float = 0.0
    """Seconds for which it has been running."""
    lead: float = 0.0
    """Seconds from now on that belong to no iteration."""
    whole: float | None = None
    """Seconds of its complete dedicated run."""

    def __post_init__(self) -> None:
        if not 1 <= len(self.job) <= NAME_CHARACTERS:
            raise UsageError(f"name {self.job[:40]!r}: {len(self.job)} characters; expected 1 to {NAME_CHARACTERS}")
        if isinstance(self.nodes, bool) or not isinstance(self.nodes, int) or not 1 <= self.nodes <= MOST_NODES:
            raise UsageError(f"nodes {self.nodes!r} is out of range; expected a whole number from 1 to {MOST_NODES}")
        limits = {"bandwidth": MOST_RATE, "elapsed": MOST_SECONDS, "lead": MOST_SECONDS, "whole": MOST_SECONDS}
        for field, most in limits.items():
            value = getattr(self, field)
            if value is not None and not (isinstance(value, int | float) and 0.0 <= value <= most):
                raise UsageError(f"{field} {value!r} is out of range; expected a number from 0 to {most:g}")

    def register(self, passed: float, token: str) -> partial[Register]:
        """The registration with this `token`, `passed` seconds after this object was made; it lacks its `seq`."""
        return partial(
            Register,
            version=VERSION,
            job=self.job,
            nodes=self.nodes,
            user=self.user,
            bandwidth=self.bandwidth,
            elapsed=min(self.elapsed + passed, MOST_SECONDS),
            lead=max(0.0, self.lead - passed),
            whole=self.whole,
            token=token,
        )


def identify(
    name: str | None = None,
    nodes: int | None = None,
    *,
    bandwidth: float | None = None,
    lead: float = 0.0,
    whole: float | None = None,
    environment: Mapping[str, str] | None = None,
) -> Identity:
    """Make an identity. Slurm's variables in the environment, if any, give what the arguments leave out.

    Args:
        name: The job; None for Slurm's, or the program's name.
        nodes: Number of nodes; None for Slurm's, or 1.
        bandwidth: The most that the application can use, in bytes/s; None for no limit.
        lead: Seconds from now on that belong to no iteration, such as a start-up.
        whole: Seconds of its complete run with the I/O system to itself; None if unknown.
        environment: The variables; None for those of this process.
    """
    told = os.environ if environment is None else environment
    return Identity(
        job=printable(name if name is not None else _name(told)),
        nodes=nodes if nodes is not None else _nodes(told),
        user=printable(told.get("SLURM_JOB_USER") or _user())[:NAME_CHARACTERS],
        bandwidth=bandwidth,
        elapsed=_elapsed(told),
        lead=lead,
        whole=whole,
    )


def printable(text: str) -> str:
    """The text with a question mark for each character that is not printable, such as a control code."""
    return "".join(letter if letter.isprintable() else "?" for letter in text)


def _name(told: Mapping[str, str]) -> str:
    number = told.get("SLURM_JOB_ID", "")
    if number:
        return f"{told.get('SLURM_JOB_NAME') or 'job'}-{number}"[-NAME_CHARACTERS:]
    program = Path(sys.argv[0] if sys.argv else "").stem
    if program in ("", "-c", "-m", "__main__"):
        program = Path(sys.executable or "python").stem
    return f"{program}-{os.getpid()}"[-NAME_CHARACTERS:]


def _nodes(told: Mapping[str, str]) -> int:
    text = told.get("SLURM_JOB_NUM_NODES") or told.get("SLURM_NNODES") or ""
    return min(max(1, int(text)), MOST_NODES) if text.isascii() and text.isdigit() and len(text) < 16 else 1


def _elapsed(told: Mapping[str, str]) -> float:
    try:
        start = float(told.get("SLURM_JOB_START_TIME", ""))
    except ValueError:
        return 0.0
    return min(max(0.0, time.time() - start), MOST_SECONDS) if math.isfinite(start) else 0.0


def _user() -> str:
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return str(os.getuid())
