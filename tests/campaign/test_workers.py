"""Local workers call any function of a module; what ends a worker is told, and the others go on."""

from __future__ import annotations

import math
import os

import pytest

from penstock.campaign.workers import LocalPool
from penstock.model import InputError, PenstockError, parse_units


def test_items_and_what_the_function_returns_for_them() -> None:
    with LocalPool(2) as pool:
        assert sorted(pool.mapped(math.sqrt, [4.0, 9.0, 16.0])) == [(4.0, 2.0), (9.0, 3.0), (16.0, 4.0)]
        assert list(pool.mapped(math.sqrt, [])) == []


def test_an_item_that_ends_its_worker_is_given_up() -> None:
    with LocalPool(2, attempts=2) as pool:
        found = dict(pool.mapped(os._exit, [3], lambda code, deaths: f"{code}: {deaths} died"))  # type: ignore[arg-type]
        assert found == {3: "3: 2 died"}
        assert list(pool.mapped(math.sqrt, [25.0])) == [(25.0, 5.0)]
        with pytest.raises(PenstockError, match="2 workers died with 4"):
            list(pool.mapped(os._exit, [4]))


def test_an_error_of_ours_ends_it_all() -> None:
    with LocalPool(1) as pool, pytest.raises(InputError, match="nodes: 0 is not a number of things"):
        list(pool.mapped(a_count, [0]))


def a_count(value: int) -> int:
    return parse_units.count(value, "nodes", "things")
