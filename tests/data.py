"""Where real data are, for the tests that use them."""

import os
from pathlib import Path

import pytest


def real(name: str) -> str:
    """A file in the folder of real data, PENSTOCK_DATA or ../shared/data; where there is none, the test is skipped."""
    root = Path(__file__).resolve().parents[1].parent
    path = Path(os.environ.get("PENSTOCK_DATA", root / "shared" / "data")) / name
    if not path.is_file():
        pytest.skip(f"there is no {name}; PENSTOCK_DATA tells where real data are")
    return str(path)
