"""The client for applications: it announces their I/O to the coordinator, which paces, pauses and resumes it (003).

::

    from penstock.client import Job

    with Job("climate", nodes=64) as job:
        with job.io(len(data), rounds=16) as io:
            io.write(file, data)

`AsyncJob` is the same for asyncio. The client imports only the standard library and msgspec. This is the public name of
`penstock.live.client`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.live import client as _client
from penstock.live.client import IO, AddressError, ClientError, Job, Membership, Outlook, UsageError
from penstock.renamed import old_names

if TYPE_CHECKING:
    from penstock.live.client import AsyncIO, AsyncJob

__all__ = ["IO", "AddressError", "AsyncIO", "AsyncJob", "ClientError", "Job", "Membership", "Outlook", "UsageError"]

_old_name = old_names(__name__, State="Membership")


def __getattr__(name: str) -> Any:
    return getattr(_client, name) if name in __all__ else _old_name(name)
