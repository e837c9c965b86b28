"""The bi-colored chains follow Table II.1 of 001, and noise is what §II.D.3 says."""

import math

import numpy as np
import pytest

from penstock.engine import simulate
from penstock.model import Application, InputError, Workload
from penstock.model.application import IO, WORK
from penstock.workloads import Bicolored, bicolored, io_weight
from penstock.workloads.bicolored import LAWS

SEEDS = range(300)


def couples(workload: Workload) -> list[tuple[float, float]]:
    assert all(application.nominal is not None for application in workload.applications)
    return [application.nominal for application in workload.applications if application.nominal]


def counts(workload: Workload) -> list[int]:
    return [len(application.phases) // 2 for application in workload.applications]


def factors(application: Application) -> np.ndarray:
    """By what each phase differs from the nominal one, a row an iteration."""
    assert application.nominal is not None
    return application.phases.amounts.reshape(-1, 2) / np.array(application.nominal) - 1.0


def near(values: list[float], low: float, high: float, whole: bool = False) -> None:
    """The mean of values uniform on [low, high] is within 4 standard errors, and none is outside."""
    width = high - low + whole
    assert low <= min(values) <= max(values) <= high
    assert np.mean(values) == pytest.approx((low + high) / 2.0, abs=4.0 * width / math.sqrt(12.0 * len(values)))


def test_the_general_case() -> None:
    made = [bicolored(Bicolored(), seed) for seed in SEEDS]
    sizes = [len(workload.applications) for workload in made]
    assert set(sizes) == set(range(2, 16))
    near(sizes, 2, 15, whole=True)
    works, ratios, iterations = [], [], []
    for workload in made:
        assert workload.window is None
        assert (workload.platform.bandwidth, workload.platform.nodes) == (1.0, len(workload.applications))
        for application in workload.applications:
            assert (application.nodes, application.release, application.lead) == (1, 0.0, 0.0)
            assert application.cap(workload.platform) == 1.0
            kinds, amounts = application.phases.kinds, application.phases.amounts
            assert np.array_equal(kinds, np.tile([WORK, IO], len(kinds) // 2))
            assert application.nominal is not None
            assert np.array_equal(amounts, np.tile(application.nominal, len(amounts) // 2))
        works += [work for work, _ in couples(workload)]
        ratios += [volume / work for work, volume in couples(workload)]
        iterations += counts(workload)
    near(works, 1.0, 20.0)
    near(ratios, 0.1, 1.0)
    near(iterations, 5, 150, whole=True)
    assert abs(np.corrcoef(works, ratios)[0, 1]) < 4.0 / math.sqrt(len(works))


def test_the_uniform_case_has_one_couple() -> None:
    iterations = []
    for seed in SEEDS:
        workload = bicolored(Bicolored("uniform"), seed)
        assert len(set(couples(workload))) == 1
        iterations += counts(workload)
    near(iterations, 100, 200, whole=True)


def test_the_weight_is_the_sum_of_the_parts_that_are_io() -> None:
    workload = bicolored(Bicolored(), 9)
    assert io_weight(workload) == pytest.approx(sum(volume / (work + volume) for work, volume in couples(workload)))


@pytest.mark.parametrize("case", ["general", "uniform"])
def test_noise_leaves_the_nominal_values_alone(case: str) -> None:
    for seed in range(20):
        plain, some, much = (bicolored(Bicolored(case, noise), seed) for noise in (0.0, 0.2, 0.5))
        assert couples(plain) == couples(some) == couples(much)
        assert counts(plain) == counts(some) == counts(much)
        for a, b in zip(some.applications, much.applications, strict=True):  # the same draws, spread wider
            np.testing.assert_allclose(factors(a) / 0.2, factors(b) / 0.5, atol=1e-13)


@pytest.mark.parametrize("noise", [0.2, 0.5])
def test_noise_is_uniform_and_of_each_phase_its_own(noise: float) -> None:
    made = [bicolored(Bicolored(noise=noise), seed) for seed in range(40)]
    rows = np.concatenate([factors(application) for workload in made for application in workload.applications])
    near(rows.ravel().tolist(), -noise, noise)
    assert np.var(rows) == pytest.approx(noise**2 / 3.0, rel=0.02)
    some = 4.0 / math.sqrt(len(rows))
    assert abs(np.corrcoef(rows[:, 0], rows[:, 1])[0, 1]) < some
    assert abs(np.corrcoef(rows[:-1, 0], rows[1:, 0])[0, 1]) < some


def test_the_noise_of_a_job_depends_on_the_seed_and_its_number_alone() -> None:
    few, many = (bicolored(Bicolored("uniform", 0.5, jobs, jobs), 6) for jobs in (3, 12))
    for a, b in zip(few.applications, many.applications[:3], strict=True):
        shared = min(len(factors(a)), len(factors(b)))
        np.testing.assert_allclose(factors(a)[:shared], factors(b)[:shared], atol=1e-13)
    first, second = (factors(application)[:100, 0] for application in many.applications[:2])
    assert abs(np.corrcoef(first, second)[0, 1]) < 0.4
    # The draws of the noise are not those of the couples: numpy takes the seeds 6 and (6, 0) for the same.
    assert few.applications[0].nominal is not None
    drawn = (few.applications[0].nominal[0] - 1.0) / 19.0
    assert np.abs((factors(few.applications[0]) / 0.5 + 1.0) / 2.0 - drawn).min() > 1e-9


def test_the_same_seed_makes_the_same_instance() -> None:
    assert bicolored(Bicolored(noise=0.2), 5) == bicolored(Bicolored(noise=0.2), 5)
    assert bicolored(Bicolored(noise=0.2), 5) != bicolored(Bicolored(noise=0.2), 6)
    assert bicolored(Bicolored(), 2**62) == bicolored(Bicolored(), 2**62)


def test_an_instance_runs_to_its_end() -> None:
    workload = bicolored(Bicolored(noise=0.2), 5)
    result = simulate(workload, "fcfs", check=True)
    assert result.makespan is not None
    longest = max(float(application.phases.amounts.sum()) for application in workload.applications)
    assert result.makespan >= longest * (1.0 - 1e-12)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"case": "odd"}, "case: 'odd' is out of range; expected general or uniform"),
        ({"noise": 1.5}, "noise: 1.5 is out of range; expected a number from 0 to 1"),
        ({"noise": math.nan}, "noise: nan is out of range"),
        ({"fewest": 0}, "fewest: 0 is out of range; expected 1 or more"),
        ({"most": 1}, "most: 1 is out of range; expected 2 or more, the value of fewest"),
    ],
)
def test_parameters_out_of_range(options: dict[str, float], message: str) -> None:
    with pytest.raises(InputError) as caught:
        Bicolored(**options)  # type: ignore[arg-type]
    assert message in str(caught.value)


@pytest.mark.parametrize("law", LAWS)
def test_every_law_of_noise_has_the_mean_and_the_deviation(law: str) -> None:
    """All are of mean 1 and of the standard deviation of the uniform one, ν/√3."""
    noisy = bicolored(Bicolored("general", 0.3, 12, 12, law), 3)
    plain = bicolored(Bicolored("general", 0.0, 12, 12, law), 3)
    factors = np.concatenate(
        [a.phases.amounts / b.phases.amounts for a, b in zip(noisy.applications, plain.applications, strict=True)]
    )
    assert factors.min() > 0.0
    assert factors.mean() == pytest.approx(1.0, abs=5 * 0.3 / np.sqrt(3 * len(factors)))
    assert factors.std() == pytest.approx(0.3 / np.sqrt(3.0), rel=0.1)
    assert [a.nominal for a in noisy.applications] == [a.nominal for a in plain.applications]


def test_a_law_that_is_not_known_is_refused() -> None:
    with pytest.raises(InputError, match="law: 'cauchy' is out of range; expected uniform or normal or gamma or lognormal"):
        Bicolored(law="cauchy")
