"""The shim with AddressSanitizer and ThreadSanitizer, alone and under a coordinator."""

from __future__ import annotations

import os
import subprocess

import pytest

from penstock.native.libraries import POSIX
from tests.native.building import NATIVE, SANITIZERS, make, need
from tests.native.shimming import library
from tests.native.test_posix_live import served

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif("PENSTOCK_LONG" not in os.environ, reason="builds the library twice; make test-long runs it"),
]
TRAPS = (
    *("fortified", "streams_at_exit", "streams_read", "threads", "children"),
    *("duplicates", "vectors", "signals", "aliases", "positions"),
)
CLOSING = "closes_all"
"""ThreadSanitizer takes it for a race that a program closes a descriptor which another thread made."""


@pytest.mark.parametrize("kind", ["asan", "tsan"])
def test_traps_with_sanitizers(kind: str) -> None:
    need("make", "cc")
    library()
    make(f"BUILD=build/{kind}", f"SANITIZE={SANITIZERS[kind]}", "posix")
    found = subprocess.run(["cc", f"-print-file-name=lib{kind}.so"], capture_output=True, text=True, check=True).stdout
    preload = {"LD_PRELOAD": f"{found.strip()}:{NATIVE / 'build' / kind / POSIX}", "ASAN_OPTIONS": "detect_leaks=0"}
    preload["TSAN_OPTIONS"] = "die_after_fork=0"  # a child may connect
    with served("fcfs") as (_, site):
        for observe in ("1", "0"):
            for trap in (*TRAPS, *[CLOSING][: kind == "asan"]):
                seen = site.trap(trap, PENSTOCK_OBSERVE=observe, **preload)
                assert seen.errors == "", (trap, seen.errors)
                assert all(record.coordinated == (observe == "0") for record in seen.records)
