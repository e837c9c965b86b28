"""How many random examples a test draws: a share in `make test`, all in `make test-long`, new ones in a hunt."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, Phase, settings

from penstock.numeric.compiled import JIT

HUNT = "PENSTOCK_HUNT" in os.environ
"""New examples in every run, and all of them: for a long search."""
LONG = HUNT or "PENSTOCK_LONG" in os.environ
"""All examples of a test; without it a share of them."""
SHRINK = HUNT or "PENSTOCK_SHRINK" in os.environ
"""Look for a small example when a test fails, which takes up to five minutes for each test where examples are large."""
PHASES = tuple(Phase) if SHRINK else (Phase.explicit, Phase.reuse, Phase.generate, Phase.target)
SHARE = 12
LEAST = 6
"""`make test` draws one example of so many, and no fewer than so many of a test."""
LONG_FROM = 15
"""`make test-long` runs a test of this many examples or more again, with all of them."""
_long: list[settings] = []


def examples(count: int) -> settings:
    """Settings of a test that draws `count` examples in a long run, else, and with NUMBA_DISABLE_JIT=1, a share."""
    drawn = count if LONG and JIT else max(LEAST, count // SHARE)
    chosen = settings(
        max_examples=drawn,
        deadline=None,
        derandomize=not HUNT,
        database=None,
        phases=PHASES,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
    )
    if count >= LONG_FROM:
        _long.append(chosen)
    return chosen


def is_long(test: object) -> bool:
    """Whether the test draws enough examples to be worth a long run of its own."""
    chosen = getattr(test, "_hypothesis_internal_use_settings", None)
    return any(chosen is one for one in _long)
