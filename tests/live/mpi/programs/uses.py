"""A job of one's own, the hints in use, one application for all files, the number of rounds. Arguments: folder."""

import sys
from pathlib import Path

from mpi4py import MPI

from penstock.live.client import Job
from penstock.live.mpi import File
from penstock.live.mpi.ranks import Rounds

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

calls = []
plain = Rounds._round
Rounds._round = lambda self, at, to: calls.append((at, to)) or plain(self, at, to)


def rounds_of(call, *arguments):
    """How many rounds the call has on this rank."""
    calls.clear()
    call(*arguments)
    return len(calls)


with File.Open(COMM, FOLDER / "rounds", MODE, MPI.Info.Create({"penstock_rounds": "10"})) as file:
    element = MPI.BYTE.Create_contiguous(10_000).Commit()
    assert rounds_of(file.Write_at_all, 0, bytes(10_000)) == 10
    assert rounds_of(file.Write_at_all, 0, bytes(10_000 if RANK else 0)) == 10
    assert rounds_of(file.Write_at_all, 0, bytes(1 if RANK else 3)) == 3
    assert rounds_of(file.Write_at_all, 0, [bytes(10_000), 1, element]) == 1
    assert rounds_of(file.Write_at_all, 0, b"") == 1
    file.Set_atomicity(True)
    assert rounds_of(file.Write_at_all, 0, bytes(10_000)) == 1
    file.Set_atomicity(False)
    file.Set_size(2500)
    # Rank 0 meets the end of the file in its second round, rank 1 in its third: then nobody has anything to read.
    assert rounds_of(file.Read_at_all, 0 if RANK else 1000, bytearray(10_000)) == 3
    element.Free()
sys.stdout.write("used\n")
