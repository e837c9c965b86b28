"""The engine against event loops in C on the very same phases: a plain one with linear scans (loop.c), for eight policies on
two instances, and the yardstick that touches only what moves (yardstick.cpp), for greedy-yield on the dense one.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from benchmarks.elsewhere import Elsewhere, elsewhere
from benchmarks.foreign import FLAGS, POLICIES, CLoop, Outcome, Yardstick
from benchmarks.instance import INSTANCES, SHORT_WINDOW, flat, shortened, transferred
from benchmarks.report import Report, Results, require, verdict
from benchmarks.timing import fastest
from penstock.engine import simulate
from penstock.model import Workload

AGREEMENT = 1e-9
ROUNDS = {"the paper's": 15, "dense": 9, "yardstick": 25}
MEASURED_BY = "dense"
"""The instance of the yardstick."""
REFERENCE = "greedy-yield"
OF_YARDSTICK = {REFERENCE: (1.4, 2.0), "fair-share": (0.8, None)}
"""The most that the engine may take under a policy, in times of the yardstick's greedy-yield; and what is enough."""
OF_REFERENCE = {
    "fcfs": 1.2,
    "greedy-com": 1.2,
    "due-yield": 1.2,
    "closing-yield": 1.2,
    "balance": 1.2,
    "periodic-greedy-yield": 1.2,
    "set-10": 2.0,
    "look-ahead-greedy-yield": 2.0,
    "fifo": 1.2,
    "lowest-id": 1.2,
    "longest-io": 1.2,
    "shortest-io": 1.2,
    "shortest-remaining": 1.2,
    "longest-remaining": 1.2,
    "bandwidth-oriented": 1.2,
    "stretch-oriented": 1.2,
    "johnson": 1.2,
}
"""The most that an event may take under a policy, in times of an event of greedy-yield."""


def run(report: Report, *, quick: bool, against: Path | None = None) -> Results:
    """ns an event of C and of the engine, and their ratios; of another tree's engine too."""
    horizon = 200_000.0 if quick else 2_000_000.0
    results: Results = {}
    with tempfile.TemporaryDirectory() as folder, elsewhere(against) as other:
        loops = {name: CLoop(Path(folder), name) for name in FLAGS}
        for name in INSTANCES:
            compare = partial(_compare, loops, other, name, horizon, rounds=7 if quick else ROUNDS[name])
            results[name] = {policy: compare(policy) for policy in POLICIES}
            _print(report, name, results[name])
        yardstick = Yardstick(Path(folder))
        results["yardstick"] = _measure(yardstick, other, horizon, rounds=7 if quick else ROUNDS["yardstick"])
        _print_yardstick(report, results["yardstick"])
    return results


def engine_run(name: str, horizon: float, policy: str) -> tuple[float, int]:
    """Seconds in the engine, and events, of a window of the instance."""
    result = simulate(INSTANCES[name](horizon), policy)
    return result.seconds, result.events


def _compare(
    loops: dict[str, CLoop], other: Elsewhere | None, name: str, horizon: float, policy: str, rounds: int
) -> Results:
    """The loops in C and the engine under one policy."""
    workload = INSTANCES[name](horizon)
    phases, short = flat(workload), shortened(workload, SHORT_WINDOW)
    ours = _outcome(short, policy)
    apart_short = max(loop(phases, short, policy).apart_from(ours) for loop in loops.values())
    require(apart_short <= AGREEMENT, f"{policy}: C and engine differ by {apart_short:.1e} in a short window")
    ours = _outcome(workload, policy)
    apart_long = max(loop(phases, workload, policy).apart_from(ours) for loop in loops.values())
    contestants: dict[str, Callable[[], float]] = {
        which: lambda loop=loop: loop(phases, workload, policy).ns_per_event for which, loop in loops.items()
    }
    contestants["engine"] = lambda: _outcome(workload, policy).ns_per_event
    contestants["simulate"] = lambda: 1e9 * _seconds_in_all(workload, policy) / ours.events
    if other:
        contestants["before"] = partial(_ns_elsewhere, other, name, horizon, policy)
    ns = fastest(contestants, rounds)
    return {
        "events": ours.events,
        "apart_short": apart_short,
        "apart_long": apart_long,
        "ns_per_event": ns,
        "ratio": {which: value / ns["engine"] for which, value in ns.items() if which in ("before", *loops)},
    }


def _outcome(workload: Workload, policy: str) -> Outcome:
    result = simulate(workload, policy)
    return Outcome(result.seconds, result.min_yield, result.events, transferred(result))


