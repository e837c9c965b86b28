"""Classes of curves, the curve of a class, and what is believed of one whose class alone is known."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.model import Curve, InputError
from penstock.workloads import believed, class_curves, class_of
from penstock.workloads.curves import CLASSES, best_count, normalised
from tests.model.strategies import curves as any_curves
from tests.workloads.curves import measured

# Magnitudes far from the ends of the floating-point range: what is scaled stays finite and above 0.
curves = st.dictionaries(st.sampled_from([2, 3, 4, 8]), st.floats(1e-3, 1e3), max_size=4).flatmap(
    lambda points: st.floats(1e-3, 1e3).map(lambda first: Curve.of({1: first, **points}))
)


@pytest.mark.parametrize(
    ("bandwidths", "name", "best"),
    [
        ((10.0, 13.0, 11.0, 12.0), "neutral", 2),  # 13 = 1.3 · 10
        ((10.0, 13.1, 11.0, 12.0), "peak", 2),
        ((10.0, 12.0, 13.1, 11.0), "peak", 4),
        ((10.0, 12.0, 11.0, 13.1), "ascent", 8),
        ((13.1, 10.0, 12.0, 11.0), "descent", 1),
        ((20.0, 10.0, 20.0, 20.0), "descent", 1),  # of equal ones the smallest count is the best
        ((10.0, 20.0, 20.0, 20.0), "peak", 2),
        ((10.0, 20.0, 10.0, 20.0), "peak", 2),
        ((5.0, 5.0, 5.0, 5.0), "neutral", 1),
    ],
)
def test_the_class_and_the_best_count(bandwidths: tuple[float, ...], name: str, best: int) -> None:
    curve = Curve((1, 2, 4, 8), bandwidths)
    assert class_of(curve) == name
    assert best_count(curve) == best
    assert class_of(normalised(curve)) == name


def test_one_count_is_neutral() -> None:
    assert class_of(Curve((1,), (7.0,))) == "neutral"


@given(any_curves())
def test_every_curve_has_one_class_by_the_rule_written_out(curve: Curve) -> None:
    rates = dict(zip(curve.counts, curve.bandwidths, strict=True))
    best = min(n for n, rate in rates.items() if rate == max(rates.values()))
    if max(rates.values()) <= 1.3 * min(rates.values()):
        expected = "neutral"
    elif best == max(rates):
        expected = "ascent"
    elif best == 1:
        expected = "descent"
    else:
        expected = "peak"
    assert class_of(curve) == expected
    assert best_count(curve) == best


def test_a_normalised_curve_is_at_most_1() -> None:
    assert normalised(Curve((1, 2), (2.0, 8.0))) == Curve((1, 2), (0.25, 1.0))


def test_the_curve_of_a_class_passes_through_the_means_where_the_degree_allows() -> None:
    members = [Curve((1, 2, 4, 8), (1.0, 4.0, 2.0, 1.0)), Curve((1, 2, 4, 8), (30.0, 50.0, 20.0, 20.0))]
    classes = class_curves([*members, Curve((1, 2), (1.0, 3.0))])
    assert list(classes) == ["ascent", "peak"]
    # Normalised: (0.25, 1, 0.5, 0.25) and (0.6, 1, 0.4, 0.4).
    assert classes["peak"].counts == (1, 2, 4, 8)
    assert classes["peak"].bandwidths == pytest.approx((0.425, 1.0, 0.45, 0.325))
    assert classes["ascent"].bandwidths == pytest.approx((1.0 / 3.0, 1.0))


def test_a_lower_degree_is_least_squares() -> None:
    rng = np.random.default_rng(2)
    members = [Curve((1, 2, 4, 8), tuple(np.sort(rng.uniform(1.0, 9.0, 4)).tolist())) for _ in range(7)]
    members = [curve for curve in members if class_of(curve) == "ascent"]
    rates = np.array([normalised(curve).bandwidths for curve in members])
    for degree in (0, 1, 2):
        powers = np.vander([1.0, 2.0, 4.0, 8.0], degree + 1)
        solution = np.linalg.lstsq(np.tile(powers, (len(members), 1)), rates.ravel(), rcond=None)[0]
        (curve,) = class_curves(members, degree).values()
        assert curve.bandwidths == pytest.approx(powers @ solution)


def test_curves_with_different_counts_share_one_function() -> None:
    # b(n) = n for all: normalised n/8 and n/4, a mean slope between; counts are all that were measured.
    classes = class_curves([Curve((1, 2, 8), (1.0, 2.0, 8.0)), Curve((1, 4), (1.0, 4.0))], 1)
    assert classes["ascent"].counts == (1, 2, 4, 8)
    slope, offset = np.polyfit([1, 2, 8, 1, 4], [1 / 8, 2 / 8, 1.0, 1 / 4, 1.0], 1)
    assert classes["ascent"].bandwidths == pytest.approx([slope * n + offset for n in (1, 2, 4, 8)])


def test_the_curve_of_a_class_is_positive() -> None:
    # A line through (1, 1), (2, 0.01), (8, 0.01) is below 0 at 8.
    steep = [Curve((1, 2, 8), (1.0, 0.01, 0.01))]
    assert np.polyval(np.polyfit([1, 2, 8], [1.0, 0.01, 0.01], 1), 8) < 0.0
    assert class_curves(steep, 1)["descent"].bandwidths[-1] == 0.01


@given(st.lists(curves, min_size=1, max_size=6), st.integers(0, 4))
def test_beliefs_have_the_shape_of_the_class_and_are_right_with_1_resource(members: list[Curve], degree: int) -> None:
    classes = class_curves(members, degree)
    assert set(classes) == {class_of(curve) for curve in members} <= set(CLASSES)
    for curve in members:
        belief, shape = believed(curve, classes), classes[class_of(curve)]
        assert belief.bandwidths[0] == pytest.approx(curve.bandwidths[0])
        np.testing.assert_allclose(np.divide(belief.bandwidths, shape.bandwidths), curve.bandwidths[0] / shape.bandwidths[0])
        assert min(shape.bandwidths) >= min(rate for one in members for rate in normalised(one).bandwidths)


def test_a_lone_curve_of_four_counts_is_believed_as_it_is() -> None:
    curve = Curve((1, 2, 4, 8), (3.0, 9.0, 4.0, 2.0))
    assert believed(curve, class_curves([curve])).bandwidths == pytest.approx(curve.bandwidths)


def test_a_class_that_nobody_stands_for() -> None:
    classes = class_curves([Curve((1, 2), (1.0, 3.0))])
    with pytest.raises(
        InputError, match="no curve is known for its class descent; expected one of the known classes: ascent"
    ):
        believed(Curve((1, 2), (3.0, 1.0)), classes)
    with pytest.raises(InputError, match="degree: -1 is out of range; expected 0 or more"):
        class_curves([], -1)


@pytest.mark.parametrize(
    ("statistic", "expected"),
    [("mean", (71, 9, 92, 17)), ("median", (71, 12, 88, 18)), ("best", (73, 13, 90, 13))],
)
def test_the_measured_profiles(statistic: str, expected: tuple[int, ...]) -> None:
    profiles = measured(statistic).values()
    counts = Counter(map(class_of, profiles))
    assert tuple(counts[name] for name in CLASSES) == expected
    classes = class_curves(profiles)
    # Degree 3 keeps where most of a class are best; degree 2 would move the peak from 2 to 4.
    assert [best_count(classes[name]) for name in CLASSES] == [8, 1, 2, 2]
    assert best_count(class_curves(profiles, 2)["peak"]) == 4
    assert [class_of(classes[name]) for name in CLASSES] == list(CLASSES)
