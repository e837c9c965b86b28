"""The batches after Mira follow 001 §IV.B.3."""

import math
from functools import cache

import numpy as np
import pytest
from scipy import stats

from penstock.model import InputError
from penstock.workloads import Batch, Mira, io_load, mira
from penstock.workloads.batches import mean_nodes

N = 2500
MANY = {"fewest": N, "most": N, "shortest": 1, "longest": 1}
B, P = 240e9, 49_152

made = cache(mira)


def columns(batch: Batch) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Nodes, the time T and the I/O fraction f of each application, from its phases: f·T = volume · P / (b · Q)."""
    platform = batch.workload.platform
    rows = np.array([(a.nodes, *a.phases.amounts[:2] * (len(a.phases) // 2)) for a in batch.workload.applications])
    nodes, work, volume = rows.T
    io = volume * (platform.nodes or 0) / (platform.bandwidth * nodes)
    return nodes, work + io, io / (work + io)


@pytest.mark.parametrize("profile", ["binormal", "normal"])
def test_sizes_times_and_iterations(profile: str) -> None:
    batch = made(Mira(0.4, profile, **MANY), 3)
    nodes, seconds, _ = columns(batch)
    assert (batch.workload.platform.bandwidth, batch.workload.platform.nodes) == (B, P)
    assert 512 <= nodes.min() <= nodes.max() <= 49_152
    assert nodes.mean() == pytest.approx(mean_nodes(), abs=5.0 * nodes.std() / math.sqrt(len(nodes)))
    assert mean_nodes() == pytest.approx(512.0 + 1.0 / 1.35e-4, rel=0.01)  # but for the end at 49,152
    for chosen, hours in ((nodes < 4096, 1.0), ((nodes >= 4096) & (nodes <= 16_384), 2.0), (nodes > 16_384, 0.5)):
        relative = seconds[chosen] / (hours * 3600.0)
        error = 0.1 / math.sqrt(chosen.sum())
        assert np.median(relative) == pytest.approx(1.0, abs=5.0 * 1.2533 * error)
        assert relative.std() == pytest.approx(0.1, abs=5.0 * error / math.sqrt(2.0))
        assert relative.min() > 0.0


def test_iterations_are_from_10_to_100() -> None:
    lengths = [len(a.phases) // 2 for seed in range(20) for a in made(Mira(0.5), seed).workload.applications]
    assert set(lengths) == set(range(10, 101))
    assert np.mean(lengths) == pytest.approx(55.0, abs=4.0 * 91 / math.sqrt(12.0 * len(lengths)))
    sizes = [len(made(Mira(0.5), seed).workload.applications) for seed in range(20)]
    assert 100 <= min(sizes) <= max(sizes) <= 500


@pytest.mark.parametrize("load", [0.2, 0.5, 0.8])
def test_the_mean_fraction_is_the_load(load: float) -> None:
    for profile in ("binormal", "normal"):
        batch = made(Mira(load, profile, **MANY), 8)
        _, _, fractions = columns(batch)
        assert 0.0 <= fractions.min() <= fractions.max() <= 1.0
        # The truncated normal around 0.2 or 0.8 is centred there; its mean is 0.0055 nearer to a half.
        assert fractions.mean() == pytest.approx(load, abs=5.0 * fractions.std() / math.sqrt(N) + 0.006)
        if profile == "normal":
            law = stats.truncnorm(-load / 0.1, (1.0 - load) / 0.1, load, 0.1)
            assert fractions.std() == pytest.approx(law.std(), abs=5.0 * 0.1 / math.sqrt(2.0 * N))
            assert batch.low is None
        else:
            low = np.array([application.name.startswith("low-") for application in batch.workload.applications])
            assert batch.low == low.sum() == round(Mira(load).low_share() * N)
            # Means of N(0.1, 0.1²) and N(0.9, 0.1²) on [0, 1]: 0.1288 and 0.8712.
            assert fractions[low].mean() == pytest.approx(0.1288, abs=5.0 * 0.08 / math.sqrt(low.sum()))
            assert fractions[~low].mean() == pytest.approx(0.8712, abs=5.0 * 0.08 / math.sqrt((~low).sum()))


@pytest.mark.parametrize("load", [0.2, 0.5, 0.8])
def test_the_io_load_lies_between_the_fraction_and_its_odds(load: float) -> None:
    batch = made(Mira(load, "normal", **MANY), 8)
    nodes, seconds, fractions = columns(batch)
    weight = nodes * seconds
    mean = np.average(fractions, weights=weight)
    # α = Σ Q·T·f / Σ Q·T·(1 − f + f·Q/P): at its share of the bandwidth everyone takes T, and α would be the mean of f.
    expected = np.sum(weight * fractions) / np.sum(weight * (1.0 - fractions + fractions * nodes / P))
    assert io_load(batch.workload) == pytest.approx(expected, rel=1e-9)
    assert mean < io_load(batch.workload) < mean / (1.0 - mean)


def test_sizes_above_the_machine_are_cut_and_counted() -> None:
    batch, whole = made(Mira(0.5, nodes=8192, **MANY), 2), made(Mira(0.5, **MANY), 2)
    nodes = columns(batch)[0]
    assert np.array_equal(nodes, np.minimum(columns(whole)[0], 8192))
    assert batch.clipped == np.sum(columns(whole)[0] > 8192)
    # P(Q > 8192) = exp(−λ · 7681) but for the end at 49,152.
    assert batch.clipped / N == pytest.approx(math.exp(-1.35e-4 * 7681), abs=0.03)
    assert f"(asked for 7850.4), {batch.clipped} clipped to the machine" in batch.summary()


def test_the_same_seed_makes_the_same_batch() -> None:
    assert mira(Mira(0.5), 5) == mira(Mira(0.5), 5)
    assert mira(Mira(0.5), 5) != mira(Mira(0.5), 6)
    # The load changes the I/O and not who is there.
    first, second = (columns(made(Mira(load), 5)) for load in (0.3, 0.7))
    assert np.array_equal(first[0], second[0])
    np.testing.assert_allclose(first[1], second[1], rtol=1e-12)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"load": 0.05}, "load: 0.05 is out of range; expected 0.129 to 0.871 with binormal"),
        ({"load": 1.2, "profile": "normal"}, "load: 1.2 is out of range; expected a number from 0 to 1"),
        ({"load": 0.5, "profile": "odd"}, "profile: 'odd' is out of range; expected binormal or normal"),
        ({"load": 0.5, "sigma": math.nan}, "sigma: nan is out of range; expected a number, 0 or more"),
        ({"load": 0.5, "fewest": 501}, "most: 500 is out of range; expected 501 or more, the value of fewest"),
        ({"load": 0.5, "longest": 9}, "longest: 9 is out of range; expected 10 or more, the value of shortest"),
        ({"load": 0.5, "nodes": 0}, "nodes: 0 is out of range; expected 1 or more"),
        ({"load": 0.5, "bandwidth": 0.0}, "bandwidth: 0.0 is out of range; expected bytes/s above 0"),
    ],
)
def test_parameters_out_of_range(options: dict[str, float], message: str) -> None:
    with pytest.raises(InputError) as caught:
        Mira(**options)  # type: ignore[arg-type]
    assert message in str(caught.value)
