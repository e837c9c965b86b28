"""S1 to S7 of 002, judged on each kind of curves that was run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import numpy as np

from penstock.numeric.tolerances import CLAIM_SAME
from penstock.papers.distributed.experiments import APPLICATIONS, BY_LOAD, COMPARED, IN_TURN, UNSURE, Sets
from penstock.papers.distributed.figures import changes, name_of
from penstock.papers.verdicts import ClaimCheck, Estimate, Verdict, at_least, at_most, listed, minimum, together
from penstock.planning.placement.heuristics import MCKP

ALLOCATIONS: Final = ("random", "static", "best-bdw", "n-sys", "tcpu")
NEARLY: Final = 0.02
"""A mean slowdown within this part of another is as good."""
FAR: Final = 1.0
"""A large I/O-load: beyond it the resources are saturated whatever the allocation."""
EXTREMELY_LOW: Final = 0.1
"""The paper leaves out lower I/O-loads where it says how little knowing the curves matters."""
HIGH: Final = (0.6, FAR)
"""High I/O-loads short of saturation."""


def mean_of(sets: Sets, heuristic: str, measure: str, chosen: np.ndarray) -> float:
    """The mean of a `measure` under a `heuristic` over the `chosen` ones of the sets; not a number if none is chosen.

    `sets` are the rows of one kind of curves.
    """
    return float(sets.of(heuristic, measure)[chosen].mean()) if chosen.any() else float("nan")


def lead(sets: Sets, better: str, worse: str, measure: str, chosen: np.ndarray) -> Estimate:
    """By how much a `measure` is lower under one heuristic than under another, set by set.

    `sets` are the rows of one kind of curves, `better` and `worse` the names of the heuristics; `chosen` is a mask of sets.
    """
    return Estimate.of((sets.of(worse, measure) - sets.of(better, measure))[chosen])


def crossing(sets: Sets, challenger: str, measure: str = "mean_slowdown") -> float | None:
    """The I/O-load from which on an allocation is better than best-bdw on average; None if it never is.

    `sets` are the rows of one kind of curves, `challenger` is the allocation, and `measure` what is compared.
    """
    found = None
    for middle, inside in reversed(sets.bins()):
        challenged = mean_of(sets, name_of("best-bdw"), measure, inside)
        if mean_of(sets, name_of(challenger), measure, inside) >= challenged:
            break
        found = middle
    return found


def s1(kinds: Sequence[Sets]) -> Verdict:
    """S1 (Lemma 1).

    `kinds` are the rows of each kind of curves that was run.
    """
    checks = []
    for sets in kinds:
        wrong = sum(row["more_than_best"] for row in sets.rows)
        never = wrong == 0 if sets.rows else None
        checks.append(ClaimCheck(f"{sets.label}: never n_sys > n_perf", f"{wrong} in {len(sets.rows)} sets", never))
    return Verdict("S1", "Lemma 1", "n_sys ≤ n_perf for every application", tuple(checks))


def s2(kinds: Sequence[Sets]) -> Verdict:
    """S2 (Figure 5).

    `kinds` are the rows of each kind of curves that was run.
    """
    checks = [check for sets in kinds for check in _on_slowdown(sets)]
    says = "best-bdw is the best allocation in general, n-sys at a large I/O-load; clairvoyant placement gains little"
    return Verdict("S2", "Figure 5", says, tuple(checks))


def _on_slowdown(sets: Sets) -> Iterator[ClaimCheck]:
    low = [(middle, inside) for middle, inside in sets.bins() if middle < FAR]
    best = [middle for middle, inside in low if _within(sets, "best-bdw", "mean_slowdown", inside, NEARLY)]
    lost = crossing(sets, "n-sys")
    yield ClaimCheck(
        f"{sets.label}: best-bdw is within {NEARLY:.0%} of the best allocation in most bins of load below {FAR:g}",
        f"{len(best)} of {len(low)} bins",
        2 * len(best) > len(low) if low else None,
    )
    passes = lost is not None and lost >= HIGH[0]
    yield ClaimCheck(
        f"{sets.label}: n-sys passes best-bdw at a large I/O-load",
        f"{_or_never(lost)}, of {sets.loads.max(initial=0.0):.2f}",
        passes if passes or sets.loads.max(initial=0.0) >= FAR else None,
    )
    by_load, in_turn, anywhere = (
        sets.of(name_of("best-bdw", placement), "mean_slowdown") for placement in (BY_LOAD, IN_TURN, "random")
    )
    gain = Estimate.of(1.0 - by_load / in_turn)
    yield ClaimCheck(
        f"{sets.label}: clairvoyant placement has little impact, under {NEARLY:.0%} either way, beside in turn (best-bdw)",
        f"gains {gain:+.4f} of it",
        gain.inside(-NEARLY, NEARLY),
    )
    leads = [Estimate.of(anywhere - one) for one in (by_load, in_turn)]
    yield ClaimCheck(
        f"{sets.label}: both beat random placement (best-bdw)",
        "mean slowdown lower " + listed(("clairvoyant by", "in turn by"), leads, ".3f"),
        together(one.above() for one in leads),
    )


def s3(kinds: Sequence[Sets]) -> Verdict:
    """S3 (Figures 6, 7).

    `kinds` are the rows of each kind of curves that was run.
    """
    checks = []
    for sets in kinds:
        for allocation, load in (("best-bdw", 0.5), ("n-sys", 0.5), ("random", 0.5), ("best-bdw", 0.2), ("best-bdw", 0.8)):
            chosen = sets.near(load)
            first, second, third = (name_of(allocation, placement) for placement in (BY_LOAD, IN_TURN, "random"))
            leads = [lead(sets, one, other, "spread", chosen) for one, other in ((first, second), (second, third))]
            checks.append(
                ClaimCheck(
                    f"{sets.label}: {allocation} at I/O-load {load} ± 0.05: clairvoyant < in turn < random",
                    "lower " + listed(("clairvoyant by", "in turn by"), leads, ".3f"),
                    together(one.above() for one in leads),
                )
            )
    return Verdict("S3", "Figures 6, 7", "I/O-spread: clairvoyant < non-clairvoyant < random", tuple(checks))


def s4(kinds: Sequence[Sets]) -> Verdict:
    """S4 (Figures 8, 9); mckp where it is defined, with no more applications than resources.

    `kinds` are the rows of each kind of curves that was run.
    """
    checks = [check for sets in kinds for check in (*_on_parts(sets), _on_mckp(sets))]
    says = (
        "best-bdw has minimal ρ_io and ρ_con that grows; that of n-sys and tcpu does not vary as much; mckp has the largest "
        "slowdown"
    )
    return Verdict("S4", "Figures 8, 9", says, tuple(checks))


def _on_parts(sets: Sets) -> Iterator[ClaimCheck]:
    """ρ_io and ρ_con."""
    names = [*ALLOCATIONS, sets.mckp]
    everything = np.ones(len(sets.rows), bool)
    least = [mean_of(sets, name_of(name), "mean_allocation_slowdown", everything) for name in names]
    yield ClaimCheck(
        f"{sets.label}: best-bdw has the smallest ρ_io, 1",
        listed(names, least, ".3f"),
        at_most(abs(least[names.index("best-bdw")] - 1.0), CLAIM_SAME),
    )
    if sets.applications != APPLICATIONS and not sets.near(FAR, 0.1).any():
        return  # with few applications the generator does not reach saturation
    grown = {name: _growth(sets, name) for name in ("best-bdw", "n-sys", "tcpu")}
    measured = listed(list(grown), list(grown.values()), "+.3f")
    words = f"from load 0.4 to {FAR:g}"
    yield ClaimCheck(f"{sets.label}: {words} ρ_con of best-bdw grows", measured, grown["best-bdw"].above())
    apart = [grown["best-bdw"].minus(grown[name]) for name in ("n-sys", "tcpu")]
    expected = f"{sets.label}: and that of n-sys and tcpu varies less"
    yield ClaimCheck(expected, measured, together(one.above() for one in apart))


def _growth(sets: Sets, name: str) -> Estimate:
    """By how much ρ_con is larger near saturation than at an I/O-load of 0.4."""
    values = sets.of(name_of(name), "mean_congestion_slowdown")
    low, high = (Estimate.of(values[sets.near(load, 0.1)]) for load in (0.4, FAR))
    return high.minus(low)


def _on_mckp(sets: Sets) -> ClaimCheck:
    """Whether MCKP has the largest mean slowdown; with K > N only our form of it exists, which decides nothing."""
    everything = np.ones(len(sets.rows), bool)
    leads = {name: lead(sets, name_of(name), sets.mckp, "mean_slowdown", everything) for name in ALLOCATIONS}
    nearest = min(leads, key=lambda name: leads[name].value)
    ours = "" if sets.mckp == MCKP else " (K > N: MCKP is not defined; ours, whose last ones share a resource)"
    return ClaimCheck(
        f"{sets.label}: mckp has the largest mean slowdown{ours}",
        f"{mean_of(sets, sets.mckp, 'mean_slowdown', everything):.3f}; above the next, {nearest}, by {leads[nearest]:+.3f}",
        None if ours else together(one.above() for one in leads.values()),
    )


def s5(kinds: Sequence[Sets]) -> Verdict:
    """S5 (Figure 10).

    `kinds` are the rows of each kind of curves that was run.
    """
    checks = []
    for sets in kinds:
        low, high, beyond = sets.between(0.0, 0.4), sets.between(*HIGH), sets.between(HIGH[0], np.inf)
        others = [name for name in ALLOCATIONS if name != "tcpu"]
        for words, chosen, first, rest in (
            ("below 0.4: tcpu and best-bdw best", low, ("tcpu", "best-bdw"), ("random", "static", "n-sys")),
            (f"from {HIGH[0]:g} to {HIGH[1]:g}: tcpu best", high, ("tcpu",), others),
            (f"of {HIGH[0]:g} and more: tcpu below best-bdw", beyond, ("tcpu",), ("best-bdw",)),
        ):
            means = {name: mean_of(sets, name_of(name), "idle_time", chosen) for name in ALLOCATIONS}
            leads = {(one, other): _idle(sets, one, other, chosen) for one in first for other in rest}
            (one, other), closest = min(leads.items(), key=lambda lead: lead[1].value)
            checks.append(
                ClaimCheck(
                    f"{sets.label}: at I/O-load {words}",
                    f"{listed(list(means), list(means.values()))}; {one} below {other} by {closest:+.4f}",
                    together(lead.above() for lead in leads.values()),
                )
            )
        above = sets.between(0.8, np.inf)
        found = _idle(sets, "static", "best-bdw", above)
        checks.append(
            ClaimCheck(
                f"{sets.label}: at I/O-load above 0.8 static is good: below best-bdw",
                f"below it by {found:+.4f}",
                found.above(),
            )
        )
    says = "machine idle time: tcpu and best-bdw best at low load, tcpu at high load; static good at high load"
    return Verdict("S5", "Figure 10", says, tuple(checks))


def _idle(sets: Sets, one: str, other: str, chosen: np.ndarray) -> Estimate:
    """By how much the idle time of one allocation is below that of another, set by set."""
    return lead(sets, name_of(one), name_of(other), "idle_time", chosen)


def s6(kinds: Sequence[Sets]) -> Verdict:
    """S6 (Figures 11, 12).

    `kinds` are the rows of each kind of curves that was run.
    """
    checks = [check for sets in kinds for check in _on_classes(sets)]
    says = (
        "with the four class curves only, the slowdown changes by under 4 %, but at extremely low load; tcpu stays the best"
    )
    return Verdict("S6", "Figures 11, 12", says, tuple(checks))


def _on_classes(sets: Sets) -> Iterator[ClaimCheck]:
    """What knowing the classes of the curves only changes: the slowdown, and who has the least idle time."""
    bins = [(middle, inside) for middle, inside in sets.bins() if middle > EXTREMELY_LOW]
    for heuristic in UNSURE:
        change = changes(sets, heuristic.name)
        found = [(Estimate.of(change[inside]), middle) for middle, inside in bins]
        worst, where = max(found, key=lambda one: abs(one[0].value), default=(Estimate.of([]), np.nan))
        yield ClaimCheck(
            f"{sets.label}: {heuristic.name}: the mean slowdown changes by under 4 % in every bin above {EXTREMELY_LOW:g}, "
            "either way",
            f"at most by {worst:+.3f} of it (at {where:.2f}), {Estimate.of(change):+.3f} on average",
            together(one.inside(-0.04, 0.04) for one, _ in found),
        )
    idle = [sets.of(heuristic.name, "idle_time", believed=True) for heuristic in UNSURE]
    leads = [Estimate.of(other - idle[0]) for other in idle[1:]]
    yield ClaimCheck(
        f"{sets.label}: even so {UNSURE[0].name} has the least idle time of the three",
        "below " + listed([heuristic.name for heuristic in UNSURE[1:]], leads, "+.4f"),
        together(one.above() for one in leads),
    )


def s7(kinds: Sequence[Sets], targets: Sets) -> Verdict:
    """S7 (Figure 13).

    `kinds` are the rows of each kind of curves of I/O nodes, `targets` those with curves of OSTs.
    """
    checks = []
    here = crossing(targets, "n-sys")
    for sets in kinds:
        there = crossing(sets, "n-sys")
        measured = f"{_or_never(here)} with OSTs, {_or_never(there)} with {sets.label}"
        earlier = None if here is None and there is None else here is not None and (there is None or here < there)
        checks.append(ClaimCheck("n-sys passes best-bdw at a lower I/O-load than with I/O nodes", measured, earlier))
    for measure, low, high in (("mean_slowdown", here or 0.0, FAR), ("idle_time", 0.3, np.inf)):
        bins = [(middle, inside) for middle, inside in targets.bins() if low <= middle < high]
        good = [middle for middle, inside in bins if _within(targets, "static", measure, inside, 0.1)]
        words = f"from {low:.2f} on" if np.isinf(high) else f"from {low:.2f} to {high:g}"
        checks.append(
            ClaimCheck(
                f"static is within 10 % of the best allocation in {measure.replace('_', ' ')}, I/O-load {words}",
                f"in {len(good)} of {len(bins)} bins",
                len(good) >= 0.8 * len(bins) if bins else None,
            )
        )
    says = f"OSTs ({targets.label}): the cut-off comes earlier, and static is excellent"
    return Verdict("S7", "Figure 13", says, tuple(checks))


def _within(sets: Sets, allocation: str, measure: str, chosen: np.ndarray, slack: float) -> bool:
    """Whether the allocation's mean is within this part of the smallest."""
    smallest = min(mean_of(sets, name_of(other), measure, chosen) for other in ALLOCATIONS)
    return mean_of(sets, name_of(allocation), measure, chosen) <= (1.0 + slack) * smallest


