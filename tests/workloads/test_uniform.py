"""The batches follow the protocols of 001 §III.D.2.b and §IV.B.4."""

import math
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from penstock.model import InputError
from penstock.model.application import IO, WORK
from penstock.workloads import Batch, Packs, Uniform, io_load, uniform

N = 2500
MANY = {"fewest": N, "most": N, "shortest": 1, "longest": 1}
"""Enough applications for a law to show, with short chains."""

made = cache(uniform)


def columns(batch: Batch) -> np.ndarray:
    """Work, volume, iterations and nodes of each application."""
    return np.array([(*a.phases.amounts[:2], len(a.phases) // 2, a.nodes) for a in batch.workload.applications])


@pytest.mark.parametrize("parameters", [Packs(1.0), Uniform(0.6, longest=1001), Uniform(0.6, "normal", longest=1001)])
def test_a_batch_is_periodic_released_at_once_and_has_no_window(parameters: Uniform) -> None:
    batch = made(parameters, 2)
    assert batch.workload.window is None
    assert (batch.workload.platform.bandwidth, batch.workload.platform.nodes) == (1.0, 2048)
    assert parameters.fewest <= len(batch.workload.applications) <= parameters.most
    for application in batch.workload.applications:
        kinds, amounts = application.phases.kinds, application.phases.amounts
        assert (application.release, application.lead, application.nominal) == (0.0, 0.0, None)
        assert application.cap(batch.workload.platform) == 1.0
        assert np.array_equal(kinds, np.tile([WORK, IO], len(kinds) // 2))
        assert np.array_equal(amounts, np.tile(amounts[:2], len(amounts) // 2))


def test_the_ranges_of_the_two_protocols() -> None:
    packs, batches = Packs(1.0), Uniform(1.0)
    assert (packs.fewest, packs.most, packs.shortest, packs.longest) == (25, 100, 250, 1000)
    assert (batches.fewest, batches.most, batches.shortest, batches.longest) == (100, 500, 1000, 10_000)
    sizes, lengths, works = [], [], []
    for seed in range(100):
        rows = columns(uniform(Packs(1.0), seed))
        sizes.append(len(rows))
        lengths += rows[:, 2].tolist()
        works += rows[:, 0].tolist()
    for values, low, high, width in ((sizes, 25, 100, 76), (lengths, 250, 1000, 751), (works, 10.0, 100.0, 90.0)):
        assert low <= min(values) <= max(values) <= high
        error = width / math.sqrt(12.0 * len(values))
        assert np.mean(values) == pytest.approx((low + high) / 2.0, abs=4.0 * error)


@pytest.mark.parametrize("seed", range(5))
def test_binormal_is_a_share_of_low_and_a_share_of_high_io(seed: int) -> None:
    batch = made(Uniform(2.0, **MANY), seed)
    rows = columns(batch)
    ratios = rows[:, 1] / rows[:, 0]
    low = np.array([application.name.startswith("low-") for application in batch.workload.applications])
    assert low.sum() == batch.low
    assert 0.0 <= ratios.min() <= ratios.max() <= 1.0
    # 001 §IV.B.4: "the resulting mean being 0.289" and "0.711"; the standard deviation of the truncated law is 0.2.
    assert ratios[low].mean() == pytest.approx(0.289, abs=5.0 * 0.2 / math.sqrt(low.sum()) + 5e-4)
    assert ratios[~low].mean() == pytest.approx(0.711, abs=5.0 * 0.2 / math.sqrt((~low).sum()) + 5e-4)
    # β of them are low, so Q̄ is that of the formula; the low ones are not all at one end.
    mean = (batch.low or 0) / N * 0.1 + (1.0 - (batch.low or 0) / N) * 0.9
    assert batch.asked_nodes == pytest.approx(2048.0 * mean / (2.0 * (1.0 + mean)), rel=1e-3)
    places = np.flatnonzero(low)
    assert places.mean() == pytest.approx(N / 2, abs=5.0 * N / math.sqrt(12.0 * low.sum()))


def test_the_share_of_low_ones_is_uniform() -> None:
    shares = []
    for seed in range(200):
        batch = uniform(Packs(1.0, shortest=1, longest=1), seed)
        shares.append((batch.low or 0) / len(batch.workload.applications))
    assert np.mean(shares) == pytest.approx(0.5, abs=4.0 / math.sqrt(12.0 * 200))
    assert np.var(shares) == pytest.approx(1.0 / 12.0, rel=0.2)


@pytest.mark.parametrize("load", [0.2, 0.5, 0.8])
def test_normal_is_one_law_around_the_load(load: float) -> None:
    batch = made(Uniform(load, "normal", variance=0.01, **MANY), 4)
    rows = columns(batch)
    assert batch.low is None
    assert {application.name.split("-")[0] for application in batch.workload.applications} == {"job"}
    assert (rows[:, 1] / rows[:, 0]).mean() == pytest.approx(load, abs=0.01)
    assert batch.asked_nodes == pytest.approx(2048.0 / (1.0 + load))


@pytest.mark.parametrize("load", [0.5, 1.0, 4.0, 10.0])
def test_sizes_are_powers_of_two_of_the_mean_asked_for(load: float) -> None:
    batch = made(Uniform(load, **MANY), 1)
    nodes = columns(batch)[:, 3]
    assert set(nodes.tolist()) <= {2.0**j for j in range(12)}
    assert nodes.mean() == pytest.approx(batch.asked_nodes, abs=5.0 * nodes.std() / math.sqrt(N))
    assert batch.clipped == 0


def test_the_load_comes_out_as_asked_for_where_nothing_is_spread() -> None:
    # All ratios are α_gen, so that the approximation behind Q̄ holds but for the draw of the sizes.
    for load in (0.3, 0.7, 1.0):
        parameters = Uniform(load, "normal", variance=0.0, **MANY)
        assert io_load(made(parameters, 3).workload) == pytest.approx(load, rel=0.03)


def test_the_load_follows_from_the_columns() -> None:
    for seed in range(5):
        batch = made(Packs(3.0), seed)
        work, volume, count, nodes = columns(batch).T
        expected = 2048 * np.sum(count * volume) / np.sum(nodes * count * (work + volume))
        assert io_load(batch.workload) == pytest.approx(expected, rel=1e-12)


def test_sizes_above_the_machine_are_cut_and_counted() -> None:
    whole, small = (made(Uniform(1.0, nodes=nodes, **MANY), 1) for nodes in (2048, 256))
    # Q̄ is in proportion to P, so few are above.
    assert small.asked_nodes == pytest.approx(whole.asked_nodes / 8.0)
    nodes = columns(small)[:, 3]
    assert nodes.max() == 256
    assert 0 < small.clipped <= np.sum(nodes == 256)
    assert f"{small.clipped} clipped to the machine" in small.summary()


def test_a_mean_that_no_law_has_is_said() -> None:
    batch = made(Packs(0.01), 1)
    assert set(columns(batch)[:, 3]) == {2048.0}
    assert f"2048.0 nodes on average (asked for {batch.asked_nodes:.1f}, at most 2048 possible)" in batch.summary()


def test_the_same_seed_makes_the_same_batch() -> None:
    assert uniform(Packs(1.0), 5) == uniform(Packs(1.0), 5)
    assert uniform(Packs(1.0), 5) != uniform(Packs(1.0), 6)
    # The profiles share all draws but those of the I/O and the sizes.
    both = [columns(made(replace(Packs(1.0), profile=profile), 5))[:, [0, 2]] for profile in ("binormal", "normal")]
    assert np.array_equal(*both)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"load": 0.0}, "load: 0.0 is out of range; expected a number above 0"),
        ({"load": math.inf}, "load: inf is out of range"),
        ({"load": 1.5, "profile": "normal"}, "load: 1.5 is out of range; expected at most 1 with the profile normal"),
        ({"load": 1.0, "profile": "odd"}, "profile: 'odd' is out of range; expected binormal or normal"),
        ({"load": 1.0, "variance": -1.0}, "variance: -1.0 is out of range"),
        ({"load": 1.0, "most": 99}, "most: 99 is out of range; expected 100 or more, the value of fewest"),
        ({"load": 1.0, "shortest": 0}, "shortest: 0 is out of range"),
        ({"load": 1.0, "longest": 10**6}, "longest: 1000000 is out of range; expected up to 200,000,000 phases in all"),
        ({"load": 1.0, "nodes": 0}, "nodes: 0 is out of range; expected 1 or more"),
    ],
)
def test_parameters_out_of_range(options: dict[str, float], message: str) -> None:
    with pytest.raises(InputError) as caught:
        Uniform(**options)  # type: ignore[arg-type]
    assert message in str(caught.value)
