"""An application of a live run as an MPI program: rank 0 is the coordinator's client, all ranks write each round."""

import json
import mmap
import os
import sys
import time

from mpi4py import MPI

from penstock.live.client import Job

world = MPI.COMM_WORLD
task = json.loads(os.environ["PENSTOCK_TASK"])
assert world.size == task["nodes"]
part = task["volume"] // task["rounds"] // world.size
buffer = mmap.mmap(-1, part)
file = os.open(task["file"], os.O_WRONLY | os.O_CREAT | os.O_DIRECT, 0o600)
job = Job(task["name"], nodes=world.size, patience=30) if world.rank == 0 else None
begin = 0.0
if job is not None:
    while not os.environ.get("PENSTOCK_DISABLE") and not job.state.coordinated:
        time.sleep(0.005)
world.barrier()
if job is not None:
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    begin = float(sys.stdin.readline())
    time.sleep(max(0.0, begin - time.monotonic()))
    posted = time.monotonic()
    job.prepare(volume=task["volume"], rounds=task["rounds"])
for step in range(task["rounds"]):
    if job is not None:
        job.inform()
        job.wait()
    world.barrier()
    os.pwrite(file, buffer, (step * world.size + world.rank) * part)
    world.barrier()
    if job is not None:
        job.release()
if job is not None:
    ended = time.monotonic()
    job.complete()
    job.leave()
    sys.stdout.write(json.dumps({"posted": posted, "ended": ended}) + "\n")
