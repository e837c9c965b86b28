"""For applications: announce I/O to the coordinator and be paced, paused and resumed by it (003).

::

    from penstock.client import Job

    with Job("climate", nodes=64) as job:
        with job.io(len(data), rounds=16) as io:
            io.write(file, data)

Nothing but the standard library and msgspec is imported.
"""

from penstock.client.errors import AddressError, ClientError, UsageError
from penstock.client.job import IO, Job
from penstock.client.member import State

__all__ = ["IO", "AddressError", "ClientError", "Job", "State", "UsageError"]
