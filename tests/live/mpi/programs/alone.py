"""Each rank writes by itself, and says when: 3 MB at the same time. Arguments: folder."""

import sys
import time
from pathlib import Path

from mpi4py import MPI

from penstock.live.mpi import File

COMM = MPI.COMM_WORLD
RANK = COMM.Get_rank()
FOLDER, SHARE = Path(sys.argv[1]), 3_000_000
info = MPI.Info.Create({"penstock_job": "alone"})
with File.Open(COMM, FOLDER / "alone", MPI.MODE_CREATE | MPI.MODE_WRONLY, info) as file:
    begun = time.monotonic()
    file.Write_at(RANK * SHARE, bytes([RANK + 1]) * SHARE)
    seconds = time.monotonic() - begun
    sys.stdout.write(f"{seconds}\n")
