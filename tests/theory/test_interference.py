"""Δ-graphs: the closed form of interference, the outcomes, and where a strategy changes its mind."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.model import Degradation, InputError
from penstock.theory.interference import STRATEGIES, Pair, Times, Writer, delta_graph, expected_interference
from tests.naive.profiles import examples

QUARTER = Pair(Writer(4.0), Writer(1.0))


def test_two_equal_applications_make_the_delta():
    # 003 Figure 2: alone 1 s each. At dt = 0 both take 2 s; at dt = 0.5 A has 0.5 left, which takes 1 s beside B: 1.5 s; B
    # has then moved half and takes 0.5 s more: 1.5 s.
    pair = Pair(Writer(1.0, 336), Writer(1.0, 336))
    graph = delta_graph(pair, [-1.0, -0.5, 0.0, 0.5, 1.0], ["interfering"])
    assert graph.times["interfering"].tolist() == pytest.approx(np.array([[1, 1], [1.5, 1.5], [2, 2], [1.5, 1.5], [1, 1]]))
    assert graph.factors["interfering"][2].tolist() == pytest.approx([2.0, 2.0])


numbers = st.integers(1, 40).map(lambda i: i / 8)
writers = st.builds(Writer, numbers, st.integers(1, 9), st.none(), st.none() | st.sampled_from([0.25, 0.5, 0.75]))


@examples(150)
@given(writers, writers, st.integers(-40, 40), st.sampled_from([None, Degradation.of({2: 0.75})]))
def test_interference_is_the_piecewise_linear_function(a, b, eighths, degradation):
    pair = Pair(a, b, degradation=degradation)
    assert pair.io_times("interfering", eighths / 8) == pytest.approx(expected_interference(pair, eighths / 8), rel=1e-9)


def test_the_mirror():
    pair = Pair(Writer(3.0, 2), Writer(2.0, 5, bandwidth=0.5))
    for dt in (-1.5, -0.25, 0.75):
        a, b = pair.io_times("interfering", dt)
        assert pair.mirrored.io_times("interfering", -dt) == pytest.approx(Times(b, a))


def test_where_coordinating_changes_its_mind():
    # 003 §IV.D with T_A = 4 and T_B = 1: A waits if B was first, is interrupted before 3 s, lets B wait after.
    graph = delta_graph(QUARTER, [-2.0, -0.6, 0.8, 2.2, 3.6, 5.0], STRATEGIES)
    changes = graph.changes["coordinating"]
    assert [change.dt for change in changes] == pytest.approx([-1.0, 0.0, 3.0, 4.0], abs=1e-7)
    assert [change.after for change in changes] == [
        "A waits",
        "A is interrupted",
        "B waits",
        "nobody waits: they are apart",
    ]
    assert [change.before for change in changes[1:]] == [change.after for change in changes[:-1]]
    assert [change.dt for change in graph.changes["interfering"]] == pytest.approx([-1.0, 4.0], abs=1e-7)


def test_files_make_a_saw():
    # B is served at the end of A's present file: I/O time 1 s and what was left of the file.
    pair = Pair(Writer(4.0, rounds=4), Writer(1.0))
    dts = [0.25, 0.75, 1.25, 2.5, 3.25]
    assert delta_graph(pair, dts, ["interrupting"]).times["interrupting"][:, 1] == pytest.approx(
        [1.75, 1.25, 1.75, 1.5, 1.75]
    )
    # Inside a file it is too late from the second half of the file on: at its end waiting is as good.
    assert pair.outcome("coordinating", 1.9) == "A is interrupted"
    assert pair.outcome("coordinating", 2.1) == "B waits"


def test_metrics():
    graph = delta_graph(Pair(Writer(4.0, 3), Writer(1.0, 2)), [2.0], ["serializing"])
    # I/O times 4 and 3, alone 4 and 1.
    for metric, value in [("cpu-seconds", 18.0), ("interference", 4.0), ("io-time", 7.0), ("max-interference", 3.0)]:
        assert graph.values(metric)["serializing"].tolist() == pytest.approx([value])
    with pytest.raises(InputError, match=r"^metric: 'cost' is unknown; expected one of cpu-seconds"):
        graph.values("cost")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Writer(-1.0), r"^volume: -1\.0 is negative"),
        (lambda: Writer(0.0), "^volume: 0 is nothing to write; expected bytes above 0"),
        (lambda: Writer(1.0, 0), "^nodes: 0 is not a number of nodes"),
        (lambda: Writer(1.0, 1, 0), "^rounds: 0 is not a number of rounds"),
        (lambda: Writer(1.0, bandwidth=0.0), "^bandwidth: 0.0 is not a bandwidth"),
        (lambda: Pair(Writer(1.0), Writer(1.0), -2.0), "^bandwidth: -2.0 is not a bandwidth"),
        (lambda: delta_graph(QUARTER, []), r"^dt: \[\] is no range; expected finite numbers, ascending, at least one"),
        (lambda: delta_graph(QUARTER, [1.0, 0.0]), "^dt: "),
        (lambda: delta_graph(QUARTER, [0.0], ["periodic-fifo"]), "^policy periodic-fifo: its order is fixed"),
        (lambda: delta_graph(QUARTER, [0.0], ["sharing"]), "^policy sharing: unknown; expected one of"),
    ],
)
def test_wrong_input(make, message):
    with pytest.raises(InputError, match=message):
        make()
