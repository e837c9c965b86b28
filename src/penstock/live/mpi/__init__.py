"""Coordinated MPI-IO. Its public name is `penstock.mpi`."""

from penstock.live.mpi.file import File

__all__ = ["File"]
