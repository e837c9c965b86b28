"""What the commands that talk to a running coordinator share."""

from __future__ import annotations

import argparse
from typing import Any

PATIENCE_SECONDS = 120.0
"""A policy that was never used may have to be compiled."""


def add_socket(command: argparse.ArgumentParser) -> None:
    """The option that says which coordinator."""
    command.add_argument(
        "--socket", metavar="PATH", help="its Unix socket (default: PENSTOCK_SOCKET, else where serve puts it)"
    )


def asked(options: argparse.Namespace, command: str, argument: str = "") -> Any:
    """What the coordinator answers."""
    from penstock.client import address
    from penstock.client.control import ask
    from penstock.model import InputError

    where = address.find(options.socket)
    if not isinstance(where, address.Unix):
        raise InputError("socket", f"{where} is no Unix socket; expected its path, for orders are taken there only")
    return ask(where.path, command, argument, PATIENCE_SECONDS)
