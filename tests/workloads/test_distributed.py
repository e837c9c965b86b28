"""The application sets of 002 §V.C: their laws, and Lemma 1 on all curves there are."""

import json
import math
from collections import Counter
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

from penstock.model import Application, Curve, InputError, Platform, Workload
from penstock.model.application import IO, WORK
from penstock.model.files import from_document, to_json
from penstock.workloads import FAMILIES, Distributed, MeasuredCurves, distributed
from penstock.workloads.distributed import largest_ratio, load_with_one
from tests.model.strategies import curves as any_curves
from tests.workloads.curves import measured

OSTS = FAMILIES["osts"]
SETS = 150


def totals(application: Application) -> tuple[float, float]:
    """T_cpu in seconds and V in bytes."""
    phases = application.phases
    return float(phases.amounts[phases.kinds == WORK].sum()), float(phases.amounts[phases.kinds == IO].sum())


def stress(curve: Curve, volume: float, compute: float, resources: int) -> np.ndarray:
    """I/O-Stress(j, n) for n = 1 … N, written as 002 §III.B has it."""
    seconds = volume / curve.upto(resources)
    return np.asarray(np.arange(1, resources + 1) * seconds / (compute + seconds))


@cache
def sets(parameters: Distributed) -> tuple[Application, ...]:
    return tuple(a for seed in range(SETS) for a in distributed(parameters, OSTS, seed).applications)


@pytest.mark.parametrize("mean", [1e-6, 0.05, 0.25, 0.5, 0.925, 0.999999])
def test_the_range_of_the_ratio_gives_the_mean_stress(mean: float) -> None:
    largest = largest_ratio(mean)
    assert largest > 0.0
    assert math.log1p(largest) == pytest.approx(largest * mean, rel=1e-12)
    # On a logarithmic scale, as nearly all of a long range has next to no stress.
    whole, _ = integrate.quad(lambda u: math.exp(u) / (1.0 + math.exp(u)), -40.0, math.log(largest), limit=200)
    assert whole / largest == pytest.approx(mean, rel=1e-6)


PARAMETERS = [Distributed(0.1), Distributed(0.5), Distributed(1.85), Distributed(0.5, 20), Distributed(0.4, 10)]


@pytest.mark.parametrize("parameters", PARAMETERS)
def test_each_application(parameters: Distributed) -> None:
    for application in sets(parameters)[:400]:
        curve = application.curve
        assert curve is not None
        compute, volume = totals(application)
        # The common horizon: work and I/O with 1 resource take 5000 s together.
        assert compute + volume / curve.bandwidths[0] == pytest.approx(5000.0, rel=1e-12)
        assert 0.0 <= compute * curve.bandwidths[0] / volume <= largest_ratio(parameters.mean_stress)
        assert (application.release, application.lead) == (0.0, 0.0)
        amounts = application.phases.amounts.reshape(-1, 2)
        assert application.phases.kinds.tolist() == [WORK, IO] * len(amounts)
        assert (amounts == amounts[0]).all()
        assert 2 <= len(amounts) <= 20


