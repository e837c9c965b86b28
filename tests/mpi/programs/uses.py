"""A job of one's own, the hints in use, one application for all files. Arguments: folder."""

import sys
from pathlib import Path

from mpi4py import MPI

from penstock.client import Job
from penstock.mpi import File

COMM = MPI.COMM_WORLD
RANK, SIZE = COMM.Get_rank(), COMM.Get_size()
FOLDER = Path(sys.argv[1])
MODE = MPI.MODE_CREATE | MPI.MODE_RDWR

job = Job("mine", nodes=7) if RANK == 0 else None
with File.Open(COMM, FOLDER / "mine", MODE, job=job) as file:
    assert isinstance(file, MPI.File)
    file.Write_at_all(RANK * 1000, bytes(1000))
    file.Write_at(0, bytes(10 + RANK))
    assert file._job.name == f"mine{f'.{RANK}' if RANK else ''}"
if job:
    assert job.state.moved == SIZE * 1000 + 10
    job.leave()

hints = {"penstock_job": "shared", "penstock_round_bytes": "3000", "penstock_bandwidth": "2e9", "cb_buffer_size": "65536"}
info = MPI.Info.Create(hints)
with File.Open(COMM, FOLDER / "one", MODE, info) as one, File.Open(COMM, FOLDER / "two", MODE, info) as two:
    assert {key: one.Get_info().Get(key) for key in hints} == hints | {"penstock_bandwidth": "2000000000.0"}
    assert one._job is two._job
    one.Write_all(bytes(1000))
    two.Write_all(bytes(2000))
    if RANK == 0:
        assert (one._job.name, one._job.state.moved) == ("shared", SIZE * 3000)
        identity = one._job._link.session.identity
        assert (identity.nodes, identity.bandwidth) == (1, 2e9)
    assert two._rounds(3000 * SIZE + 1) == SIZE + 1
with File.Open(COMM, FOLDER / "one", MODE) as file:
    assert file._rounds(3 * 2**24 + 1) == 4  # one aggregator with a buffer of 16 MiB: ROMIO's own choice on one node
sys.stdout.write("used\n")
