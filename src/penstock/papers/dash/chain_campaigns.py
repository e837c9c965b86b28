"""What is run for 001 §II.D and §III.D.1: applications that are mapped already and compete for the link."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from penstock.campaign import Campaign, Cell

BEST_EFFORT: Final = "best-effort"
LIST: Final = ("fifo", "johnson", "longest-remaining")
PERIODIC: Final = ("periodic-fifo", "periodic-johnson", "periodic-most-remain")
OPTIMAL: Final = "hierarchical-round-robin"
EIGHT: Final = (
    "fifo",
    "lowest-id",
    "longest-io",
    "shortest-io",
    "shortest-remaining",
    "longest-remaining",
    "bandwidth-oriented",
    "stretch-oriented",
)
"""The list policies of 001 §III.C.1."""
NOISES: Final = (0.0, 0.2, 0.5)
ML_NOISES: Final = (0.0, 0.2)
BATCHES: Final = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0)
INSTANCES: Final[Mapping[str, int]] = {"smoke": 20, "quick": 200, "paper": 1_000}


def general(scale: str) -> Campaign:
    """Figures II.4 and II.5: the general case of Table II.1 without noise and with 20 % and 50 %."""
    policies = (BEST_EFFORT, *LIST, *PERIODIC)
    return _campaign("general", [{"case": "general", "noise": noise} for noise in NOISES], INSTANCES[scale], policies)


def machine_learning(scale: str) -> Campaign:
    """Figure II.6: the uniform case, networks trained on the same data."""
    points = [{"case": "uniform", "noise": noise} for noise in ML_NOISES]
    return _campaign("machine-learning", points, INSTANCES[scale], (BEST_EFFORT, "fifo", OPTIMAL))


def jacobi(scale: str) -> Campaign:
    """Figures III.4 to III.6: the five applications of Table III.1, with more and more iterations; nothing is random."""
    cells = [
        Cell("jacobi", {"batches": batches}, 0, policy)
        for batches in (BATCHES if scale != "smoke" else BATCHES[:4])
        for policy in EIGHT
    ]
    return Campaign("jacobi", tuple(cells))


def _campaign(name: str, points: list[dict[str, Any]], instances: int, policies: tuple[str, ...]) -> Campaign:
    cells = [Cell("bicolored", point, seed, policy) for point in points for seed in range(instances) for policy in policies]
    return Campaign(name, tuple(cells))


CAMPAIGNS: Final[Mapping[str, Callable[[str], Campaign]]] = {
    "general": general,
    "machine-learning": machine_learning,
    "jacobi": jacobi,
}