def _seconds_in_all(workload: Workload, policy: str) -> float:
    """`simulate` as a user calls it: the state, the dedicated run and the measures included."""
    begun = time.perf_counter()
    simulate(workload, policy)
    return time.perf_counter() - begun


def _ns_elsewhere(other: Elsewhere, name: str, horizon: float, policy: str) -> float:
    seconds, events = other(engine_run, name, horizon, policy)
    return float(1e9 * seconds / events)


def _measure(yardstick: Yardstick, other: Elsewhere | None, horizon: float, rounds: int) -> Results:
    """The yardstick and the engine under all policies that something is wanted of, all of them in turn."""
    workload = INSTANCES[MEASURED_BY](horizon)
    phases, short = flat(workload), shortened(workload, SHORT_WINDOW)
    apart = yardstick(phases, short).apart_from(_outcome(short, REFERENCE))
    require(apart <= AGREEMENT, f"yardstick and engine differ by {apart:.1e} in a short window")
    policies = (*OF_YARDSTICK, *OF_REFERENCE)
    events = {policy: simulate(workload, policy).events for policy in policies}
    contestants: dict[tuple[str, str], Callable[[], float]] = {
        ("engine", policy): lambda policy=policy: _outcome(workload, policy).ns_per_event for policy in policies
    }
    if other:
        contestants |= {
            ("before", policy): partial(_ns_elsewhere, other, MEASURED_BY, horizon, policy) for policy in policies
        }
    contestants["yardstick", REFERENCE] = lambda: yardstick(phases, workload).ns_per_event
    ns = fastest(contestants, rounds)
    found = {
        policy: {
            "events": events[policy],
            "ns_per_event": ns["engine", policy],
            "times_yardstick": ns["engine", policy] / ns["yardstick", REFERENCE],
            "times_reference": ns["engine", policy] / ns["engine", REFERENCE],
            "before_ns_per_event": ns.get(("before", policy)),
        }
        for policy in policies
    }
    return {"ns_per_event": ns["yardstick", REFERENCE], "apart_short": apart, "policies": found}


def _print(report: Report, name: str, results: Results) -> None:
    compared = any("before" in one["ratio"] for one in results.values())
    report.show(
        f"Against a plain C event loop, {name} instance: ns an event (fastest of all turns)",
        (
            "policy",
            "events",
            *FLAGS,
            "engine",
            "simulate()",
            "C / engine",
            "C native / engine",
            "apart, short",
            "apart, long",
            *(("before", "before / engine") if compared else ()),
        ),
        (
            (
                policy,
                f"{one['events']:,}",
                *(f"{one['ns_per_event'][which]:.0f}" for which in (*FLAGS, "engine", "simulate")),
                verdict(one["ratio"]["C"], 1.0, at_least=True),
                f"{one['ratio']['C native']:.3g}",
                f"{one['apart_short']:.0e}",
                f"{one['apart_long']:.0e}",
                *((f"{one['ns_per_event']['before']:.0f}", f"{one['ratio']['before']:.3g}") if compared else ()),
            )
            for policy, one in results.items()
        ),
    )


def _print_yardstick(report: Report, results: Results) -> None:
    compared = any(one["before_ns_per_event"] for one in results["policies"].values())
    report.show(
        f"Against the yardstick, {MEASURED_BY} instance: ns an event (fastest of all turns)",
        (
            "policy",
            "events",
            "ns an event",
            "times the yardstick",
            f"times {REFERENCE}",
            *(("before", "before / engine") if compared else ()),
        ),
        (
            ("(the yardstick)", "", f"{results['ns_per_event']:.1f}", "1", "", *(("", "") if compared else ())),
            *(
                (
                    policy,
                    f"{one['events']:,}",
                    f"{one['ns_per_event']:.1f}",
                    _beside_yardstick(policy, one["times_yardstick"]),
                    _beside_reference(policy, one["times_reference"]),
                    *_beside_before(one),
                )
                for policy, one in results["policies"].items()
            ),
        ),
    )


def _beside_yardstick(policy: str, times: float) -> str:
    if policy not in OF_YARDSTICK:
        return f"{times:.3g}"
    wanted, enough = OF_YARDSTICK[policy]
    return verdict(times, wanted, enough=enough)


def _beside_reference(policy: str, times: float) -> str:
    return verdict(times, OF_REFERENCE[policy]) if policy in OF_REFERENCE else f"{times:.3g}"


def _beside_before(one: Results) -> tuple[str, ...]:
    before = one["before_ns_per_event"]
    return (f"{before:.1f}", f"{before / one['ns_per_event']:.3g}") if before else ()
