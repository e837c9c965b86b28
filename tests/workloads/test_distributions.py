"""The laws against scipy's and against plain sums."""

import math

import numpy as np
import pytest
from scipy import stats

from penstock.model import InputError
from penstock.workloads.parameters import (
    discrete_exponential,
    powers_of_two,
    require_range,
    truncated_normal,
    truncated_normal_mean,
)

UNIFORMS = np.random.default_rng(7).random(20_000)


@pytest.mark.parametrize(
    ("mean", "sigma", "low", "high"),
    [
        (0.1, math.sqrt(0.1), 0.0, 1.0),
        (0.9, 0.1, 0.0, 1.0),
        (0.0, 0.3, 0.0, 1.0),
        (1.0, 0.1, 0.0, math.inf),
        (0.1, 50.0, 0.0, 0.9),
    ],
)
def test_the_truncated_normal_has_the_quantiles_and_the_mean_of_scipy(
    mean: float, sigma: float, low: float, high: float
) -> None:
    law = stats.truncnorm((low - mean) / sigma, (high - mean) / sigma, mean, sigma)
    drawn = truncated_normal(UNIFORMS, mean, sigma, low, high)
    np.testing.assert_allclose(drawn, law.ppf(UNIFORMS), rtol=1e-9, atol=1e-9)
    assert truncated_normal_mean(mean, sigma, low, high) == pytest.approx(law.mean(), rel=1e-6)
    assert low <= drawn.min() <= drawn.max() <= high
    assert drawn.mean() == pytest.approx(law.mean(), abs=5.0 * law.std() / math.sqrt(len(drawn)))


def test_the_printed_means_prove_that_the_variance_is_a_tenth() -> None:
    # 001 §IV.B.4 prints 0.289 and 0.711; with a standard deviation of 0.1 they would be 0.129 and 0.871.
    assert round(truncated_normal_mean(0.1, math.sqrt(0.1), 0.0, 1.0), 3) == 0.289
    assert round(truncated_normal_mean(0.9, math.sqrt(0.1), 0.0, 1.0), 3) == 0.711
    assert round(truncated_normal_mean(0.1, 0.1, 0.0, 1.0), 3) == 0.129


def test_the_ends_of_the_uniform_numbers_are_the_ends_of_the_law() -> None:
    ends = np.array([0.0, 1.0 - 2.0**-53])
    assert truncated_normal(ends, 0.5, 0.1, 0.0, 1.0).tolist() == pytest.approx([0.0, 1.0])
    assert np.all(np.isfinite(truncated_normal(ends, 1.0, 0.1, 0.0, math.inf)))


def test_without_spread_a_normal_is_its_mean() -> None:
    assert truncated_normal(UNIFORMS[:3], 0.3, 0.0, 0.0, 1.0).tolist() == [0.3] * 3
    assert truncated_normal_mean(0.3, 0.0, 0.0, 1.0) == 0.3


@pytest.mark.parametrize("mean", [1.0, 18.6, 500.0, 1940.0, 2048.0])
def test_powers_of_two_have_the_mean_asked_for(mean: float) -> None:
    sizes = powers_of_two(mean, 50_000, np.random.default_rng(3))
    assert set(sizes.tolist()) <= {2**j for j in range(12)}
    # With p of the binomial, E 4^j = (1 + 3p)^11, which gives the standard error.
    spread = math.sqrt((1.0 + 3.0 * (mean ** (1.0 / 11.0) - 1.0)) ** 11 - mean**2)
    assert sizes.mean() == pytest.approx(mean, abs=5.0 * spread / math.sqrt(50_000) + 1e-9)


def test_means_that_powers_of_two_cannot_have_become_the_nearest() -> None:
    random = np.random.default_rng(3)
    assert set(powers_of_two(5000.0, 100, random).tolist()) == {2048}
    assert set(powers_of_two(0.2, 100, random).tolist()) == {1}


def test_the_discrete_exponential_is_the_inverse_of_its_summed_chances() -> None:
    rate, low, high = 1.35e-4, 512, 49_152
    chances = np.exp(-rate * np.arange(low, high + 1))
    sums = np.cumsum(chances) / chances.sum()
    expected = low + np.searchsorted(sums, UNIFORMS, side="right")
    drawn = discrete_exponential(UNIFORMS, rate, low, high)
    assert np.mean(drawn == expected) > 0.999  # a uniform number may lie on a step, up to rounding
    assert np.abs(drawn - expected).max() <= 1
    assert discrete_exponential(np.array([0.0, 1.0 - 2.0**-53]), rate, low, high).tolist() == [low, high]


@pytest.mark.parametrize(
    ("low", "high", "message"),
    [(0, 5, "fewest: 0 is out of range; expected 1 or more"), (5, 4, "most: 4 is out of range; expected 5 or more")],
)
def test_ranges_that_are_none(low: int, high: int, message: str) -> None:
    with pytest.raises(InputError, match=message):
        require_range(low, high, ("fewest", "most"))
