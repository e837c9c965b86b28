"""Opens a file of its own, writes it when it is told to and reads it again; every rank notes down its rounds.

Arguments: folder, name, bytes of a rank, rounds. It writes when there is a file ``NAME.go``, and then reads if there is
``NAME.read``, or ends if there is ``NAME.end``. Pieces of 1000 bytes of the ranks alternate in the file. Each rank leaves a
file ``NAME.RANK`` with a line for each of its rounds: what it did, from where to where in the operation, when it began and
ended.
"""

import sys
import time
from pathlib import Path

from mpi4py import MPI

from penstock.live.mpi import File
from penstock.live.mpi.ranks import Rounds

COMM = MPI.COMM_WORLD
RANK, SIZE = COMM.Get_rank(), COMM.Get_size()
FOLDER, NAME, SHARE, ROUNDS = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4]
PIECE = 1000
notes = Path(FOLDER, f"{NAME}.{RANK}")
doing, lines = "write", []
plain = Rounds._round


def noted(self: Rounds, at: int, to: int) -> bool:
    begun = time.monotonic()
    left = plain(self, at, to)
    lines.append(f"{doing} {at} {to} {begun} {time.monotonic()}\n")
    return left


Rounds._round = noted


def told(*words: str) -> str:
    """The first of these words that there is a file of."""
    while True:
        found = [word for word in words if Path(FOLDER, f"{NAME}.{word}").exists()] if RANK == 0 else []
        if found or RANK:
            return COMM.bcast(found and found[0])
        time.sleep(0.01)


data = b"".join(bytes([(piece * SIZE + RANK) % 251]) * PIECE for piece in range(SHARE // PIECE))
info = MPI.Info.Create({"penstock_rounds": ROUNDS, "penstock_job": NAME, "penstock_nodes": "3"})
view = MPI.BYTE.Create_contiguous(PIECE).Create_resized(0, PIECE * SIZE).Commit()
with File.Open(COMM, FOLDER / NAME, MPI.MODE_CREATE | MPI.MODE_RDWR, info) as file:
    file.Set_view(RANK * PIECE, MPI.BYTE, view)
    told("go")
    file.Write_all(data)
    if told("read", "end") == "read":
        doing = "read"
        again = bytearray(SHARE)
        file.Read_at_all(0, again)
        assert again == data
notes.write_text("".join(lines))
sys.stdout.write("done\n")
