from types import SimpleNamespace

from penstock.report import objectives


def results(*values: float) -> list:
    return [SimpleNamespace(efficiency=value) for value in values]


def test_the_highest_is_best() -> None:
    assert objectives.best(results(0.2, 0.9, 0.5), "efficiency") == {1}


def test_those_that_read_the_same_are_equally_good() -> None:
    assert objectives.best(results(0.90001, 0.9, 0.5), "efficiency") == {0, 1}


def test_the_gap_is_what_is_missing_to_the_bound() -> None:
    result = SimpleNamespace(min_yield=0.25, efficiency=0.5, utilization=0.125)
    bounds = SimpleNamespace(min_yield=0.75, efficiency=0.625)
    assert objectives.gaps(result, bounds) == {"min_yield": 0.5, "efficiency": 0.125}
    assert objectives.gaps(result, None) == {}


def test_what_rounds_to_zero_has_no_sign() -> None:
    assert objectives.text(-1e-9) == "0.0000"
    assert objectives.text(-1e-3) == "-0.0010"


def test_alone_nothing_is_best() -> None:
    assert objectives.best(results(0.9), "efficiency") == frozenset()
    # A mark that most have says nothing.
    assert objectives.best(results(0.9, 0.9, 0.9, 0.9, 0.5, 0.4), "efficiency") == frozenset()
    assert objectives.best(results(0.9, 0.9, 0.9, 0.8, 0.5, 0.4), "efficiency") == {0, 1, 2}
    assert objectives.best([], "efficiency") == frozenset()
