"""The six calls of 003 on rank 0, around plain writes of all ranks.

Arguments: folder, name, bytes of a rank and step, steps. It begins when there is a file ``NAME.go``. Rank 0 says of each
step what `check` said before it, and when it began and ended.
"""

import sys
import time
from pathlib import Path

from mpi4py import MPI

from penstock.live.client import Job

COMM = MPI.COMM_WORLD
RANK, SIZE = COMM.Get_rank(), COMM.Get_size()
FOLDER, NAME, SHARE, STEPS = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
job = Job(NAME, nodes=SIZE) if RANK == 0 else None
file = MPI.File.Open(COMM, FOLDER / NAME, MPI.MODE_CREATE | MPI.MODE_WRONLY)
while RANK == 0 and not Path(FOLDER, f"{NAME}.go").exists():
    time.sleep(0.01)
if job:
    job.prepare(volume=SIZE * SHARE * STEPS, rounds=STEPS)
for step in range(STEPS):
    if job:
        job.inform()
        may = job.check()
        assert job.wait()
    COMM.Barrier()
    begun = time.monotonic()
    file.Write_at_all((step * SIZE + RANK) * SHARE, bytes([step * SIZE + RANK + 1]) * SHARE)
    COMM.Barrier()
    if job:
        sys.stdout.write(f"{may:d} {begun} {time.monotonic()}\n")
        time.sleep(SIZE * SHARE / job.state.rate)  # the calls do not pace
        job.release()
if job:
    job.complete()
    job.leave()
file.Close()
