"""Coordinated MPI-IO: `File` is mpi4py's ``MPI.File``, and the coordinator paces, pauses and resumes its reads and writes.

::

    from mpi4py import MPI
    from penstock.mpi import File

    with File.Open(MPI.COMM_WORLD, "out.dat", MPI.MODE_CREATE | MPI.MODE_WRONLY) as file:
        file.Write_at_all(rank * data.nbytes, data)

This is the public name of `penstock.live.mpi`.
"""

from penstock.live.mpi import File

__all__ = ["File"]