def _or_never(load: float | None) -> str:
    return "never" if load is None else f"from {load:.2f} on"


def interval(kinds: Sequence[Sets]) -> Verdict:
    """Beside the claims: the paper's interval, until the first application ends, against the steady one.

    `kinds` are the rows of each kind of curves that was run.
    """
    checks = []
    for sets in kinds:
        both = [
            (row["first_end"], row["runs"][COMPARED.name]["mean_slowdown"])
            for row in sets.rows
            if row["first_end"] is not None
        ]
        apart = float(np.median([abs(one / other - 1.0) for one, other in both])) if both else float("nan")
        checks.append(
            ClaimCheck(
                f"{sets.label}: where everyone has transferred before the first end, slowdowns differ by under 2 % (median)",
                f"{apart:.2%}; {len(sets.rows) - len(both)} of {len(sets.rows)} sets have no such interval",
                apart < 0.02 if both else None,
            )
        )
    return Verdict("interval", "§V.D", "the interval until the first end gives what the steady one gives", tuple(checks))


def oracle(rows: Sequence[Mapping[str, float]]) -> Verdict:
    """Beside the claims: how far each heuristic is from the best of all placements.

    `rows` are those of the experiment `small_sets`.
    """
    means = {name: float(np.mean([row[name] for row in rows])) for name in (rows[0] if rows else ())}
    ordered = sorted(means, key=lambda name: means[name])
    least = minimum(np.array([min(row.values()) for row in rows]))
    check = ClaimCheck(
        "no heuristic is better than the best of all placements; mean slowdown over it, on average",
        listed(ordered, [means[name] for name in ordered], ".3f"),
        at_least(least, 1.0 - CLAIM_SAME),
    )
    return Verdict("oracle", "–", f"the best of all placements of {len(rows)} small sets beside the heuristics", (check,))
