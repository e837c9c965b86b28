"""How many random examples a test draws: fewer where everything runs as plain Python."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

from penstock.numeric.compiled import JIT

HUNT = "PENSTOCK_HUNT" in os.environ
"""New examples in every run, and all of them: for a long search."""


def examples(count: int) -> settings:
    """Settings for a test that draws so many examples in a hunt, else half of them; a tenth with NUMBA_DISABLE_JIT=1."""
    drawn = count if HUNT else max(10, count // 2)
    return settings(
        max_examples=drawn if JIT else max(10, count // 10),
        deadline=None,
        derandomize=not HUNT,
        database=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
    )
