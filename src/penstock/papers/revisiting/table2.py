"""Table 2 of paper 000: lower bounds of competitive ratios, each measured on an instance made for it, as m grows."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Final

from matplotlib.figure import Figure

from penstock.engine import Result, simulate
from penstock.papers.drawing import COLOURS, panels
from penstock.papers.reproducing import ClaimCheck, Verdict
from penstock.papers.revisiting.campaigns import POLICIES
from penstock.policies import REGISTRY, expand, find
from penstock.policies.policy import SHARING
from penstock.theory.adversaries import LAST_LISTED_FIRST, against, in_step, late_comer, one_behind

ANY: Final = "any strategy"
"""Measured as the best of all policies that share the link: none of them knows the future."""
SIZES: Final[Mapping[str, tuple[int, ...]]] = {
    "smoke": (4, 8, 16),
    "quick": (4, 8, 16, 32, 64),
    "paper": (4, 8, 16, 32, 64, 128),
}
"""The numbers of applications m at each scale."""
SMALL: Final = 1e-6
"""ε of the examples."""
SLACK: Final = 0.02
"""A ratio may fall short of its limit by this part, for the ε and the cycles that are finite."""

UNBOUNDED: Final = 1e4
"""From this ratio on, at ε = 1e-6, an entry counts as ∞: it grows as 1/ε."""
TOP: Final = 1e8
"""Where the figure draws larger ratios."""

_OBJECTIVES: Final = {"min_yield": "MinYield", "efficiency": "Efficiency", "utilization": "Utilization"}
_LIMITS: Final[Mapping[str, Callable[[int], float]]] = {
    "m": lambda m: float(m),
    "m/4": lambda m: m / 4.0,
    "2": lambda m: 2.0 - 1.0 / m,
    "∞": lambda _: math.inf,
}


@dataclass(frozen=True)
class RatioEntry:
    """A number of the table: strategy, objective, the bound as printed and the example that proves it."""

    policy: str
    objective: str
    bound: str
    example: int

    def __str__(self) -> str:
        return f"{self.policy}, {_OBJECTIVES[self.objective]}: {self.bound} (Example {self.example})"


def _entries() -> tuple[RatioEntry, ...]:
    found = []
    for policy in (*POLICIES, ANY):
        lowest = {
            "fair-share": ("m", 1),
            "periodic-greedy-yield": ("2", 4),
            "best-next-event": ("m/2 − 4", 6),
            ANY: ("3/2", 5),
        }.get(policy, ("∞", 2))
        efficiency = ("m/4", 2) if policy in ("fair-share", "greedy-com", ANY) else ("m", 3)
        found += [RatioEntry(policy, "min_yield", *lowest), RatioEntry(policy, "efficiency", *efficiency)]
        found.append(RatioEntry(policy, "utilization", "∞", 2))
    return tuple(found)


ENTRIES: Final = _entries()
BUILT: Final = tuple(entry for entry in ENTRIES if entry.bound in _LIMITS)
"""Those with an instance in `penstock.theory.adversaries`."""


def measure(sizes: Sequence[int]) -> dict[RatioEntry, list[float]]:
    """The ratio of the best schedule known to the strategy's, for each entry that has an instance and each m."""
    return {entry: [_ratio(entry, m) for m in sizes] for entry in BUILT}


def _ratio(entry: RatioEntry, m: int) -> float:
    if entry.policy == ANY:
        return min(_ratio(replace(entry, policy=policy), m) for policy in expand([SHARING]))
    best, reached = _runs(entry.policy, entry.example, m)
    value: float = getattr(reached, entry.objective)
    most = max(float(getattr(result, entry.objective)) for result in best)
    return most / value if value > 0.0 else math.inf


@cache
def _runs(policy: str, example: int, m: int) -> tuple[tuple[Result, ...], Result]:
    """The best schedules known of the example, and the strategy's."""
    if example == 2:
        workload = against(REGISTRY[policy], m, SMALL)
        # Category A one by one is best for efficiency and utilization; shared equally, no yield is 0 (000 §5).
        ordered = sorted(workload.applications, key=lambda application: -len(application.phases))
        one_by_one = replace(workload, applications=tuple(ordered))
        return (simulate(one_by_one, LAST_LISTED_FIRST), simulate(workload, "fair-share")), simulate(workload, policy)
    if example == 4:
        workload = in_step(m, cycles=max(64, 4 * m))
        fine = find(f"{policy}:delta={1.0 / (20 * m)}")
        return (simulate(workload, "fcfs"),), simulate(workload, fine)
    workload = late_comer(m, SMALL) if example == 1 else one_behind(m, SMALL)
    return (simulate(workload, LAST_LISTED_FIRST),), simulate(workload, policy)


def claim(measured: Mapping[RatioEntry, Sequence[float]], sizes: Sequence[int]) -> Verdict:
    """R12: every entry that can be built reaches its bound as m grows."""
    checks = []
    for entry in ENTRIES:
        if entry not in measured:
            checks.append(ClaimCheck(str(entry), "no instance constructed", holds=False))
            continue
        least = [min((1.0 - SLACK) * _LIMITS[entry.bound](m), UNBOUNDED) for m in sizes]
        reached = [ratio >= limit for ratio, limit in zip(measured[entry], least, strict=True)]
        tolerance = f"above {UNBOUNDED:.0e}" if entry.bound == "∞" else f"within {SLACK:.0%}"
        values = ", ".join(f"{_shown(ratio)} at m = {m}" for m, ratio in zip(sizes, measured[entry], strict=True))
        checks.append(ClaimCheck(f"{entry}, {tolerance}", values, all(reached)))
    return Verdict(
        "R12", "Table 2", "lower bounds of the competitive ratios, reached on adversarial instances", tuple(checks)
    )


def _shown(ratio: float) -> str:
    return f"{ratio:.3g}" if ratio < UNBOUNDED else "∞" if ratio == math.inf else f"{ratio:.1e}"


def draw(measured: Mapping[RatioEntry, Sequence[float]], sizes: Sequence[int]) -> Figure:
    """Table 2: the ratio of the best schedule known to each strategy's on the instances made against it, as m grows. What is
    above the dotted line, here with ε = 1e-6, grows without bound as ε falls. Lines that coincide hide each other.
    """
    figure, axes = panels(1, 3)
    for panel, (objective, title) in zip(axes, _OBJECTIVES.items(), strict=True):
        for entry, ratios in measured.items():
            if entry.objective == objective:
                heights = [min(ratio, TOP) for ratio in ratios]
                label = f"{entry.policy} ({entry.bound})"
                panel.plot(sizes, heights, marker="o", markersize=3, color=COLOURS.get(entry.policy, "#7f3fbf"), label=label)
        panel.set(title=title, xlabel="applications m", ylabel="ratio", xscale="log", yscale="log")
        if objective != "efficiency":
            panel.axhline(UNBOUNDED, color="#555555", linewidth=0.8, linestyle=":")
            panel.set_ylim(0.9, 2 * TOP)
        panel.set_xticks(list(sizes), [str(m) for m in sizes])
        panel.minorticks_off()
        panel.legend(fontsize=6)
    return figure
