"""Where the coordinator is: a Unix socket, or a TCP port that needs a token.

The address is the argument, else `PENSTOCK_SOCKET` in the environment, else `default_socket()`. As text it is a path or
``host:port`` (``[::1]:7000`` for IPv6).
"""

from __future__ import annotations

import errno
import logging
import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

from penstock.live.client.errors import AddressError

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
    """Whether the socket is in `own_folder` and another user has made that, or put a link in its place."""
    folder = own_folder()
    if path.parent != folder:
        return False
    try:
        found = os.lstat(folder)
    except OSError:
        return False
    return found.st_uid != os.getuid() or not stat.S_ISDIR(found.st_mode)


def check_owner(address: Address) -> None:
    """PermissionError if the socket is in `own_folder` and that belongs to another user."""
    if isinstance(address, Unix) and is_foreign(address.path):
        raise PermissionError(errno.EPERM, f"{own_folder()} belongs to another user")


def parse(text: str) -> Address:
    """Parse a path or ``host:port``. Text with a slash, or without a colon, is a path, which is made absolute."""
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


def find(address: str | Path | Address | None = None) -> Address:
    """The address to use: the argument, else `PENSTOCK_SOCKET`, else the default."""
    if isinstance(address, Unix | Tcp):
        return address
    if isinstance(address, Path):
        address = address.absolute()
    return parse(str(address or os.environ.get(SOCKET) or default_socket()))


def read_token(path: str | Path) -> str:
    """Read the token in a file, which only its owner may read; AddressError if it cannot be used."""
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
