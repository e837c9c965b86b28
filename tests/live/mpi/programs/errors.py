"""What one rank does wrong, or cannot do, is an error of all ranks; the file can be used afterwards."""

import resource
import sys
from array import array
from pathlib import Path

from mpi4py import MPI

from penstock.live.client import AddressError, Job, UsageError
from penstock.live.mpi import File

COMM = MPI.COMM_WORLD
RANK, SIZE = COMM.Get_rank(), COMM.Get_size()
FOLDER = Path(sys.argv[1])
WRONG = SIZE - 1
DATA = array("d", range(3000))
MODE = MPI.MODE_CREATE | MPI.MODE_RDWR
UNCOMMITTED = MPI.INT.Create_vector(2, 1, 2)


def one(wrong, right):
    """The wrong thing on the last rank, the right one on the others."""
    return wrong if RANK == WRONG else right


def info(**hints):
    return MPI.Info.Create({f"penstock_{name}": value for name, value in hints.items()})


def error_of(call):
    try:
        call()
    except Exception as error:
        return error
    raise AssertionError("no error")


def failing(call, kind, text, of=WRONG):
    """All ranks get an error of that kind; those that did nothing wrong are told where it was, if it was in one place."""
    error = error_of(call)
    assert isinstance(error, kind), repr(error)
    assert text in str(error), str(error)
    assert "\n" not in str(error) or kind is MPI.Exception
    assert getattr(error, "__notes__", []) == ([] if of in (None, RANK) else [f"(on rank {of})"])


def opening(path=FOLDER / "file", mode=MODE, hints=None, job=None):
    return lambda: File.Open(COMM, path, mode, hints, job=job)


failing(opening(one(3, "x")), UsageError, "filename 3 is none; expected a path")
failing(opening(mode=one("rw", MODE)), UsageError, "amode 'rw' is out of range")
failing(opening(job=one("climate", None)), UsageError, "job 'climate' is no penstock.client.Job")
failing(opening(hints=one({}, None)), UsageError, "info {} is no MPI.Info")
failing(
    opening(hints=one(info(round="3"), None)), UsageError, "hint penstock_round is unknown; expected one of penstock_job"
)
failing(
    opening(hints=one(info(rounds="0"), None)), UsageError, "hint penstock_rounds: '0' is out of range; expected a whole"
)
failing(opening(hints=one(info(patience="soon"), None)), UsageError, "hint penstock_patience: 'soon' is out of range")
failing(opening(hints=info(rounds="3", round_bytes="5"), job=None), UsageError, "exclude each other", of=None)
failing(opening(FOLDER / "none" / "file"), MPI.Exception, "", of=None)
failing(opening(FOLDER / "none", MPI.MODE_RDONLY), MPI.Exception, "", of=None)
failing(opening(hints=info(socket="h:1:2")), AddressError, "address 'h:1:2' has no host", of=0)  # which makes the job

file = File.Open(COMM, FOLDER / "file", MODE, info(rounds="5"))
PLACE = RANK * 24_000
failing(lambda: file.Write_at_all(one(-1, PLACE), DATA), MPI.Exception, "")
failing(lambda: file.Write_at_all(one("0", PLACE), DATA), TypeError, "")
failing(lambda: file.Write_at_all(PLACE, one(3, DATA)), UsageError, "buffer: int is none; expected an array")
failing(lambda: file.Write_at_all(PLACE, one([DATA, -1, MPI.INT], DATA)), UsageError, "count -1 is out of range")
failing(lambda: file.Write_at_all(PLACE, one([1, 2, 3, 4, 5], DATA)), UsageError, "buffer: 5 items")
failing(lambda: file.Write_at_all(PLACE, one([DATA, 1, 2], DATA)), UsageError, "buffer: 2 is no datatype")
failing(lambda: file.Write_all(one([bytes(7), MPI.INT], DATA)), UsageError, "buffer: 7 bytes; expected a whole number of")
failing(lambda: file.Write_all(one(memoryview(DATA)[::2], DATA)), UsageError, "not in one piece")
failing(lambda: file.Write_all(one([DATA, 5, UNCOMMITTED], DATA)), MPI.Exception, "")
failing(lambda: file.Read_all(one(bytes(8), array("d", [0.0]))), UsageError, "the data cannot be changed")
failing(lambda: file.Set_view(one(-5, 0)), UsageError, "displacement -5 is out of range")
failing(lambda: file.Set_view(0, one("i", MPI.INT)), UsageError, "a wrong argument")
failing(lambda: file.Set_view(0, one(UNCOMMITTED, MPI.INT)), MPI.Exception, "")
failing(lambda: file.Set_view(0, MPI.DOUBLE, one(MPI.INT, MPI.DOUBLE)), UsageError, "a filetype of 4 bytes")
failing(lambda: file.Set_size(one(-1, 10)), UsageError, "size -1 is out of range")
failing(lambda: file.Write_all(DATA) if RANK == WRONG else file.Sync(), UsageError, "in another call", of=None)
failing(lambda: file.Close() if RANK == WRONG else file.Write_all(DATA), UsageError, "in another call", of=None)

# A disk that is full for one rank: it may not write beyond the first 12,000 bytes of its block.
limits = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (one(PLACE + 12_000, limits[1]), limits[1]))
failing(lambda: file.Write_at_all(PLACE, DATA), MPI.Exception, "")
resource.setrlimit(resource.RLIMIT_FSIZE, limits)

file.Set_view(0, MPI.DOUBLE)
failing(lambda: file.Write_at_all(0, one(bytes(12), DATA)), UsageError, "a whole number of the view's etypes of 8 bytes")
file.Set_view(0)
file.Write_at_all(PLACE, DATA)
file.Close()

# Rank 0 cannot announce it.
job = Job("left")
job.leave()
with File.Open(COMM, FOLDER / "file", MODE, job=job) as file:
    failing(lambda: file.Write_at_all(PLACE, DATA), UsageError, "io: the job has left", of=0)
assert (FOLDER / "file").read_bytes() == bytes(DATA) * SIZE
sys.stdout.write("alike\n")
