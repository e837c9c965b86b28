"""Builds the native parts with the compiler of this machine, once for all tests, plain or with a sanitizer."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest

NATIVE = Path(__file__).parents[2] / "native"
SANITIZERS = {"": "", "asan": "address,undefined", "tsan": "thread"}


def need(*programs: str) -> None:
    """Skip the test if a program is missing, or fail where PENSTOCK_REQUIRE_ALL says that all must run."""
    missing = [program for program in programs if shutil.which(program) is None]
    if not missing:
        return
    reason = f"needs {', '.join(missing)}"
    if "PENSTOCK_REQUIRE_ALL" in os.environ:
        pytest.fail(reason)
    pytest.skip(reason)


def make(*arguments: str) -> str:
    """Run make in the folder of the native parts; what it says."""
    NATIVE.joinpath("build").mkdir(exist_ok=True)
    with NATIVE.joinpath("build/lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # tests run in several processes
        done = subprocess.run(
            ["make", "-s", "-C", str(NATIVE), *arguments],
            capture_output=True,
            text=True,
            check=False,
            env={name: value for name, value in os.environ.items() if not name.startswith("MAKE")},
        )
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


@cache
def built(kind: str = "") -> Path:
    """The folder with the library and the test programs."""
    need("make", "cc", "ld", "objcopy")
    folder = f"build/{kind}" if kind else "build"
    make(f"BUILD={folder}", f"SANITIZE={SANITIZERS[kind]}", "tests")
    return NATIVE / folder
