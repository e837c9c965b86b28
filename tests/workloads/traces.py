"""Small traces in the Standard Workload Format, and where real ones are."""

import os
from pathlib import Path

import pytest

HEADER = "; Version: 2.2\n; UnixStartTime: 1000000000\n; MaxNodes: 100\n; MaxProcs: 400\n"


def line(
    number: float = 1,
    submit: float = 0,
    wait: float = 10,
    run: float = 100,
    allocated: float = 8,
    requested: float = 8,
    status: int = 1,
) -> str:
    """A line of 18 columns."""
    return f"{number} {submit} {wait} {run} {allocated} -1 -1 {requested} 3600 -1 {status} 4 2 -1 1 -1 -1 -1"


def write(path: Path, *lines: str, header: str = HEADER) -> str:
    """A trace of those lines."""
    path.write_text(header + "\n".join(lines) + "\n", encoding="latin-1")
    return str(path)


def real(name: str) -> str:
    """A trace of the folder of real ones, PENSTOCK_DATA or ../shared/data; where there is none, the test is skipped."""
    root = Path(__file__).resolve().parents[2].parent
    path = Path(os.environ.get("PENSTOCK_DATA", root / "shared" / "data")) / "swf" / name
    if not path.is_file():
        pytest.skip(f"there is no {name}; PENSTOCK_DATA tells where real data are")
    return str(path)
