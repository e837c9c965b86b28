"""Linear programs and how far their solutions are from optimal."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from penstock.buffers import solve
from penstock.buffers.program import Assembly
from penstock.buffers.solve import InfeasibleError, Program, solve_program


def program(least: float = 3.0) -> Program:
    """Minimise y with x + y ≥ least, x = 1, y ≤ 5."""
    assembly = Assembly()
    x, y = assembly.add_columns(np.zeros(2), np.array([np.inf, 5.0]))
    rows = assembly.upper.add(np.array([-least]))
    assembly.upper.put(rows, x, -1.0)
    assembly.upper.put(rows, y, -1.0)
    rows = assembly.equal.add(np.array([2.0]))
    assembly.equal.put(rows, x, 1.5)
    assembly.equal.put(rows, x, 0.5)  # values in the same place add up
    return assembly.program(np.array([y]))


def test_a_solution_and_its_errors():
    made = program()
    assert (made.rows, made.columns, made.nonzeros) == (2, 2, 3)
    found = solve_program(made)
    assert found.x.tolist() == pytest.approx([1.0, 2.0])
    assert found.objective == pytest.approx(2.0)
    assert found.upper_duals.tolist() == pytest.approx([-1.0])
    assert max(found.gap, found.primal_residual, found.dual_residual) < 1e-9


def test_no_solution():
    with pytest.raises(InfeasibleError):
        solve_program(program(least=7.0))


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({}, (0.0, 0.0, 0.0)),
        ({"x": [1.0, 2.25], "fun": 2.25}, (0.25 / 2.25, 0.0, 0.0)),  # not optimal
        ({"x": [1.0, 1.5], "fun": 1.5}, (0.5 / 1.5, 0.5, 0.0)),  # a row is passed
        ({"x": [0.5, 2.5]}, (0.0, 1.0, 0.0)),  # an equality does not hold
        ({"x": [1.0, 5.75]}, (0.0, 0.75, 0.0)),  # a bound is passed
        ({"upper": [0.25]}, (3.75 / 2.0, 0.0, 1.25)),  # a dual has the wrong sign, and the reduced costs are off
    ],
)
def test_errors_are_seen(change, expected):
    """The optimal pair x = (1, 2), y = (−1, −1/2), and what is not."""
    duals = {"upper": [-1.0], "equal": [-0.5], "low": [0.0, 0.0], "high": [0.0, 0.0], "x": [1.0, 2.0], "fun": 2.0} | change
    found = SimpleNamespace(
        x=np.array(duals["x"]),
        fun=duals["fun"],
        ineqlin=SimpleNamespace(marginals=np.array(duals["upper"])),
        eqlin=SimpleNamespace(marginals=np.array(duals["equal"])),
        lower=SimpleNamespace(marginals=np.array(duals["low"])),
        upper=SimpleNamespace(marginals=np.array(duals["high"])),
    )
    assert solve._errors(program(), found) == pytest.approx(expected)
