"""mpi4py, which only this package loads."""

from __future__ import annotations

try:
    from mpi4py import MPI as MPI
except (ImportError, RuntimeError) as _error:
    _missing = isinstance(_error, ModuleNotFoundError)
    _why = "is not installed" if _missing else f"cannot be used ({' '.join(str(_error).split())})"
    raise ImportError(f"mpi4py {_why}; expected it from pip install 'penstock[mpi]', and an MPI library") from None
