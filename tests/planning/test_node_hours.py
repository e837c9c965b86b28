"""Node-hours with intervals, and the sentence of advice."""

from types import SimpleNamespace

import numpy as np
import pytest

from penstock.planning.node_hours import Hours, batch_reason, hours, recommendation


def test_an_interval_is_there_where_something_is_random() -> None:
    assert Hours.of([7.0]) == Hours(7.0, None)
    assert Hours.of([7.0]).to_dict() == {"mean": 7.0, "interval": None}
    # 1, 2, 3: mean 2, standard deviation 1, t of 2 degrees of freedom 4.303.
    three = Hours.of([1.0, 2.0, 3.0])
    assert three.mean == 2.0
    assert three.half == pytest.approx(4.303 / 3.0**0.5)
    assert three.text == "2.00 ± 2.48"
    low, high = three.to_dict()["interval"]
    assert (low + high) / 2.0 == pytest.approx(2.0)


def test_the_interval_holds_the_mean_in_95_of_100_samples() -> None:
    generator = np.random.default_rng(1)
    for size in (3, 10, 40):
        found = [Hours.of(generator.normal(10.0, 3.0, size).tolist()) for _ in range(2_000)]
        inside = np.mean([abs(one.mean - 10.0) <= (one.half or 0.0) for one in found])
        assert 0.93 < inside < 0.97


def test_node_hours_are_written_whole_from_a_hundred_on() -> None:
    assert [hours(value) for value in (0.0, -1e-9, 99.994, 100.0, 12_345.6)] == ["0.00", "0.00", "99.99", "100", "12,346"]


def test_the_sentence_says_what_why_and_what_it_assumes() -> None:
    assert recommendation("a list", Hours(9.0), "the baseline", Hours(145.0), "less waiting", "jobs stay") == (
        "a list loses 9.00 node-hours to I/O where the baseline loses 145: less waiting; this assumes that jobs stay"
    )
    assert recommendation("a list", Hours(145.0), "the baseline,", Hours(145.1), "less waiting", "jobs stay") == (
        "stay with the baseline, which loses 145 node-hours to I/O: a list loses 145; this assumes that jobs stay"
    )
    assert recommendation("a list", Hours(9.0), None, None, "", "jobs stay") == (
        "a list loses 9.00 node-hours to I/O, and nothing that was tried loses less; this assumes that jobs stay"
    )


def test_numbers_that_look_the_same_are_said_once() -> None:
    one = SimpleNamespace(lost_node_hours=879.2, kept_idle=246.1)
    two = SimpleNamespace(lost_node_hours=952.0, kept_idle=245.9)
    idle = "nodes stay idle beside waiting jobs for"
    assert batch_reason(one, two) == f"jobs are delayed for 879 and not 952 node-hours, and {idle} 246 in both runs"
    assert batch_reason(one, one).startswith("jobs are delayed for 879 node-hours in both runs, and")
    other = SimpleNamespace(lost_node_hours=1.0, kept_idle=3.0)
    assert batch_reason(one, other) == f"jobs are delayed for 879 and not 1.00 node-hours, and {idle} 246 and not 3.00"
