"""The sources of curves: their laws, and the built-in family beside the curves it stands for."""

import math
from collections import Counter
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from penstock.model import Curve, InputError
from penstock.workloads import FAMILIES, MeasuredCurves, class_of, curve_source, read_profiles
from penstock.workloads.curves import CLASSES, COUNTS, KINDS, Kind, best_count
from tests.workloads.curves import measured, ratios, small

DRAWS = 6000


@cache
def drawn(name: str) -> tuple[Curve, ...]:
    return FAMILIES[name].draw(DRAWS, np.random.default_rng(11))


def steps(curves: list[Curve]) -> np.ndarray:
    """log2 b(2)/b(1), log2 b(4)/b(2), log2 b(8)/b(4) of each curve."""
    return np.diff(np.log2([curve.bandwidths for curve in curves]), axis=1)


def test_a_draw_of_measured_curves_is_uniform_with_replacement() -> None:
    curves = tuple(Curve((1,), (float(rate),)) for rate in (1, 2, 3, 4))
    counts = Counter(MeasuredCurves(curves).draw(4000, np.random.default_rng(3)))
    assert set(counts) == set(curves)
    assert stats.chisquare(list(counts.values())).pvalue > 1e-3
    assert MeasuredCurves(curves).draw(7, np.random.default_rng(5)) == MeasuredCurves(curves).draw(
        7, np.random.default_rng(5)
    )
    with pytest.raises(InputError, match="curves: there are no curves; expected at least one"):
        MeasuredCurves(())


