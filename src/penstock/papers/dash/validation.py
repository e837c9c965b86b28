"""001 §III.D.1 and Figure III.7: Jacobi applications live on a test bed beside the same in simulation.

The thesis ran the five applications of Table III.1 for hours on a cluster, under eight orders. Here a second of the table is
a sixteenth of a second, and there are 0.012 batches of iterations: alone, each application takes about eight seconds, and
all orders together about two minutes. An iteration is work, and then one exclusive I/O operation. Live times are compared
with those of the simulation of the same applications.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from penstock.numeric.arrays import Floats
from penstock.papers.dash.experiments import EIGHT
from penstock.papers.drawing import common_legend, panels, short_name
from penstock.papers.verdicts import ClaimCheck, Verdict
from penstock.testbed.bed import Bed
from penstock.testbed.live_runs import LiveChain, LiveChains, in_pages, live_chains, seconds_of, simulated_chains
from penstock.workloads.bicolored import TABLE

SECOND: Final = 1.0 / 16.0
"""What becomes of a second of Table III.1."""
BATCHES: Final = 0.012
"""Batches of iterations: 3, 6 and 12 iterations."""
BANDWIDTH: Final = 40.0 * 2**20
"""Of the link in bytes/s, where there is no test bed."""
SHOWN: Final = "longest-io"
"""The order of Figure III.7."""
MEAN, LARGEST = 0.05, 0.15
"""How far live and simulated times are apart in the thesis: the geometric mean, and the largest."""


def jacobi_chains(bandwidth: float) -> tuple[LiveChain, ...]:
    """The five applications, scaled down, on a link of that `bandwidth` in bytes/s."""
    return tuple(
        LiveChain(f"jacobi-{index}", SECOND * work, in_pages(SECOND * io * bandwidth), max(1, round(BATCHES * iterations)))
        for index, (work, io, iterations) in enumerate(TABLE, 1)
    )


def validated(bed: Bed | None, say: Callable[[str], None], policies: Sequence[str] = ()) -> LiveChains:
    """The applications under the eight orders and the user's `policies`, simulated, and live on the test `bed` if there is
    one; `say` is told what comes next.
    """
    bandwidth = BANDWIDTH if bed is None else bed.bandwidth
    chains = jacobi_chains(bandwidth)
    orders = tuple(dict.fromkeys((*EIGHT, *policies)))
    simulated = {policy: simulated_chains(chains, bandwidth, policy) for policy in orders}
    reports = {} if bed is None else live_chains(bed, chains, orders, say)
    return LiveChains(chains, bandwidth, simulated, {policy: seconds_of(found) for policy, found in reports.items()})


def figure_iii_7(both: LiveChains) -> Figure:
    """Figure III.7, with §III.D.1: small Jacobi applications live on a test bed beside simulated: the stretch of each under
    longest-io, and for all orders the largest stretch and the makespan over that of fifo.

    Args:
        both: Simulated times, and live ones if there was a test bed.
    """
    figure, (first, second, third) = panels(1, 3)
    _beside(first, [chain.name.removeprefix("jacobi-") for chain in both.chains], both, _of_applications)
    first.set(title=f"{SHOWN}{_ratio(both, [SHOWN])}", xlabel="stretch", ylabel="application")
    orders = [short_name(policy) for policy in both.simulated]
    _beside(second, orders, both, _max_stretches)
    second.set(title=f"all orders{_ratio(both, list(both.simulated))}", xlabel="max stretch")
    _beside(third, orders, both, _makespans)
    third.set(title="all orders", xlabel="makespan / fifo")
    third.tick_params(axis="y", labelleft=False)
    if not both.live:
        figure.suptitle("simulated only: live is not measured without a test bed (--live DIR)", fontsize=7.5)
    common_legend(figure)
    return figure


def _beside(panel: Axes, names: Sequence[str], both: LiveChains, values: Callable[..., Floats]) -> None:
    """The `values` of each of the `names`, the first on top: squares are simulated, crosses live."""
    places = np.arange(len(names))
    panel.plot(values(both, live=False), places, "s", color="#000000", markerfacecolor="none", label="simulated")
    if both.live:
        panel.plot(values(both, live=True), places, "x", color="#d55e00", label="live")
    panel.set_yticks(places, names)
    panel.invert_yaxis()


def _of_applications(both: LiveChains, *, live: bool) -> Floats:
    return both.stretches(SHOWN, live=live)


def _max_stretches(both: LiveChains, *, live: bool) -> Floats:
    return np.array([both.stretches(policy, live=live).max() for policy in both.simulated])


def _makespans(both: LiveChains, *, live: bool) -> Floats:
    return np.array([both.makespan(policy, live=live) for policy in both.simulated]) / both.makespan("fifo", live=live)


def _mean(ratios: Floats) -> float:
    """The geometric mean."""
    return float(np.exp(np.log(ratios).mean()))


def _ratio(both: LiveChains, policies: Sequence[str]) -> str:
    """What live times are over simulated ones, for a title; nothing without live ones."""
    if not both.live:
        return ""
    ratios = np.concatenate([both.ratios[policy] for policy in policies])
    return f"\nlive / simulated {_mean(ratios):.3f} ({ratios.min():.2f} – {ratios.max():.2f})"


def table_iii_d_1(both: LiveChains) -> str:
    """All orders live beside simulated, as text.

    Args:
        both: Simulated times, and live ones if there was a test bed.
    """
    rows = [
        "| order | max stretch, simulated | live | makespan, s, simulated | live | live / simulated |",
        "|---|---|---|---|---|---|",
    ]
    for policy in both.simulated:
        live = ["not measured"] * 3
        if both.live:
            ratios = both.ratios[policy]
            live = [
                f"{both.stretches(policy, live=True).max():.3f}",
                f"{both.makespan(policy, live=True):.2f}",
                f"{_mean(ratios):.3f} ({ratios.min():.2f} – {ratios.max():.2f})",
            ]
        simulated = f"{both.stretches(policy).max():.3f}", f"{both.makespan(policy):.2f}"
        rows.append(f"| `{policy}` | {simulated[0]} | {live[0]} | {simulated[1]} | {live[1]} | {live[2]} |")
    return "\n".join([*rows, ""])


def d15(both: LiveChains) -> Verdict:
    """D15 (§III.D.2.a): the simulation is like the real execution.

    `both` are live and simulated times. Orders between applications count where the simulation has them 2 % apart.
    """
    ratios = np.concatenate([both.ratios[policy] for policy in EIGHT])
    largest = float(np.abs(ratios - 1.0).max())
    kept, pairs = np.sum([_kept(both.stretches(policy), both.stretches(policy, live=True)) for policy in EIGHT], axis=0)
    mean = _mean(np.maximum(ratios, 1.0 / ratios)) - 1.0
    return Verdict(
        "D15",
        "§III.D.2.a",
        "the simulation is like the real execution: on the average within 5 %, at most 15 % off, in the same order",
        (
            ClaimCheck(f"geometric mean of the differences below {MEAN:.0%}", f"{mean:.1%}", mean < MEAN),
            ClaimCheck(f"largest difference at most {LARGEST:.0%}", f"{largest:.1%}", largest <= LARGEST),
            ClaimCheck(
                "the order of the stretches of applications is kept", f"{kept} of {pairs} pairs", bool(kept == pairs)
            ),
        ),
    )


def _kept(simulated: Floats, live: Floats, apart: float = 1.02) -> tuple[int, int]:
    """How many pairs are in the same order, of those whose simulated values are that factor `apart`."""
    above = simulated[:, None] > apart * simulated[None, :]
    return int((above & (live[:, None] > live[None, :])).sum()), int(above.sum())
