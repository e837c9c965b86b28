"""An application that makes the six calls of 003 §III.C.

``python -m penstock.papers.calciom.caller SOCKET NAME ROUNDS SECONDS`` says "ready", waits for a line, and then makes one
operation of ROUNDS rounds, each of which accesses the store for SECONDS seconds. It prints, as JSON, the dates on the
monotonic clock at which each round began and ended, and how often Check said no.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from penstock.live.client import Job

ROUND_BYTES = 1_000_000


def main(address: str, name: str, rounds: int, seconds: float) -> None:
    """Make the calls, and print what happened as JSON.

    Args:
        address: The socket of the coordinator.
        name: The name of the application.
        rounds: Rounds of the operation.
        seconds: How long each round accesses the store.
    """
    accesses, denied = [], 0
    with Job(name, address=Path(address), patience=20.0) as job:
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        sys.stdin.readline()
        posted = time.monotonic()
        job.prepare(volume=rounds * ROUND_BYTES, rounds=rounds)
        for _ in range(rounds):
            job.inform()
            denied += not job.check()
            job.wait()
            begun = time.monotonic()
            time.sleep(seconds)
            accesses.append((begun, time.monotonic()))
            job.release()
        job.complete()
        coordinated = job.state.coordinated
    sys.stdout.write(
        json.dumps({"posted": posted, "accesses": accesses, "denied": denied, "coordinated": coordinated}) + "\n"
    )


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4]))
