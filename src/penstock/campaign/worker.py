"""A local worker process: tasks come in through a connection, parts go out.

Started by `penstock.campaign.local` as ``python -m penstock.campaign.worker FD``, not by multiprocessing, which would run
the user's own script again in every worker. It ends when the campaign's process is gone.
"""

from __future__ import annotations

import signal
import sys
from contextlib import suppress
from multiprocessing.connection import Connection

from penstock.campaign.compute import compute
from penstock.campaign.identity import OtherVersion
from penstock.campaign.local import READY


def serve(connection: Connection) -> None:
    """Say that it is ready, then answer each task with its part, or with the error that refuses this worker."""
    with suppress(EOFError, ConnectionError):
        connection.send(READY)
        while True:
            task, campaign = connection.recv()
            try:
                connection.send(compute(task, campaign))
            except OtherVersion as error:
                connection.send(error)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupt is for the campaign's process, which ends its workers
    serve(Connection(int(sys.argv[1])))
