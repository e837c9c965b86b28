"""The LANL applications follow 004 §7.1 and Table 1."""

import math
from collections import Counter
from functools import cache
from itertools import pairwise

import numpy as np
import pytest

from penstock.model import Application, InputError
from penstock.model.application import WORK, WRITE
from penstock.workloads import Lanl, LanlDraw, lanl

# Table 1: frequency, cores, checkpoint in bytes, printed walltime and that of the APEX report in seconds.
TABLE = {
    "eap": (0.65, 16_000, 3.2e12, 16 * 3600.0, 262.4 * 3600.0),
    "lap": (0.21, 4_000, 2.0e12, 4 * 3600.0, 64 * 3600.0),
    "silverton": (0.08, 32_000, 44.8e12, 32 * 3600.0, 128 * 3600.0),
    "vpic": (0.06, 30_000, 3.75e12, 30 * 3600.0, 157.2 * 3600.0),
}
YEAR = 365.25 * 24 * 3600.0

made = cache(lanl)


def kind(application: Application) -> str:
    return application.name.split("-")[0]


def period(name: str, factor: float, years: float) -> tuple[float, float, float]:
    """s, C and P of an application at a factor on its checkpoint."""
    _, cores, checkpoint, *_ = TABLE[name]
    size = factor * checkpoint
    seconds = size / (cores * 0.02e9)
    return size, seconds, math.sqrt(2.0 * seconds * years * YEAR / cores)


def duration(application: Application) -> float:
    return float(application.phases.dedicated_seconds(application.bandwidth or 0.0).sum())


def need(draw: LanlDraw, years: float) -> float:
    """The largest sum of s / P, looked at in the middle between any two starts or ends."""
    spans = [(a.release, a.release + duration(a), kind(a)) for a in draw.workload.applications]
    dates = sorted({date for begin, end, _ in spans for date in (begin, end)})
    sums = []
    for first, second in pairwise(dates):
        running = [name for begin, end, name in spans if begin < (first + second) / 2.0 < end]
        terms = (period(name, draw.factor, years) for name in running)
        sums.append(sum(size / interval for size, _, interval in terms))
    return max(sums) / 160e9


@pytest.mark.parametrize(("load", "years"), [(0.2, 5.0), (0.5, 25.0), (0.8, 50.0)])
def test_checkpoints_and_work(load: float, years: float) -> None:
    draw = made(Lanl(load, years), 3)
    platform = draw.workload.platform
    assert (platform.bandwidth, platform.node_bandwidth, platform.nodes) == (160e9, 0.02e9, 96_000)
    assert len(draw.workload.applications) == 30
    for application in draw.workload.applications:
        name = kind(application)
        _, cores, _, walltime, _ = TABLE[name]
        size, seconds, interval = period(name, draw.factor, years)
        assert application.nodes == cores
        assert application.bandwidth == application.write_speed(platform) == cores * 0.02e9  # above B for all but LAP
        works, writes = application.phases.amounts[::2], application.phases.amounts[1::2]
        assert set(application.phases.kinds[::2].tolist()) == {WORK}
        assert set(application.phases.kinds[1::2].tolist()) == {WRITE}
        np.testing.assert_allclose(writes, size, rtol=1e-12)
        assert len(works) == len(writes) == max(1, math.floor(walltime / (interval + seconds)))
        assert 0.85 * interval <= works.min()
        assert works.max() <= 1.15 * interval
    everything = np.concatenate(
        [a.phases.amounts[::2] / period(kind(a), draw.factor, years)[2] for a in draw.workload.applications]
    )
    assert everything.mean() == pytest.approx(1.0, abs=4.0 * 0.15 / math.sqrt(3.0 * len(everything)))
    assert everything.std() == pytest.approx(0.15 / math.sqrt(3.0), rel=0.15)


