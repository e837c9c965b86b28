"""How many random examples a test draws: fewer where everything runs as plain Python."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

from penstock.policies.compiled import JIT


def examples(count: int) -> settings:
    """Settings for a test that draws so many examples compiled, and a tenth of them with NUMBA_DISABLE_JIT=1."""
    return settings(
        max_examples=count if JIT else max(10, count // 10),
        deadline=None,
        derandomize="PENSTOCK_HUNT" not in os.environ,
        database=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
    )