@pytest.mark.parametrize("name", FAMILIES)
def test_a_family_is_a_function_of_the_generator(name: str) -> None:
    family = FAMILIES[name]
    first, again, other = (family.draw(20, np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert first == again != other
    assert family.draw(0, np.random.default_rng(1)) == ()


def test_io_node_curves_have_the_kinds_in_their_shares() -> None:
    curves = drawn("io-nodes")
    assert {curve.counts for curve in curves} == {COUNTS}
    for best, class_name in {(kind.best, kind.class_name) for kind in KINDS}:
        share = sum(kind.profiles for kind in KINDS if (kind.best, kind.class_name) == (best, class_name)) / 189
        seen = np.mean([class_of(curve) == class_name and best_count(curve) in best for curve in curves])
        assert seen == pytest.approx(share, abs=4.0 * math.sqrt(share * (1.0 - share) / DRAWS))
    assert sum(kind.profiles for kind in KINDS) == 189


def test_ost_curves_are_powers_and_say_that_they_are_a_stand_in() -> None:
    curves = drawn("osts")
    assert {curve.counts for curve in curves} == {tuple(range(1, 9))}
    rates = np.array([curve.bandwidths for curve in curves])
    exponents = np.log(rates[:, 1:] / rates[:, :1]) / np.log(np.arange(2, 9))
    np.testing.assert_allclose(exponents, np.broadcast_to(exponents[:, :1], exponents.shape), rtol=1e-9)
    assert stats.kstest(exponents[:, 0], stats.uniform(0.3, 0.65).cdf).pvalue > 1e-3
    assert stats.kstest(rates[:, 0], stats.loguniform(0.1e9, 2e9).cdf).pvalue > 1e-3
    assert {class_of(curve) for curve in curves} == {"ascent"}  # 8^0.3 is 1.87
    assert "stand-in" in FAMILIES["osts"].label


def test_a_source_by_name(tmp_path: Path) -> None:
    path = small(tmp_path / "mine.csv")
    source = curve_source(path, "best")
    assert isinstance(source, MeasuredCurves)
    assert source.curves == tuple(read_profiles(path, "best").values())
    assert source.label == "2 measured curves of mine.csv (best)"
    for name in FAMILIES:
        assert curve_source(name) is FAMILIES[name]
    with pytest.raises(InputError) as caught:
        curve_source("tapes")
    expected = "expected io-nodes, osts or a CSV file of profiles"
    assert str(caught.value) == f"curves: 'tapes' is neither a family nor a file; {expected}"
    with pytest.raises(InputError, match="statistic: 'worst' is out of range; expected mean, median, best"):
        curve_source("osts", "worst")


def members(kind: Kind) -> list[Curve]:
    """The measured curves of the kind; the third number of a scenario tells a file for each process, 0, from one for all."""
    layout = {KINDS[0]: "0", KINDS[1]: "1"}.get(kind)
    return [
        curve
        for scenario, curve in measured().items()
        if class_of(curve) == kind.class_name and best_count(curve) in kind.best and layout in (None, scenario.split("-")[2])
    ]


@pytest.mark.parametrize("number", range(len(KINDS)))
def test_the_constants_are_fitted_as_they_say(number: int) -> None:
    kind = KINDS[number]
    of_kind = members(kind)
    assert len(of_kind) == kind.profiles
    firsts = np.log([curve.bandwidths[0] for curve in of_kind])
    reach = math.sqrt(3.0) * firsts.std(ddof=1)
    assert kind.slowest == pytest.approx(math.exp(firsts.mean() - reach), rel=0.02)
    assert kind.fastest == pytest.approx(math.exp(firsts.mean() + reach), rel=0.02)
    # The law as it is written, by numbers of its own: normal steps, those of another class or best count left out.
    tries = np.random.default_rng(4).normal(kind.steps, kind.spreads, (40_000, 3))
    shapes = np.exp2(np.cumsum(np.column_stack([np.zeros(len(tries)), tries]), axis=1))
    span, best = shapes.max(axis=1) / shapes.min(axis=1), np.array(COUNTS)[shapes.argmax(axis=1)]
    kept = tries[((span <= 1.3) == (kind.class_name == "neutral")) & np.isin(best, kind.best)]
    close = 0.1 if number == 1 else 0.02
    assert kept.mean(axis=0) == pytest.approx(steps(of_kind).mean(axis=0), abs=close)
    assert kept.std(axis=0) == pytest.approx(steps(of_kind).std(axis=0, ddof=1), abs=close)


def distance_bound(count: int) -> float:
    """The two-sample Kolmogorov–Smirnov distance that is exceeded with a chance of 5 % if both are of the same law."""
    return 1.36 * math.sqrt(1.0 / count + 1.0 / DRAWS)


@pytest.mark.parametrize("name", [*CLASSES, "all"])
def test_drawn_curves_look_like_the_measured_ones(name: str) -> None:
    """Normalised curves, the ratio of largest to smallest, and b(1), within each class and over all.

    They cannot be told apart at 5 %; the quartiles of the normalised curves differ by at most 0.06 in classes of many, and
    by 0.1 in the two of 9 and 17.
    """
    real_ones = [curve for curve in measured().values() if name in ("all", class_of(curve))]
    ours = [curve for curve in drawn("io-nodes") if name in ("all", class_of(curve))]
    assert len(ours) / DRAWS == pytest.approx(len(real_ones) / 189, abs=0.03)
    theirs, mine = np.round(ratios(real_ones), 9), np.round(ratios(ours), 9)
    for column in range(len(COUNTS)):
        assert stats.ks_2samp(theirs[:, column], mine[:, column]).statistic < distance_bound(len(theirs))
        quartiles = (np.quantile(rows[:, column], (0.25, 0.5, 0.75)) for rows in (theirs, mine))
        assert next(quartiles) == pytest.approx(next(quartiles), abs=0.1 if len(theirs) < 20 else 0.06)
    assert stats.ks_2samp(1.0 / theirs.min(axis=1), 1.0 / mine.min(axis=1)).statistic < distance_bound(len(theirs))
    firsts = [[curve.bandwidths[0] for curve in curves] for curves in (real_ones, ours)]
    assert stats.ks_2samp(*firsts).statistic < distance_bound(len(theirs))