def test_the_numbers_of_table_1() -> None:
    # EAP: 3,200 GB at 320 GB/s are 10 s; 5 years are 157,788,000 s; P² = 2 · 10 · 157,788,000 / 16,000 = 197,235.
    size, seconds, interval = period("eap", 1.0, 5.0)
    assert (size, seconds) == (3.2e12, 10.0)
    assert interval == pytest.approx(math.sqrt(197_235.0))
    # 57,600 s of walltime hold ⌊57,600 / 454.1⌋ = 126 iterations. With a factor that leaves the sizes as they are:
    alone = made(Lanl(3.2e12 / math.sqrt(197_235.0) / 160e9, applications=1), 1)
    (application,) = alone.workload.applications
    assert application.name == "eap-0"
    assert alone.factor == pytest.approx(1.0)
    assert len(application.phases) == 252


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("load", [0.2, 0.8])
def test_the_load_is_reached(load: float, seed: int) -> None:
    draw = made(Lanl(load), seed)
    assert draw.load == pytest.approx(need(draw, 5.0))
    assert draw.load == pytest.approx(load, rel=1e-9)
    # s / P grows as the square root of the factor.
    assert draw.factor == pytest.approx((load / draw.need) ** 2)
    assert draw.summary() == (
        f"checkpoints of Table 1 (I/O need {draw.need:.3f}) times {draw.factor:.4g}: I/O need {load:.3f}"
    )


@pytest.mark.parametrize("seed", range(4))
def test_first_in_first_out_without_backfilling(seed: int) -> None:
    applications = made(Lanl(0.5, applications=60), seed).workload.applications
    starts = [a.release for a in applications]
    ends = [a.release + duration(a) for a in applications]
    assert starts[0] == 0.0
    assert starts == sorted(starts)
    for index, application in enumerate(applications):
        earlier = range(index)

        def used(date: float, earlier: range = earlier) -> int:
            return sum(applications[j].nodes for j in earlier if starts[j] <= date < ends[j])

        assert used(starts[index]) + application.nodes <= 96_000
        if starts[index] > 0.0 and starts[index] > starts[index - 1]:
            # It starts when someone ends, and until then it did not fit.
            assert min(abs(starts[index] - ends[j]) for j in earlier) < 1e-6
            assert used(starts[index] - 1e-3) + application.nodes > 96_000


def test_frequencies() -> None:
    count = 2_000
    names = Counter(kind(a) for a in made(Lanl(0.5, 50.0, count), 2).workload.applications)
    for name, (frequency, *_) in TABLE.items():
        assert names[name] / count == pytest.approx(frequency, abs=4.0 * math.sqrt(frequency / count))


def test_the_walltimes_of_the_report() -> None:
    printed, report = made(Lanl(0.5), 4), made(Lanl(0.5, walltimes="apex"), 4)
    assert [kind(a) for a in printed.workload.applications] == [kind(a) for a in report.workload.applications]
    for application in report.workload.applications:
        _, seconds, interval = period(kind(application), report.factor, 5.0)
        assert len(application.phases) // 2 == math.floor(TABLE[kind(application)][4] / (interval + seconds))


def test_the_same_seed_makes_the_same_set() -> None:
    assert lanl(Lanl(0.5), 5) == lanl(Lanl(0.5), 5)
    assert lanl(Lanl(0.5), 5) != lanl(Lanl(0.5), 6)
    # What is drawn for an application does not depend on the load, only how much of it is used.
    first, second = (made(Lanl(load), 5).workload.applications for load in (0.2, 0.8))
    for one, other in zip(first, second, strict=True):
        n = min(len(one.phases), len(other.phases))
        ratios = one.phases.amounts[:n:2] / other.phases.amounts[:n:2]
        np.testing.assert_allclose(ratios, ratios[0], rtol=1e-12)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"load": 0.0}, "load: 0.0 is out of range; expected a number above 0"),
        ({"load": math.nan}, "load: nan is out of range; expected a number above 0"),
        ({"load": 0.5, "mtbf": -1.0}, "mtbf: -1.0 is out of range; expected years, above 0"),
        ({"load": 0.5, "applications": 0}, "applications: 0 is out of range; expected 1 or more"),
        ({"load": 0.5, "walltimes": "long"}, "walltimes: 'long' is out of range; expected printed or apex"),
        ({"load": 0.5, "variability": 1.5}, "variability: 1.5 is out of range; expected a number from 0 to 1"),
    ],
)
def test_parameters_out_of_range(options: dict[str, float], message: str) -> None:
    with pytest.raises(InputError) as caught:
        Lanl(**options)  # type: ignore[arg-type]
    assert str(caught.value) == message
