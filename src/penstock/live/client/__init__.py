"""The client of running applications. Its public name is `penstock.client`. It imports neither numpy nor numba."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.live.client.errors import AddressError, ClientError, UsageError
from penstock.live.client.job import IO, Job
from penstock.live.client.member import Membership
from penstock.live.protocol import Outlook

if TYPE_CHECKING:
    from penstock.live.client.asynchronous import AsyncIO, AsyncJob

__all__ = ["IO", "AddressError", "AsyncIO", "AsyncJob", "ClientError", "Job", "Membership", "Outlook", "UsageError"]


def __getattr__(name: str) -> Any:
    if name not in ("AsyncIO", "AsyncJob"):
        raise AttributeError(f"module 'penstock.live.client' has no attribute {name!r}")
    from penstock.live.client import asynchronous

    return getattr(asynchronous, name)
