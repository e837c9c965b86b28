"""The pairs of 003's figures with real applications on a test bed, scaled to what it carries.

Figures 2 and 7 (a) are two equal applications; 9 (a) a small one that arrives during a large one; 10 and 11 four files and
one, interrupted between files. The paper's machines moved tens of gigabytes a point. Here A alone takes `SECONDS`, and live
times are compared with those of the model, not with those of the paper.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from penstock.papers.calciom.scenarios import FILES, CalciomScale
from penstock.papers.reproducing import ClaimCheck, Verdict
from penstock.report.figures import STYLE
from penstock.report.plot import draw_delta, mark_live
from penstock.testbed.bed import Bed
from penstock.testbed.live_pairs import LIVE_STRATEGIES, LiveDelta, fitting, live_delta, simulated_as
from penstock.theory.interference import Pair, Writer, delta_graph

SECONDS: Final = 1.6
WITHIN: Final = 0.15
"""How far the geometric mean of live over simulated may be from 1."""
ROUNDS: Final = 16


def pairs(bed: Bed) -> dict[str, Pair]:
    """The pairs by the figures they are of."""
    volume = SECONDS * bed.bandwidth
    equal = Writer(volume, 1, ROUNDS)
    of_a_file = volume / FILES
    return {
        "figures 2 and 7": Pair(equal, equal, bed.bandwidth),
        "figure 9": Pair(Writer(volume, 2, ROUNDS), Writer(volume / 4, 1, ROUNDS // 4), bed.bandwidth),
        "figures 10 and 11": Pair(Writer(volume, 1, FILES), Writer(of_a_file, 1, 1), bed.bandwidth),
    }


def measured(bed: Bed, scale: CalciomScale, say: Callable[[str], None]) -> dict[str, LiveDelta]:
    """All pairs under all strategies, live, at the dates of the scale."""
    found = {}
    for name, pair in pairs(bed).items():
        fit = fitting(pair, bed)
        alone = fit.alone()
        dts = np.linspace(-0.5 * alone.b, alone.a, scale.live).tolist()
        found[name] = live_delta(bed, fit, dts, LIVE_STRATEGIES, say=lambda text, name=name: say(f"{name}, {text}"))  # type: ignore[misc]
    return found


def live_figure(found: dict[str, LiveDelta]) -> Figure:
    """I/O times of A (solid) and B (dashed) by dt on a test bed: lines are simulated, marks are live, crosses without a
    coordinator.
    """
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(12.0, 3.8), layout="constrained")
        for axes, (name, live) in zip(figure.subplots(1, len(found)), found.items(), strict=True):
            lines = np.linspace(live.dt[0], live.dt[-1], 61).tolist()
            graph = delta_graph(live.pair, lines, list(dict.fromkeys(map(simulated_as, live.runs))))
            draw_delta(axes, graph.dt, graph.times, "I/O time, s")
            mark_live(axes, live, live.times)
            axes.set_title(name)
        figure.legend(*axes.get_legend_handles_labels(), loc="outside right upper", fontsize=7)
    return figure


def as_simulated(found: dict[str, LiveDelta]) -> Verdict:
    """Ours: live applications do what the simulation says."""
    checks = []
    for name, live in found.items():
        for strategy, mean in live.means.items():
            ratios = live.ratios[strategy]
            checks.append(
                ClaimCheck(
                    f"{name}, {strategy}: geometric mean of live over simulated within {WITHIN:.0%}",
                    f"{mean:.3f} ({ratios.min():.2f} – {ratios.max():.2f})",
                    abs(mean - 1.0) <= WITHIN,
                )
            )
    return Verdict("live", "ours", "what is simulated is what live applications on a test bed do", tuple(checks))
