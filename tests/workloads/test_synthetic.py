"""The synthetic traces follow 000 §6.2.1."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.engine import dedicated
from penstock.model import InputError
from penstock.model.application import IO, WORK
from penstock.workloads import Synthetic, demo, synthetic


@settings(max_examples=25)
@given(
    small=st.integers(0, 40),
    sigma=st.floats(0.0, 0.6),
    noise=st.floats(0.0, 1.0),
    pressure=st.floats(0.1, 1.5),
    seed=st.integers(0, 2**32),
)
def test_the_definition(small: int, sigma: float, noise: float, pressure: float, seed: int) -> None:
    parameters = Synthetic(pressure, small, sigma, noise, horizon=20_000.0)
    workload = synthetic(parameters, seed)
    assert parameters.sizes == (small, 20, 40 - small)
    assert len(workload.applications) == 60
    # The window ends when the first application would, alone.
    alone = [application.lead + float(application.phases.amounts.sum()) for application in workload.applications]
    assert workload.window == (0.0, min(alone))
    for application in workload.applications:
        kinds, amounts = application.phases.kinds, application.phases.amounts
        assert np.array_equal(kinds, np.tile([WORK, IO], len(kinds) // 2))
        assert application.cap(workload.platform) == 1.0
        for kind in (WORK, IO):  # each amount is its mean times 1 ± ν, so the ratio of any two is bounded
            chosen = amounts[kinds == kind]
            assert chosen.max() * (1.0 - noise) <= chosen.min() * (1.0 + noise) * (1.0 + 1e-12)


def test_iteration_lengths_and_counts_without_randomness() -> None:
    # σ = ν = 0: ω is µ for everyone, so h / µ iterations of exactly µ seconds; the fractions φ add up to W.
    workload = synthetic(Synthetic(0.9, sigma=0.0, noise=0.0, horizon=200_000.0), seed=3)
    fractions = []
    for application, mean in zip(workload.applications, np.repeat([1e3, 1e4, 1e5], 20), strict=True):
        assert len(application.phases) == 2 * math.ceil(200_000.0 / mean)
        work, volume = application.phases.amounts[:2]
        assert work + volume == pytest.approx(mean, rel=1e-12)
        assert 0.0 <= application.lead <= mean
        fractions.append(volume / mean)
    assert sum(fractions) == pytest.approx(0.9, rel=1e-12)


def test_the_pressure_is_about_the_goal() -> None:
    # V = Σ φ_i·h up to an iteration at each end, which for the big ones is a twentieth of the window.
    pressures = [dedicated(synthetic(Synthetic(0.8), seed)).pressure for seed in range(10)]
    assert np.mean(pressures) == pytest.approx(0.8, rel=0.05)


def test_the_same_seed_makes_the_same_trace() -> None:
    parameters = Synthetic(1.0, horizon=20_000.0)
    assert synthetic(parameters, 5) == synthetic(parameters, 5)
    assert synthetic(parameters, 5) != synthetic(parameters, 6)
    assert demo(2) == demo(2)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pressure": 0.0}, "pressure: 0.0 is out of range; expected a number above 0"),
        ({"pressure": math.nan}, "pressure: nan is out of range"),
        ({"pressure": 1.0, "small": 41}, "small: 41 is out of range; expected 0 to 40"),
        ({"pressure": 1.0, "sigma": -0.1}, "sigma: -0.1 is out of range"),
        ({"pressure": 1.0, "noise": 1.1}, "noise: 1.1 is out of range; expected a number from 0 to 1"),
        ({"pressure": 1.0, "horizon": math.inf}, "horizon: inf is out of range"),
        ({"pressure": 1.0, "applications": 0}, "applications: 0 is out of range"),
    ],
)
def test_parameters_out_of_range(options: dict[str, float], message: str) -> None:
    with pytest.raises(InputError) as caught:
        Synthetic(**options)  # type: ignore[arg-type]
    assert message in str(caught.value)


def test_a_pressure_that_so_few_cannot_make() -> None:
    with pytest.raises(InputError, match=r"pressure: 2\.0 needs more than 2 applications"):
        synthetic(Synthetic(2.0, small=1, applications=2), 1)


def test_nodes_and_their_share_of_the_link_change_nothing_else() -> None:
    plain = synthetic(Synthetic(0.9, horizon=20_000.0), seed=5)
    wide = synthetic(Synthetic(0.9, horizon=20_000.0, node_share=1 / 16, largest=32), seed=5)
    assert wide.window == plain.window
    assert [a.phases for a in wide.applications] == [a.phases for a in plain.applications]
    nodes = [application.nodes for application in wide.applications]
    assert set(nodes) == {1, 2, 4, 8, 16, 32}  # 60 draws of 6 sizes: one is missing in 1 of 10,000 seeds
    assert [a.cap(wide.platform) for a in wide.applications] == [min(1.0, count / 16) for count in nodes]
    assert {application.nodes for application in plain.applications} == {1}


@pytest.mark.parametrize(("name", "value"), [("node_share", 0.0), ("node_share", 1.5), ("largest", 0)])
def test_wrong_nodes(name: str, value: float) -> None:
    with pytest.raises(InputError, match=rf"^{name}: {value} is out of range; expected"):
        Synthetic(0.9, **{name: value})
