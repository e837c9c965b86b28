"""Virtual time and the general loop are two ways to the same run of fair-share."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given

from penstock.engine import Result, Run, simulate
from penstock.model import Workload
from penstock.model.files import from_document
from penstock.policies import find
from penstock.workloads import Synthetic, synthetic
from tests.naive.compare import assert_feasible
from tests.naive.profiles import examples
from tests.naive.strategies import workloads

FAIR_SHARE = find("fair-share")
GENERAL = dataclasses.replace(FAIR_SHARE, proportional=False)


def numbers(result: Result) -> list[object]:
    return [value for application in result.applications for value in application.to_dict().values()]


@examples(300)
@given(workloads())
def test_it_equals_the_general_loop(workload: Workload) -> None:
    result = simulate(workload, FAIR_SHARE, trace=True, check=True)
    assert_feasible(workload, result)
    expected = numbers(simulate(workload, GENERAL))
    for mine, other in zip(numbers(result), expected, strict=True):
        assert mine == (pytest.approx(other, rel=1e-9, abs=1e-9) if isinstance(other, float) else other)


def test_a_trace_or_a_check_does_not_change_a_bit() -> None:
    workload = synthetic(Synthetic(1.1, horizon=100_000.0), seed=4)
    plain = simulate(workload, "fair-share")
    assert np.array_equal(plain.yields, simulate(workload, "fair-share", trace=True, check=True).yields)


def test_going_on_after_each_end_does_not_change_a_bit() -> None:
    short = synthetic(Synthetic(1.1, small=2, applications=6, horizon=300_000.0), seed=4)
    workload = Workload(short.platform, short.applications)
    run = Run(workload, "fair-share")
    while run.advance():
        pass
    assert numbers(run.result()) == numbers(simulate(workload, "fair-share"))


def test_the_sum_of_caps_does_not_drift() -> None:
    # Caps of 0.1, 0.2 and 0.7 are no binary fractions: added and taken away for 10,000 operations they would leave a rest.
    applications = [
        {"name": str(cap), "bandwidth": cap, "phases": [{"repeat": 10_000, "phases": [["io", cap], ["work", 0.3 + cap]]}]}
        for cap in (0.1, 0.2, 0.7)
    ]
    workload = from_document({"penstock": 1, "platform": {"bandwidth": 1.0}, "applications": applications})
    # The caps add up to B, so nobody is ever slowed down.
    assert simulate(workload, "fair-share").yields == pytest.approx([1.0, 1.0, 1.0], rel=1e-9)
