"""Linear programs and how far their solutions are from optimal."""

from __future__ import annotations

import os
import signal
import threading
import time

import numpy as np
import pytest

from penstock.buffers import solve
from penstock.buffers.solve import Assembly, InfeasibleError, Program, Solver, solve_program
from penstock.model import PenstockError


def program(least: float = 3.0) -> Program:
    """Minimise y with x + y ≥ least, x = 1, y ≤ 5."""
    assembly = Assembly()
    x, y = assembly.add_columns(np.zeros(2), np.array([np.inf, 5.0]))
    rows = assembly.at_most(np.array([-least]))
    assembly.put(rows, x, -1.0)
    assembly.put(rows, y, -1.0)
    rows = assembly.exactly(np.array([2.0]))
    assembly.put(rows, x, 1.5)
    assembly.put(rows, x, 0.5)  # values in the same place add up
    return assembly.program(np.array([y]))


def test_a_solution_and_its_errors():
    made = program()
    assert (made.rows, made.columns, made.nonzeros) == (2, 2, 3)
    found = solve_program(made)
    assert found.x.tolist() == pytest.approx([1.0, 2.0])
    assert found.objective == pytest.approx(2.0)
    assert found.row_duals.tolist() == pytest.approx([-1.0, -0.5])
    assert max(found.gap, found.primal_residual, found.dual_residual) < 1e-9


def test_no_solution():
    with pytest.raises(InfeasibleError):
        solve_program(program(least=7.0))


def test_no_minimum():
    assembly = Assembly()
    x = assembly.add_columns(np.zeros(1), np.full(1, np.inf))
    assembly.put(assembly.at_most(np.array([0.0])), x, -1.0)
    with pytest.raises(PenstockError, match="the linear program was not solved: Unbounded"):
        Solver(assembly.program(x)).minimise(np.array([-1.0]))


def test_one_cost_after_another():
    # x + y ≥ 2 with x, y ≤ 3. The least x is 0; then, with x ≥ 0 and y ≤ 3 at most, the least y is 0, unless x is limited.
    assembly = Assembly()
    x, y = assembly.add_columns(np.zeros(2), np.full(2, 3.0))
    rows = assembly.at_most(np.array([-2.0]))
    assembly.put(rows, x, -1.0)
    assembly.put(rows, y, -1.0)
    solver = Solver(assembly.program(np.zeros(0, np.int64)))
    assert solver.minimise(np.array([1.0, 0.25])).x.tolist() == pytest.approx([0.0, 2.0])
    again = solver.minimise(np.array([2.0, 0.5]))
    assert (again.iterations, again.objective) == (0, pytest.approx(1.0))  # the basis is still optimal
    solver.limit(int(y), 2.0)
    assert solver.minimise(np.array([0.0, 1.0])).x.tolist() == pytest.approx([2.0, 0.0])
    solver.limit(int(x), 2.5)
    found = solver.minimise(np.array([0.0, -1.0]))
    assert found.x[y] == pytest.approx(2.0)
    assert max(found.gap, found.primal_residual, found.dual_residual) < 1e-9  # the new limit is in the dual objective


def test_an_interrupt_ends_a_long_program():
    """Some 1,000 × 1,000 dense numbers take the simplex method many seconds; the interrupt comes in the middle."""
    random, count = np.random.default_rng(0), 1000
    assembly = Assembly()
    columns = assembly.add_columns(np.zeros(count), np.full(count, np.inf))
    rows = assembly.at_most(-random.uniform(1.0, 2.0, count))
    for column in columns:
        assembly.put(rows, int(column), -random.uniform(0.0, 1.0, count))
    made = assembly.program(columns)
    threads = threading.active_count()
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    begun = time.process_time()
    with pytest.raises(KeyboardInterrupt):
        solve_program(made)
    assert time.process_time() - begun < 5.0
    assert threading.active_count() <= threads + 1  # HiGHS' thread has ended; the timer's may still


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
    given = {"upper": [-1.0], "equal": [-0.5], "x": [1.0, 2.0], "fun": 2.0} | change
    made, duals = program(), np.array([*given["upper"], *given["equal"]])
    errors = solve._errors(made, made.cost, made.high, np.array(given["x"]), given["fun"], duals, np.zeros(2))
    assert errors == pytest.approx(expected)
