"""Where an application looks for its coordinator, with which token, and how long it waits: arguments, else the environment.

A wrong argument is an error of the program and raises an exception. A wrong setting in the environment is not: the
application goes on uncoordinated and logs the reason once.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from penstock.live.client import address as addresses
from penstock.live.client.address import Address, Unix
from penstock.live.client.errors import ClientError, UsageError

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
    where = addresses.find(address) if address else None
    try:
        is_default = where is None and not os.environ.get(addresses.SOCKET)
        if where is None:
            where = addresses.find()
        token = "" if token_file else addresses.find_token(None, where)
        if seconds is None:
            seconds = _seconds(os.environ.get(PATIENCE) or DEFAULT_PATIENCE)
    except (ClientError, OSError) as error:
        return Place(problem=" ".join(str(error).split()))
    if token_file:
        token = addresses.find_token(token_file, where)
    return Place(where, token, seconds, is_default=is_default)


def _seconds(told: object) -> float:
    try:
        value = float(told)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        value = math.nan
    if not 0.0 <= value < math.inf:
        raise UsageError(f"patience {told!r} is out of range; expected a finite number of seconds, 0 or more")
    return value