@pytest.mark.parametrize("parameters", PARAMETERS)
def test_the_laws(parameters: Distributed) -> None:
    applications = sets(parameters)
    stresses = []
    for application in applications:
        compute, volume = totals(application)
        assert application.curve is not None
        stresses.append(stress(application.curve, volume, compute, 1)[0])
    # 1/(1 + X) has mean m and second moment 1/(1 + b): its mean over n is m within 4 standard errors.
    mean, largest = parameters.mean_stress, largest_ratio(parameters.mean_stress)
    error = math.sqrt((1.0 / (1.0 + largest) - mean**2) / len(stresses))
    assert mean == parameters.load * 20 / parameters.applications
    assert np.mean(stresses) == pytest.approx(mean, abs=4.0 * error)
    ratios = 1.0 / np.array(stresses) - 1.0
    assert stats.kstest(ratios, stats.uniform(0.0, largest).cdf).pvalue > 1e-3
    lengths = Counter(len(application.phases) // 2 for application in applications)
    assert set(lengths) == set(range(2, 21))
    assert stats.chisquare(list(lengths.values())).pvalue > 1e-3


def test_the_load_with_one_resource_each_is_as_asked_for_on_average() -> None:
    parameters = Distributed(1.2)
    loads = [load_with_one(distributed(parameters, OSTS, seed)) for seed in range(SETS)]
    one = distributed(parameters, OSTS, 0)
    plain = sum(stress(a.curve, totals(a)[1], totals(a)[0], 1)[0] for a in one.applications if a.curve) / 20
    assert loads[0] == pytest.approx(plain)
    assert np.mean(loads) == pytest.approx(1.2, abs=4.0 * np.std(loads) / math.sqrt(SETS))
    assert np.std(loads) > 0.01  # it holds in expectation only


SIZES = [
    # 10 %, 30 % and 60 % of K with 75 %, 20 % and 5 % of 24·N nodes.
    ((40, 20), {("large", 90): 4, ("medium", 8): 12, ("small", 1): 24}),
    ((20, 20), {("large", 180): 2, ("medium", 16): 6, ("small", 2): 12}),
    ((10, 20), {("large", 360): 1, ("medium", 32): 3, ("small", 4): 6}),
    ((500, 1000), {("large", 360): 50, ("medium", 32): 150, ("small", 4): 300}),
    # 5 applications: 0.5 and 1.5 are rounded to 1 and 2; 24 nodes: 4.8 and 1.2 are rounded to 5 and 1, and everyone has one.
    ((5, 1), {("large", 17): 1, ("medium", 3): 1, ("medium", 2): 1, ("small", 1): 2}),
    # 60 small ones need 60 nodes and not 24; 96 nodes for 30 medium ones; the large ones share the 324 others.
    ((100, 20), {("large", 33): 4, ("large", 32): 6, ("medium", 4): 6, ("medium", 3): 24, ("small", 1): 60}),
    ((480, 20), {("large", 1): 48, ("medium", 1): 144, ("small", 1): 288}),
    ((3, 20), {("medium", 96): 1, ("small", 12): 2}),  # 0.3 large ones are none, and nobody has their nodes
    ((1, 1), {("small", 1): 1}),
]


@pytest.mark.parametrize(("size", "expected"), SIZES)
def test_sizes(size: tuple[int, int], expected: dict[tuple[str, int], int]) -> None:
    workload = distributed(Distributed(0.01, *size), OSTS, 4)
    assert workload.platform.nodes == 24 * size[1]
    assert workload.platform.resources == size[1]
    assert Counter((a.name.split("-")[0], a.nodes) for a in workload.applications) == expected


@given(st.integers(1, 60), st.data())
def test_nodes_are_whole_and_no_more_than_there_are(resources: int, data: st.DataObject) -> None:
    count = data.draw(st.integers(1, min(24 * resources, 200)))
    nodes = [a.nodes for a in distributed(Distributed(1e-3, count, resources), OSTS, 0).applications]
    assert len(nodes) == count
    assert min(nodes) >= 1
    assert sum(nodes) <= 24 * resources
    assert count < 5 or sum(nodes) == 24 * resources


def test_large_applications_are_anywhere_in_the_order() -> None:
    places = [index % 40 for index, a in enumerate(sets(Distributed(0.5))) if a.nodes == 90]
    assert len(places) == 4 * SETS
    counts = np.bincount(places, minlength=40)
    assert stats.chisquare(counts).pvalue > 1e-3


def test_the_platform_never_holds_the_applications_up() -> None:
    curves = MeasuredCurves((Curve((1, 2), (3e6, 7e6)), Curve((1, 2), (5e6, 2e6))))
    workload = distributed(Distributed(0.5, 8, 4), curves, 1)
    assert {a.curve for a in workload.applications} == set(curves.curves)
    best = {curves.curves[0]: 7e6, curves.curves[1]: 5e6}
    assert workload.platform.bandwidth == sum(best[a.curve] for a in workload.applications if a.curve)
    # A file that leaves out the bandwidth says the same.
    document = json.loads(to_json(workload))
    del document["platform"]["bandwidth"]
    assert from_document(document) == workload


def test_the_same_seed_makes_the_same_set() -> None:
    first, again, other = (distributed(Distributed(0.5), OSTS, seed) for seed in (3, 3, 4))
    assert first == again != other
    # The load changes the ratio of work to I/O alone.
    heavy = distributed(Distributed(1.5), OSTS, 3)
    for light, one in zip(first.applications, heavy.applications, strict=True):
        assert (light.name, light.nodes, light.curve) == (one.name, one.nodes, one.curve)
        assert len(light.phases) == len(one.phases)
        assert totals(light)[0] > totals(one)[0]
    # The curves change the volumes alone.
    family = distributed(Distributed(0.5), FAMILIES["io-nodes"], 3)
    for light, one in zip(first.applications, family.applications, strict=True):
        assert (light.name, light.nodes, len(light.phases)) == (one.name, one.nodes, len(one.phases))
        assert totals(light)[0] == totals(one)[0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((2.0,), "load: 2.0 makes 40 applications do I/O for 1 of their time; expected under 2, applications over I/O"),
        ((0.5, 10, 20), "load: 0.5 makes 10 applications do I/O for 1 of their time; expected under 0.5, applications over"),
        ((0.0,), "load: 0.0 is out of range; expected a number above 0"),
        ((math.nan,), "load: nan is out of range; expected a number above 0"),
        ((math.inf,), "load: inf is out of range; expected a number above 0"),
        ((0.5, 0), "applications: 0 is out of range; expected 1 to 480, as there are 24 nodes for each of 20 I/O resources"),
        ((0.5, 481), "applications: 481 is out of range; expected 1 to 480, as there are 24 nodes for each of 20"),
        ((0.5, 40, 0), "resources: 0 is out of range; expected 1 or more"),
    ],
)
def test_parameters_out_of_range(options: tuple[float, ...], message: str) -> None:
    with pytest.raises(InputError) as caught:
        Distributed(*options)  # type: ignore[arg-type]
    assert str(caught.value).startswith(message)


