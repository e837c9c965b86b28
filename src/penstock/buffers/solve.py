"""Linear programs on HiGHS: minimise cost · x with upper · x ≤ its right side, equal · x = its right side, low ≤ x ≤ high.

What comes back is data: the solution, how long it took, and how far it is from optimal by measures of our own, taken from
the program and HiGHS' dual values. An optimal pair has no duality gap, no residuals, and duals of the right sign.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import linprog

from penstock.model import PenstockError
from penstock.numeric.arrays import Floats
from penstock.numeric.tolerances import LP_TOLERANCE

_OPTIMAL, _INFEASIBLE = 0, 2


class InfeasibleError(PenstockError):
    """No x satisfies the rows."""


@dataclass(frozen=True, eq=False)
class Program:
    """A linear program; the matrices are sparse."""

    cost: Floats
    upper: Any
    upper_right: Floats
    equal: Any
    equal_right: Floats
    low: Floats
    high: Floats

    @property
    def rows(self) -> int:
        """How many rows, bounds of columns not among them."""
        return int(self.upper.shape[0] + self.equal.shape[0])

    @property
    def columns(self) -> int:
        """How many columns."""
        return len(self.cost)

    @property
    def nonzeros(self) -> int:
        """How many entries of the matrix."""
        return int(self.upper.nnz + self.equal.nnz)


@dataclass(frozen=True, eq=False)
class Solution:
    """An optimal solution."""

    x: Floats
    objective: float
    seconds: float
    iterations: int
    gap: float
    """|primal − dual objective| / max(1, |primal objective|)."""
    primal_residual: float
    """The most by which a row or a bound is passed."""
    dual_residual: float
    """The most by which a reduced cost is off, or a dual value has the wrong sign."""
    upper_duals: Floats
    """What one more unit on the right side of each row would do to the objective."""


def solve_program(program: Program) -> Solution:
    """An optimal solution; InfeasibleError if there is none."""
    begun = time.perf_counter()
    options = {"primal_feasibility_tolerance": LP_TOLERANCE, "dual_feasibility_tolerance": LP_TOLERANCE}
    found = linprog(
        program.cost,
        program.upper,
        program.upper_right,
        program.equal,
        program.equal_right,
        np.column_stack([program.low, program.high]),
        method="highs-ds",
        options=options,
    )
    if found.status == _INFEASIBLE:
        raise InfeasibleError("the linear program has no solution")
    if found.status != _OPTIMAL:
        raise PenstockError(f"the linear program was not solved: {found.message}")
    seconds = time.perf_counter() - begun
    errors = _errors(program, found)
    return Solution(found.x, float(found.fun), seconds, int(found.nit), *errors, found.ineqlin.marginals)


def _errors(program: Program, found: Any) -> tuple[float, float, float]:
    """The duality gap, and the primal and the dual residual."""
    x = found.x
    upper, equal = found.ineqlin.marginals, found.eqlin.marginals
    low, high = found.lower.marginals, found.upper.marginals
    bounded = np.isfinite(program.high)
    dual = upper @ program.upper_right + equal @ program.equal_right
    dual += low @ program.low + high[bounded] @ program.high[bounded]
    primal_errors = (
        program.upper @ x - program.upper_right,
        np.abs(program.equal @ x - program.equal_right),
        program.low - x,
        x - program.high,
    )
    reduced = program.cost - upper @ program.upper - equal @ program.equal - low - high
    dual_errors = (np.abs(reduced), upper, -low, high)
    gap = abs(found.fun - dual) / max(1.0, abs(found.fun))
    return float(gap), _largest(primal_errors), _largest(dual_errors)


def _largest(errors: tuple[Floats, ...]) -> float:
    return max(0.0, *(float(error.max()) for error in errors if len(error)))
