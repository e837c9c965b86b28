"""For applications: announce I/O to the coordinator and be paced, paused and resumed by it (003).

::

    from penstock.client import Job

    with Job("climate", nodes=64) as job:
        with job.io(len(data), rounds=16) as io:
            io.write(file, data)

`AsyncJob` is the same for asyncio. Nothing but the standard library and msgspec is imported.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.client.errors import AddressError, ClientError, UsageError
from penstock.client.job import IO, Job
from penstock.client.member import State

if TYPE_CHECKING:
    from penstock.client.asynchronous import AsyncIO, AsyncJob

__all__ = ["IO", "AddressError", "AsyncIO", "AsyncJob", "ClientError", "Job", "State", "UsageError"]


def __getattr__(name: str) -> Any:
    if name not in ("AsyncIO", "AsyncJob"):
        raise AttributeError(f"module 'penstock.client' has no attribute {name!r}")
    from penstock.client import asynchronous

    return getattr(asynchronous, name)
