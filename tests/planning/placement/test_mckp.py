"""MCKP against trying all choices."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings

from penstock.model import InputError, Workload
from penstock.planning.placement.allocation import best_choice, mckp
from penstock.planning.placement.characteristics import Characteristics
from penstock.planning.placement.heuristics import counts_of
from tests.planning.placement.instances import placeable


def largest_sum(known: Characteristics, resources: int, *, optional: bool) -> float:
    """The largest sum of bandwidths over all choices."""
    assert known.curves is not None
    best = -np.inf
    for counts in product(*([0] * optional + list(choices) for choices in known.measured)):
        if sum(counts) <= resources:
            value = sum(known.curves[index, count - 1] for index, count in enumerate(counts) if count)
            best = max(best, value)
    return best


@settings(max_examples=80)
@given(workload=placeable())
def test_no_choice_is_better(workload: Workload) -> None:
    known = Characteristics.of(workload)
    assert known.curves is not None
    for optional in (False, True):
        if optional or len(known) <= known.resources:
            counts = best_choice(known, known.resources, optional=optional)
            assert counts.sum() <= known.resources
            for count, choices in zip(counts, known.measured, strict=True):
                assert count in choices or (optional and count == 0)
            value = sum(known.curves[index, count - 1] for index, count in enumerate(counts) if count)
            assert value == pytest.approx(largest_sum(known, known.resources, optional=optional), rel=1e-12)


@settings(max_examples=80)
@given(workload=placeable(most_applications=6, most_resources=4))
def test_resources_are_exclusive_but_for_the_last_where_there_are_too_few(workload: Workload) -> None:
    known = Characteristics.of(workload)
    if len(known) <= known.resources:
        assert mckp(known) == mckp(known, shared=True)
        used = [resource for one in mckp(known) for resource in one]
        assert len(set(used)) == len(used)
        return
    with pytest.raises(InputError, match=r"mckp: \d applications on \d I/O resources; expected a resource for each"):
        mckp(known)
    placement = mckp(known, shared=True)
    last = known.resources - 1
    exclusive = [resource for one in placement for resource in one if resource != last]
    assert len(set(exclusive)) == len(exclusive)
    assert all(one == (last,) for one in placement if last in one)
    assert np.all(counts_of(placement) >= 1)