def test_a_load_needs_resources_and_curves() -> None:
    application = Application.of("a", [("work", 1.0)])
    with pytest.raises(InputError, match=r"platform\.resources: is not given; expected the number of I/O resources"):
        load_with_one(Workload(Platform(1.0), (application,)))
    with pytest.raises(InputError, match=r"applications\[0\].curve: is not given; expected the bandwidth by I/O resources"):
        load_with_one(Workload(Platform(1.0, resources=2), (application,)))
    nothing = Application.of("a", [("work", 0.0), ("io", 0.0)], curve=Curve((1,), (1.0,)))
    assert load_with_one(Workload(Platform(1.0, resources=2), (nothing,))) == 0.0


def lemma_1(curve: Curve, volume: float, compute: float, resources: int) -> None:
    """n_sys ≤ n_perf, both the smallest count where several are as good."""
    n_perf = int(np.argmax(curve.upto(resources))) + 1
    n_sys = int(np.argmin(stress(curve, volume, compute, resources))) + 1
    assert n_sys <= n_perf


def random_amounts(count: int) -> list[tuple[float, float]]:
    random = np.random.default_rng(9)
    volumes = 10.0 ** random.uniform(6.0, 14.0, count)
    computes = np.where(random.random(count) < 0.1, 0.0, 10.0 ** random.uniform(-2.0, 5.0, count))
    return list(zip(volumes.tolist(), computes.tolist(), strict=True))


@pytest.mark.parametrize("name", FAMILIES)
def test_lemma_1_on_drawn_curves(name: str) -> None:
    curves = FAMILIES[name].draw(300, np.random.default_rng(8))
    for curve, (volume, compute) in zip(curves, random_amounts(300), strict=True):
        for resources in (1, 5, 20):
            lemma_1(curve, volume, compute, resources)


@pytest.mark.parametrize("statistic", ["mean", "median", "best"])
def test_lemma_1_on_measured_curves(statistic: str) -> None:
    for curve in measured(statistic).values():
        for volume, compute in random_amounts(5):
            lemma_1(curve, volume, compute, 20)


@given(any_curves(), st.floats(1e-3, 1e15), st.just(0.0) | st.floats(1e-3, 1e9), st.integers(1, 64))
def test_lemma_1_on_any_curve(curve: Curve, volume: float, compute: float, resources: int) -> None:
    # Volumes in units of the largest bandwidth, so that no time leaves the range of numbers.
    lemma_1(
        Curve(curve.counts, tuple(max(rate / curve.largest, 1e-9) for rate in curve.bandwidths)), volume, compute, resources
    )
