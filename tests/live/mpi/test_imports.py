"""What `penstock.live.mpi` loads, and what it says where mpi4py is missing."""

import subprocess
import sys

LOADED = """
import sys
from mpi4py import MPI
before = set(sys.modules)
import penstock.live.mpi
loaded = {name.partition(".")[0] for name in set(sys.modules) - before}
print(*sorted(loaded - sys.stdlib_module_names))
"""
MISSING = """
import sys
sys.modules["mpi4py"] = None
try:
    import penstock.live.mpi
except ImportError as error:
    print(error)
"""


def run(program):
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60).stdout


def test_it_loads_mpi4py_and_the_client_only():
    assert set(run(LOADED).split()) <= {"penstock", "msgspec", "typing_extensions"}


def test_without_mpi4py_it_says_what_to_install():
    assert run(MISSING) == ("mpi4py is not installed; expected it from pip install 'penstock[mpi]', and an MPI library\n")
