"""What each policy costs on the shared instance, against greedy-yield; and a user's own policy against the built-in one."""

from __future__ import annotations

import tempfile
from functools import cache, partial
from pathlib import Path

from benchmarks.elsewhere import elsewhere
from benchmarks.instance import instance
from benchmarks.report import Report, Results, verdict
from benchmarks.timing import fastest
from penstock.engine import Result, simulate
from penstock.policies import find
from penstock.policies.policy import Policy
from penstock.policies.registry import REGISTRY

REFERENCE = "greedy-yield"
OWN = "greedy-yield from a file"
WANTED = {"look-ahead-greedy-yield": 5.0, "best-next-event": 100.0}
"""The most that a policy may take, in times of greedy-yield."""
OWN_SOURCE = '''
from penstock.policies.order import fill, rounded_yield


def mine(view, rates):
    """The lowest yield first, as a user would write it."""
    for i in range(len(rates)):
        view.scratch[i] = rounded_yield(view, i)
    fill(view, view.scratch, rates)
'''


def run(report: Report, *, quick: bool, against: Path | None = None) -> Results:
    """Seconds a window, ns an event, and times of greedy-yield, for every policy; seconds of another tree too."""
    horizon = 200_000.0 if quick else 2_000_000.0
    names = (*REGISTRY, OWN)
    runs: dict[str, Result] = {name: _simulated(horizon, name) for name in names}
    contestants = {("this", name): partial(engine_seconds, horizon, name) for name in names}
    with elsewhere(against) as other:
        if other:
            known = other(registered)
            contestants |= {
                ("before", name): partial(other, engine_seconds, horizon, name) for name in known if name in names
            }
        seconds = fastest(contestants, rounds=3 if quick else 11)
    results = {
        name: {
            "events": runs[name].events,
            "min_yield": runs[name].min_yield,
            "mean_active": _mean_active(runs[name]),
            "seconds": seconds["this", name],
            "ns_per_event": 1e9 * seconds["this", name] / runs[name].events,
            "ratio": seconds["this", name] / seconds["this", REFERENCE],
            "before_seconds": seconds.get(("before", name)),
        }
        for name in names
    }
    _print(report, results)
    return results


def engine_seconds(horizon: float, name: str) -> float:
    """Seconds in the engine of a window under the policy."""
    return _simulated(horizon, name).seconds


def registered() -> list[str]:
    """The built-in policies: what a user's file may contain can differ between two trees, so that is not compared."""
    return list(REGISTRY)


def _simulated(horizon: float, name: str) -> Result:
    return simulate(instance(horizon), _own() if name == OWN else REGISTRY[name])


@cache
def _own() -> Policy:
    """The policy of OWN_SOURCE, found and compiled as a user's file is."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "mine.py"
        path.write_text(OWN_SOURCE)
        policy = find(f"{path}:mine")
        policy.compiled()
    return policy


def _mean_active(result: Result) -> float:
    """How many applications have an operation posted, on average over time."""
    posted = sum(application.waiting + application.transferring for application in result.applications)
    return posted / (result.end - result.begin)


def _beside_before(one: Results) -> str:
    return f"{one['before_seconds'] / one['seconds']:.3g}" if one["before_seconds"] else ""


def _print(report: Report, results: Results) -> None:
    compared = any(one["before_seconds"] for one in results.values())
    report.show(
        "Policies on one window of 60 applications (fastest of all turns)",
        (
            "policy",
            "events",
            "mean active",
            "seconds",
            "ns an event",
            f"times {REFERENCE}",
            *(("before / this",) if compared else ()),
        ),
        (
            (
                name,
                f"{one['events']:,}",
                f"{one['mean_active']:.1f}",
                f"{one['seconds']:.4f}",
                f"{one['ns_per_event']:,.0f}",
                verdict(one["ratio"], WANTED[name]) if name in WANTED else f"{one['ratio']:.3g}",
                *((_beside_before(one),) if compared else ()),
            )
            for name, one in results.items()
        ),
    )
