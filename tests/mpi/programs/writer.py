"""Writes a file of its own and reads it again; every rank notes down its rounds.

Arguments: folder, name, bytes of a rank, rounds. Pieces of 1000 bytes of the ranks alternate in the file. A file ``NAME.RANK``
gets a line for each round of this rank: what it did, from where to where in the operation, when it began and ended.
"""

import sys
import time
from pathlib import Path

from mpi4py import MPI

from penstock.mpi import File
from penstock.mpi.rounds import Rounds

COMM = MPI.COMM_WORLD
RANK, SIZE = COMM.Get_rank(), COMM.Get_size()
FOLDER, NAME, SHARE, ROUNDS = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4]
PIECE = 1000
notes = Path(FOLDER, f"{NAME}.{RANK}").open("w", buffering=1)
doing = "write"
plain = Rounds._round


def noted(self: Rounds, at: int, to: int) -> bool:
    begun = time.monotonic()
    left = plain(self, at, to)
    notes.write(f"{doing} {at} {to} {begun} {time.monotonic()}\n")
    return left


Rounds._round = noted
data = bytes((i // PIECE * SIZE + RANK) % 251 for i in range(0, SHARE))
info = MPI.Info.Create({"penstock_rounds": ROUNDS, "penstock_job": NAME, "penstock_nodes": "3"})
view = MPI.BYTE.Create_contiguous(PIECE).Create_resized(0, PIECE * SIZE).Commit()
with File.Open(COMM, FOLDER / NAME, MPI.MODE_CREATE | MPI.MODE_RDWR, info) as file:
    file.Set_view(RANK * PIECE, MPI.BYTE, view)
    file.Write_all(data)
    doing = "read"
    again = bytearray(SHARE)
    file.Read_at_all(0, again)
    assert again == data
COMM.Barrier()
sys.stdout.write("done\n")
