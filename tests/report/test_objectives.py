from types import SimpleNamespace

from penstock.report import objectives


def results(*values: float) -> list:
    return [SimpleNamespace(efficiency=value) for value in values]


def test_the_highest_is_best() -> None:
    assert objectives.best(results(0.2, 0.9, 0.5), "efficiency") == {1}


def test_those_that_read_the_same_are_equally_good() -> None:
    assert objectives.best(results(0.90001, 0.9, 0.5), "efficiency") == {0, 1}


def test_alone_nothing_is_best() -> None:
    assert objectives.best(results(0.9), "efficiency") == frozenset()
    assert objectives.best([], "efficiency") == frozenset()
