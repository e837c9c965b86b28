"""Chapter IV of 001: list scheduling against packs, on four families of batches: its figures and its claim, D11.

**Noise filtering** (§IV.C.1). The thesis excludes batches with pathologically high I/O, and does not say where these begin.
Here a batch is excluded if its I/O load α is over `TOO_LOADED` times the median of its family at the same wanted load.

**Steady state** (§IV.C.2). The thesis speaks of the utilization between the start and the end of a schedule, and of
schedules without a steady state. Here the makespan is cut into tenths. The steady state is the longest run of tenths whose
utilizations are within `BAND` of each other; a schedule has one if the run takes half of the makespan or more. The
utilization in the steady state is the mean of that run. `MachineRun.steady` is no substitute: MSER finds the span with the
best mean of any schedule, also of one without a plateau.

**The printed f** (§IV.B.3.d). On Mira the thesis draws the part of the time f around the wanted load, which makes α up to
f / (1 − f). Chapter IV's figures have loads from 0.2 to 0.8, so our batches are drawn with the f that makes α the wanted
load, and the printed protocol is a family of its own beside them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from penstock.model import Application, Platform, Workload
from penstock.numeric.arrays import Floats
from penstock.numeric.tolerances import CLAIM_CLOSE
from penstock.papers.dash.experiments import FAMILIES, MAPPINGS, BatchTrial
from penstock.papers.drawing import common_legend, lanes, panels, plain_ticks
from penstock.papers.verdicts import ClaimCheck, Estimate, Verdict, listed, together
from penstock.planning.batch import schedule
from penstock.planning.strategy import BatchStrategy
from penstock.report.gantt import draw_nodes

COLOURS: Final = {"list": "#000000", "pack max": "#0072b2", "pack random": "#e69f00", "pack char": "#d55e00"}
PACKS: Final = ("pack max", "pack random", "pack char")
PRINTED: Final = ", printed f"
"""Behind the name of a Mira family: as the thesis prints its generator."""
MIRA: Final = tuple(name for name, (kind, _) in FAMILIES.items() if kind == "mira")
NAMES: Final = (*FAMILIES, *(name + PRINTED for name in MIRA))
TOO_LOADED: Final = 1.25
PARTS: Final = 10
BAND: Final = 0.1
ALIKE: Final = 0.005
"""A difference of utilizations, or of stretches, below this is none."""
HIGH_LOAD: Final = 0.6
UTILIZATION: Final = "steady utilization"

Row = Mapping[str, Any]


def tenths(row: Row) -> Floats:
    """The utilization in each tenth of the makespan, from the cumulative one in a `row` of the experiment "mapping"."""
    total = np.asarray(row["over_time"]["utilization"])
    done = np.append(0.0, total * np.arange(1, len(total) + 1))[:: len(total) // PARTS]
    return np.diff(done) * PARTS / len(total)


def steady(values: Floats) -> tuple[int, int]:
    """The begin and the end of the longest run of `values` within `BAND` of each other; the first of those as long.

    Example:
        >>> steady(np.array([0.5, 0.9, 0.88, 0.95, 0.3]))
        (1, 4)
    """
    runs = [
        (begin, end)
        for begin in range(len(values))
        for end in range(begin + 1, len(values) + 1)
        if np.ptp(values[begin:end]) <= BAND
    ]
    return max(runs, key=lambda run: (run[1] - run[0], -run[0]))


def measured(row: Row, measure: str) -> float:
    """A `measure` of a `row`: a column, "idle", or one of the steady state."""
    if measure == "idle":
        return float(row["idle"] / row["capacity"])
    if measure in (UTILIZATION, "steady part"):
        values = tenths(row)
        begin, end = steady(values)
        return float(values[begin:end].mean()) if measure == UTILIZATION else (end - begin) / PARTS
    return float(row[measure])


@dataclass(frozen=True)
class MappedBatches:
    """The rows of the experiment "mapping" by trial."""

    rows: Mapping[BatchTrial, Row]

    @cached_property
    def _by_family(self) -> dict[tuple[str, str], dict[tuple[float, int], Row]]:
        """For each family and mapping: the rows that are not excluded by wanted load and seed."""
        names = {strategy: name for name, strategy in MAPPINGS.items()}
        families = {pair: name for name, pair in FAMILIES.items()}
        found: dict[tuple[str, str], dict[tuple[float, int], Row]] = {}
        for trial, row in self.rows.items():
            family = families[trial.kind, dict(trial.parameters)["profile"]] + (PRINTED if trial.printed else "")
            found.setdefault((family, names[trial.strategy]), {})[trial.wanted, trial.seed] = row
        return {key: dict(sorted(_without_loaded(rows).items())) for key, rows in found.items()}

    @cached_property
    def excluded(self) -> int:
        """How many batches are excluded."""
        return len(self.rows) // len(MAPPINGS) - sum(
            len(rows) for (_, name), rows in self._by_family.items() if name == "list"
        )

    @cached_property
    def loads(self) -> list[float]:
        """The wanted I/O loads, in rising order."""
        return sorted({trial.wanted for trial in self.rows})

    def of(self, family: str, mapping: str, low: float = 0.0, high: float = np.inf) -> dict[tuple[float, int], Row]:
        """The rows of a `family` under a `mapping`, by wanted I/O load, from `low` to `high`, and seed."""
        rows = self._by_family.get((family, mapping), {})
        return {batch: row for batch, row in rows.items() if low <= batch[0] <= high}

    def values(self, family: str, mapping: str, measure: str, low: float = 0.0, high: float = np.inf) -> Floats:
        """A `measure` of each row of the `family` and `mapping` with a load from `low` to `high`; arguments as for `of`."""
        return np.array([measured(row, measure) for row in self.of(family, mapping, low, high).values()])

    def gap(self, family: str, pair: tuple[str, str], measure: str, low: float = 0.0, high: float = np.inf) -> Estimate:
        """By how much the first mapping of a `pair` is above the second in a `measure`, batch by batch.

        `family`, and wanted I/O loads from `low` to `high`, choose the batches.
        """
        one, other = (self.values(family, name, measure, low, high) for name in pair)
        return Estimate.of(one - other)


def _without_loaded(rows: Mapping[tuple[float, int], Row]) -> dict[tuple[float, int], Row]:
    """The rows without those of batches with pathologically high I/O."""
    alphas: dict[float, list[float]] = {}
    for (wanted, _), row in rows.items():
        alphas.setdefault(wanted, []).append(row["io_load"])
    most = {wanted: TOO_LOADED * float(np.median(found)) for wanted, found in alphas.items()}
    return {batch: row for batch, row in rows.items() if row["io_load"] <= most[batch[0]]}


def _beyond(gap: Estimate, sign: float) -> bool | None:
    """Whether a gap has this sign; None where it is within its error of `ALIKE`, or below that."""
    return None if abs(gap.value) < ALIKE else gap.above() if sign > 0.0 else gap.below()


def d11(batches: MappedBatches) -> Verdict:
    """D11 (chapter IV), from `batches`; differences are batch by batch, utilizations those of the steady state."""
    checks = [
        *_on_utilization(batches),
        *_on_steadiness(batches),
        *_on_stretch(batches),
        *_on_idle_time(batches),
    ]
    says = (
        "list scheduling uses the machine best at low load and is steady; pack max can pass it above 0.6; other orders of "
        "packs are worse; packs improve stretch slightly, char packs most on uniform workloads, and are the worst on MB"
    )
    place = f"chapter IV; {batches.excluded} of {len(batches.rows) // len(MAPPINGS)} batches excluded"
    return Verdict("D11", place, says, tuple(checks))


def _first(batches: MappedBatches, family: str, first: str, measure: str, sign: float, high: float = np.inf) -> ClaimCheck:
    """Whether a mapping has the largest (sign 1) or the smallest (sign −1) mean of a measure."""
    gaps = {name: batches.gap(family, (first, name), measure, high=high) for name in MAPPINGS if name != first}
    word = "highest" if sign > 0.0 else "lowest"
    where = f", load {high:g}" if high < np.inf else ""
    return ClaimCheck(
        f"{family}{where}: {first} has the {word} {measure.replace('_', ' ')}",
        "beyond the others by " + listed(list(gaps), list(gaps.values()), "+.4f"),
        together(_beyond(gap, sign) for gap in gaps.values()),
    )


def _on_utilization(batches: MappedBatches) -> Iterator[ClaimCheck]:
    """§IV.C.1, Utilization."""
    for family in NAMES:
        yield _first(batches, family, "list", UTILIZATION, 1.0, batches.loads[0])
    for family in NAMES:
        lead = batches.gap(family, ("pack max", "list"), UTILIZATION, HIGH_LOAD)
        expected = f"{family}, load {HIGH_LOAD:g} and more: pack max passes list in utilization"
        yield ClaimCheck(expected, f"{lead:+.4f}", _beyond(lead, 1.0))
    for family in NAMES:
        high = HIGH_LOAD - CLAIM_CLOSE if family in ("BU", "NU") else np.inf
        leads = [batches.gap(family, ("pack max", name), UTILIZATION, high=high) for name in ("pack random", "pack char")]
        where = f", load below {HIGH_LOAD:g}" if high < np.inf else ""
        expected = f"{family}{where}: pack max has a higher utilization than random and char"
        measured = listed(("over random", "over char"), leads, "+.4f")
        yield ClaimCheck(expected, measured, together(_beyond(lead, 1.0) for lead in leads))
    drops = {
        family: Estimate.of(batches.values(family, "list", UTILIZATION, low=batches.loads[-1])).minus(
            Estimate.of(batches.values(family, "list", UTILIZATION, high=batches.loads[0]))
        )
        for family in NAMES
    }
    expected = "utilization of list degrades as the load grows"
    yield ClaimCheck(
        expected, listed(list(drops), list(drops.values()), "+.3f"), together(d.below() for d in drops.values())
    )
    apart = [drops[uniform].minus(drops[mira]) for uniform in ("BU", "NU") for mira in MIRA]
    expected = "and more so on uniform workloads"
    yield ClaimCheck(
        expected, f"nearest {max(apart, key=lambda one: one.value):+.3f}", together(one.below() for one in apart)
    )


def _on_steadiness(batches: MappedBatches) -> Iterator[ClaimCheck]:
    """§IV.C.1 and §IV.C.2: who has a steady state, which is half of the makespan or more."""
    for family in NAMES:
        parts = {name: batches.values(family, name, "steady part") for name in MAPPINGS}
        having = {name: float(np.mean(part >= 0.5)) if len(part) else np.nan for name, part in parts.items()}
        share = having["list"]
        found = "no data" if np.isnan(share) else listed(list(having), list(having.values()), ".0%")
        holds = None if np.isnan(share) else share >= 0.9
        yield ClaimCheck(f"{family}: list has a steady state in 90 % of batches", found, holds)
        if family in ("MB", "MB" + PRINTED):
            most = max(having[name] for name in PACKS)
            yield ClaimCheck(f"{family}: packs have none in most batches", found, None if np.isnan(most) else most < 0.5)


def _on_stretch(batches: MappedBatches) -> Iterator[ClaimCheck]:
    """§IV.C.1, Stretch."""
    for measure, word in (("max_stretch", "max"), ("mean_stretch", "mean")):
        for family in NAMES:
            leads = [batches.gap(family, (name, "list"), measure) for name in ("pack max", "pack random")]
            expected = f"{family}: pack max and pack random have a lower {word} stretch than list"
            measured = listed(("max", "random"), leads, "+.4f")
            yield ClaimCheck(expected, measured, together(_beyond(lead, -1.0) for lead in leads))
    for family in (*MIRA, *(name + PRINTED for name in MIRA)):
        lead = batches.gap(family, ("pack random", "pack max"), "mean_stretch")
        yield ClaimCheck(f"{family}: pack random has a lower mean stretch than max", f"{lead:+.4f}", _beyond(lead, -1.0))
    for family, sign in (("BU", -1.0), ("NU", -1.0), ("MB", 1.0), ("MB" + PRINTED, 1.0)):
        yield _first(batches, family, "pack char", "mean_stretch", sign)
    for family in ("MN", "MN" + PRINTED):
        leads = [batches.gap(family, ("pack char", name), "mean_stretch") for name in ("pack max", "pack random")]
        expected = f"{family}: pack char has the mean stretch of the other packs, within 0.02"
        measured = listed(("over max", "over random"), leads, "+.4f")
        yield ClaimCheck(expected, measured, together(lead.inside(-0.02, 0.02) for lead in leads))


def _on_idle_time(batches: MappedBatches) -> Iterator[ClaimCheck]:
    """§IV.C.2, Figure IV.10: MB; "similar results are obtained with MN"."""
    for family in (*MIRA, *(name + PRINTED for name in MIRA)):
        for first, second, words in (
            ("list", "pack random", "list has less idle time and a larger mean stretch than packs (random)"),
            ("pack max", "pack random", "pack max has less idle time than random, and the same mean stretch within 0.02"),
        ):
            idle, stretch = (batches.gap(family, (first, second), measure) for measure in ("idle", "mean_stretch"))
            outcome = _beyond(stretch, 1.0) if first == "list" else stretch.inside(-0.02, 0.02)
            expected = f"{family}: {words}"
            yield ClaimCheck(expected, f"idle {idle:+.4f}, stretch {stretch:+.4f}", together((_beyond(idle, -1.0), outcome)))
    for family in ("MB", "MB" + PRINTED):
        idle = batches.gap(family, ("pack char", "pack random"), "idle")
        yield ClaimCheck(f"{family}: pack char has more idle time than random", f"{idle:+.4f}", _beyond(idle, 1.0))


def figure_iv_1() -> Figure:
    """Figure IV.1: two identical applications with exclusive access. The second waits once; then they do I/O in turn."""
    figure, (panel,) = panels(1, 1)
    phases = [("work", 2.0), ("io", 1.0)] * 4
    pair = Workload(Platform(1.0), tuple(Application.of(name, phases) for name in ("application 1", "application 2")))
    lanes(panel, pair, "fifo")
    common_legend(figure)
    return figure


def figure_iv_2() -> Figure:
    """Figure IV.2: list scheduling (left) and packs (right) of the same jobs; packs begin at the dotted lines."""
    figure, axes = panels(1, 2, share_x=True)
    jobs = [(4, 30), (4, 18), (3, 24), (5, 15), (2, 20), (3, 12), (4, 9), (2, 8)]
    batch = Workload(
        Platform(1.0, nodes=8),
        tuple(
            Application.of(str(index), [("work", 0.9 * length / 3), ("io", 0.1 * length / 3)] * 3, nodes=nodes)
            for index, (nodes, length) in enumerate(jobs, 1)
        ),
    )
    for panel, (title, strategy) in zip(
        axes, (("list", BatchStrategy("list")), ("packs", BatchStrategy("pack"))), strict=True
    ):
        draw_nodes(panel, schedule(batch, strategy, policy="fifo"))
        panel.set_title(title)
    return figure


def _mean_and_interval(panel: Axes, x: Floats, samples: np.ndarray, mapping: str) -> None:
    """The mean of samples (rows) at each x, and its 95 % confidence interval."""
    mean = samples.mean(axis=0)
    panel.plot(x, mean, color=COLOURS[mapping], label=mapping)
    if len(samples) > 1:
        margin = 1.96 * samples.std(axis=0, ddof=1) / np.sqrt(len(samples))
        panel.fill_between(x, mean - margin, mean + margin, color=COLOURS[mapping], alpha=0.15, linewidth=0)


def _over_time(panel: Axes, batches: MappedBatches, family: str, column: str, low: float, high: float) -> None:
    """A column over time, at equal parts of each makespan, under each mapping."""
    for mapping in MAPPINGS:
        rows = batches.of(family, mapping, low, high).values()
        if rows:
            samples = np.array([row["over_time"][column] for row in rows])
            _mean_and_interval(panel, np.linspace(0.0, 1.0, samples.shape[1] + 1)[1:], samples, mapping)


def _utilization(batches: MappedBatches, family: str) -> Figure:
    loads = batches.loads
    figure, axes = panels(2, len(loads), share_y=True)
    for row, (column, kind) in enumerate((("utilization", "cumulative"), ("window_utilization", "sliding window"))):
        for number, load in enumerate(loads):
            panel = axes[row * len(loads) + number]
            _over_time(panel, batches, family, column, load, load)
            alphas = [one["io_load"] for one in batches.of(family, "list", load, load).values()]
            panel.set(title=f"α = {np.mean(alphas):.2f}" if alphas else f"load {load:g}", ylim=(0.0, 1.03))
            if number == 0:
                panel.set_ylabel(f"utilization,\n{kind}")
            if row == 1:
                panel.set_xlabel("time / makespan")
    common_legend(figure)
    return figure


def figure_iv_3(batches: MappedBatches) -> Figure:
    """Figure IV.3: utilization during the execution by measured I/O load α, MN batches; means and 95 % intervals."""
    return _utilization(batches, "MN")


def figure_iv_4(batches: MappedBatches) -> Figure:
    """Figure IV.4: the same for MB batches."""
    return _utilization(batches, "MB")


def figure_iv_5(batches: MappedBatches) -> Figure:
    """Figure IV.5: the same for BU batches."""
    return _utilization(batches, "BU")


def figure_iv_6(batches: MappedBatches) -> Figure:
    """Figure IV.6: the same for NU batches."""
    return _utilization(batches, "NU")


def _stretch(batches: MappedBatches, measure: str) -> Figure:
    figure, axes = panels(2, len(FAMILIES) // 2, share_y=True, share_x=True)
    for panel, family in zip(axes, FAMILIES, strict=True):
        for mapping in MAPPINGS:
            rows = batches.of(family, mapping).values()
            alphas = [row["io_load"] for row in rows]
            panel.plot(alphas, [row[measure] for row in rows], ".", color=COLOURS[mapping], markersize=3, alpha=0.5)
            groups = [batches.of(family, mapping, load, load).values() for load in batches.loads]
            places = [float(np.mean([row["io_load"] for row in group])) for group in groups if group]
            found = [Estimate.of([row[measure] for row in group]) for group in groups if group]
            means = [one.value for one in found]
            above = np.nan_to_num([one.margin for one in found])
            below = np.minimum(above, np.maximum(0.0, np.array(means) - 1.0))  # no stretch is below 1
            panel.errorbar(
                places, means, yerr=(below, above), color=COLOURS[mapping], label=mapping, capsize=2, elinewidth=0.7
            )
        panel.set(title=family)
    for panel in axes[::2]:
        panel.set_ylabel(measure.replace("_", " "))
    for panel in axes[2:]:
        panel.set_xlabel("measured I/O load α")
    common_legend(figure)
    return figure


def figure_iv_7(batches: MappedBatches) -> Figure:
    """Figure IV.7: max stretch by the measured I/O load α; points are batches, lines means over those of one wanted load
    with 95 % intervals, cut at 1.
    """
    figure = _stretch(batches, "max_stretch")
    for panel in figure.axes:
        panel.set_yscale("log")
        plain_ticks(panel.yaxis)
    return figure


def figure_iv_8(batches: MappedBatches) -> Figure:
    """Figure IV.8: mean stretch, likewise.

    Args:
        batches: the rows of all batches.
    """
    return _stretch(batches, "mean_stretch")


def figure_iv_9(batches: MappedBatches) -> Figure:
    """Figure IV.9: applications running, nodes and bandwidth used during the execution, MB (top) and MN batches of all
    loads; means and 95 % intervals.
    """
    figure, axes = panels(2, 3, share_x=True)
    columns = (("running", "applications"), ("nodes", "nodes used"), ("window_bandwidth", "bandwidth used"))
    for number, (column, label) in enumerate(columns):
        pair = axes[number], axes[3 + number]
        for panel, family in zip(pair, MIRA, strict=True):
            _over_time(panel, batches, family, column, 0.0, np.inf)
            panel.set(title=family, ylabel=label)
        highest = max(panel.get_ylim()[1] for panel in pair)
        for panel in pair:
            panel.set_ylim(0.0, highest)
        pair[1].set_xlabel("time / makespan")
    common_legend(figure)
    return figure


def figure_iv_10(batches: MappedBatches) -> Figure:
    """Figure IV.10: mean stretch against the part of the node time that no job held, MB batches; points are batches, shaded
    by utilization, crosses means over those of one wanted load with 95 % intervals.
    """
    figure, axes = panels(2, len(MAPPINGS) // 2, share_y=True, share_x=True)
    for panel, mapping in zip(axes, MAPPINGS, strict=True):
        rows = batches.of("MB", mapping).values()
        idle, stretch = (batches.values("MB", mapping, measure) for measure in ("idle", "mean_stretch"))
        shade = panel.scatter(idle, stretch, c=[row["utilization"] for row in rows], vmin=0.0, vmax=1.0, s=10)
        for load in batches.loads:
            x, y = (Estimate.of(batches.values("MB", mapping, name, load, load)) for name in ("idle", "mean_stretch"))
            panel.errorbar(x.value, y.value, xerr=np.nan_to_num(x.margin), yerr=np.nan_to_num(y.margin), color="#cc0000")
        panel.set_title(mapping)
    for panel in axes[::2]:
        panel.set_ylabel("mean stretch")
    for panel in axes[2:]:
        panel.set_xlabel("idle node time")
    figure.colorbar(shade, ax=axes, label="utilization")
    return figure


EXAMPLES: Final[Mapping[str, Callable[[], Figure]]] = {"figureIV.1": figure_iv_1, "figureIV.2": figure_iv_2}
"""Item → what draws it from an example."""
FIGURES: Final[Mapping[str, Callable[[MappedBatches], Figure]]] = {
    "figureIV.3": figure_iv_3,
    "figureIV.4": figure_iv_4,
    "figureIV.5": figure_iv_5,
    "figureIV.6": figure_iv_6,
    "figureIV.7": figure_iv_7,
    "figureIV.8": figure_iv_8,
    "figureIV.9": figure_iv_9,
    "figureIV.10": figure_iv_10,
}
"""Item → what draws it from the experiment "mapping"."""
