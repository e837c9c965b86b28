"""The operator's questions and commands to a coordinator, over its Unix socket."""

from __future__ import annotations

import errno
import socket
from pathlib import Path
from typing import Any, Final

from penstock.live.client.errors import CoordinatorError
from penstock.live.protocol import VERSION, Answer, Control, Error, Malformed, decode_reply, encode

TIMEOUT_SECONDS: Final = 10.0


def ask(path: Path, command: str, argument: str = "", timeout: float = TIMEOUT_SECONDS) -> Any:
    """Send a command to the coordinator.

    Args:
        path: Its Unix socket.
        command: The command, such as ``state`` (`penstock.live.server.control.COMMANDS`).
        argument: The argument of the command.
        timeout: Seconds to wait for the answer.

    Returns:
        The answer, as JSON gives it.

    Raises:
        CoordinatorError: If no coordinator answers, or it refuses.
    """
    try:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(timeout)
            connection.connect(str(path))
            connection.sendall(encode(Control(1, VERSION, command, argument)))
            line = connection.makefile("rb").readline()
            if not line.endswith(b"\n"):
                raise ConnectionResetError(errno.ECONNRESET, "it hung up")
            reply = decode_reply(line)
    except Malformed as error:
        raise CoordinatorError(
            f"what listens at {path} is no coordinator ({error}); expected one of penstock serve"
        ) from None
    except OSError as error:
        reason = error.strerror or str(error)
        raise CoordinatorError(f"no coordinator answers at {path} ({reason}); start one with penstock serve") from None
    if isinstance(reply, Error):
        raise CoordinatorError(reply.text)
    assert isinstance(reply, Answer)
    return reply.body
