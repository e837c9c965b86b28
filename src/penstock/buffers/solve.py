"""Linear programs: put together block by block, and solved by HiGHS.

A program minimises cost · x subject to row_low ≤ A x ≤ row_high and low ≤ x ≤ high. `Assembly` collects columns and rows,
`Program` holds the finished arrays, and a `Solver` hands them to HiGHS once. A solver can minimise one cost after another:
each solution starts from the basis of the one before, and needs no iteration where that basis is still optimal.

A solution is data: x, the dual values, and how far both are from optimal by measures of our own. An optimal pair has no
duality gap, keeps all rows and bounds, and has dual values of the right sign.
"""

from __future__ import annotations

from dataclasses import dataclass
from threading import Event, Thread

import numpy as np
from highspy import Highs, HighsModelStatus, MatrixFormat, ObjSense

from penstock.model import PenstockError
from penstock.numeric.arrays import Floats, Ints, summed
from penstock.numeric.tolerances import LP_TOLERANCE

DUAL_SIMPLEX, PRIMAL_SIMPLEX = 1, 4
"""What HiGHS' option `simplex_strategy` calls them."""


class InfeasibleError(PenstockError):
    """No x satisfies the rows."""


@dataclass(frozen=True, eq=False)
class Program:
    """A linear program. The matrix has one entry for each place that is not 0, row by row: `row`, `column`, `value`."""

    cost: Floats
    low: Floats
    high: Floats
    row_low: Floats
    row_high: Floats
    row: Ints
    column: Ints
    value: Floats

    @property
    def rows(self) -> int:
        """Number of rows; bounds on columns do not count."""
        return len(self.row_low)

    @property
    def columns(self) -> int:
        """Number of columns."""
        return len(self.cost)

    @property
    def nonzeros(self) -> int:
        """Number of entries in the matrix."""
        return len(self.value)


class Assembly:
    """A program under construction: columns with bounds, rows with right-hand sides, and the entries of the matrix."""

    def __init__(self) -> None:
        self._low, self._high = [np.zeros(0)], [np.zeros(0)]
        self._row_low, self._row_high = [np.zeros(0)], [np.zeros(0)]
        self._entries: list[tuple[Ints, Ints, Floats]] = []
        self.columns = 0
        self.rows = 0

    def add_columns(self, low: Floats, high: Floats) -> Ints:
        """Add columns with the bounds `low` and `high`, and return their numbers."""
        self._low.append(low)
        self._high.append(high)
        self.columns += len(low)
        return np.arange(self.columns - len(low), self.columns)

    def at_most(self, right: Floats) -> Ints:
        """Add rows whose sums are at most `right`, their right-hand sides, and return their numbers."""
        return self._add_rows(np.full(len(right), -np.inf), right)

    def exactly(self, right: Floats) -> Ints:
        """Add rows whose sums equal `right`, their right-hand sides, and return their numbers."""
        return self._add_rows(right, right)

    def _add_rows(self, low: Floats, high: Floats) -> Ints:
        self._row_low.append(low)
        self._row_high.append(high)
        self.rows += len(low)
        return np.arange(self.rows - len(low), self.rows)

    def put(self, rows: Ints, columns: Ints | int, values: Floats | float) -> None:
        """Enter `values` in the `rows`, each in the entry of `columns` beside it. Values in the same place add up."""
        self._entries.append((rows, np.broadcast_to(columns, rows.shape), np.broadcast_to(values, rows.shape)))

    def program(self, minimised: Ints) -> Program:
        """The program that minimises the sum of the columns `minimised`."""
        low = np.concatenate(self._low)
        cost = np.zeros(len(low))
        cost[minimised] = 1.0
        rows, columns, values = (np.concatenate(part) for part in zip(*self._entries, strict=True))
        # A stable sort is fast here: the blocks are mostly in order already.
        places = rows * self.columns + columns
        order = np.argsort(places, kind="stable")
        first = np.flatnonzero(np.diff(places[order], prepend=-1))
        return Program(
            cost=cost,
            low=low,
            high=np.concatenate(self._high),
            row_low=np.concatenate(self._row_low),
            row_high=np.concatenate(self._row_high),
            row=rows[order][first],
            column=columns[order][first],
            value=np.add.reduceat(values[order], first),
        )


@dataclass(frozen=True, eq=False)
class Solution:
    """An optimal solution."""

    x: Floats
    objective: float
    iterations: int
    """Of the simplex method."""
    gap: float
    """|primal − dual objective| / max(1, |primal objective|)."""
    primal_residual: float
    """The most by which a row or a bound is violated."""
    dual_residual: float
    """The most by which a reduced cost is off, or a dual value has the wrong sign."""
    row_duals: Floats
    """Change of the objective for one more unit on the right-hand side of each row."""


def solve_program(program: Program) -> Solution:
    """Solve a program once.

    Returns:
        An optimal solution.

    Raises:
        InfeasibleError: No x satisfies the rows.
        PenstockError: HiGHS gave up, or the objective has no minimum.
    """
    return Solver(program).minimise(program.cost)


class Solver:
    """HiGHS with one program, whose cost and bounds can change from one solution to the next.

    Args:
        program: the program; its rows stay.
    """

    def __init__(self, program: Program) -> None:
        self._program = program
        self._cost, self._high = program.cost, program.high.copy()
        self._highs = Highs()  # type: ignore[no-untyped-call]
        # One thread: the simplex method uses no more, and HiGHS would start idle ones on every core.
        for option, value in (
            ("output_flag", False),
            ("threads", 1),
            ("solver", "simplex"),
            ("simplex_strategy", DUAL_SIMPLEX),
            ("primal_feasibility_tolerance", LP_TOLERANCE),
            ("dual_feasibility_tolerance", LP_TOLERANCE),
        ):
            self._highs.setOptionValue(option, value)
        self._highs.HandleUserInterrupt = True
        self._highs.passModel(
            program.columns,
            program.rows,
            program.nonzeros,
            int(MatrixFormat.kRowwise),
            int(ObjSense.kMinimize),
            0.0,
            program.cost,
            program.low,
            program.high,
            program.row_low,
            program.row_high,
            np.searchsorted(program.row, np.arange(program.rows)).astype(np.int32),
            program.column.astype(np.int32),
            program.value,
            np.zeros(program.columns, np.int32),  # no column is an integer
        )

    def limit(self, column: int, high: float) -> None:
        """Set the upper bound of a `column` to `high`. The last solution must satisfy it."""
        self._high[column] = high
        self._highs.changeColBounds(column, float(self._program.low[column]), high)

    def minimise(self, cost: Floats) -> Solution:
        """Minimise cost · x, from the basis of the last solution if there is one.

        Raises:
            InfeasibleError: No x satisfies the rows.
            PenstockError: HiGHS gave up, or the objective has no minimum.
        """
        highs = self._highs
        changed = np.flatnonzero(cost != self._cost).astype(np.int32)
        highs.changeColsCost(len(changed), changed, cost[changed])
        self._cost = cost
        self._run()
        status = highs.getModelStatus()
        if status == HighsModelStatus.kInfeasible:
            raise InfeasibleError("the linear program has no solution")
        if status != HighsModelStatus.kOptimal:
            raise PenstockError(f"the linear program was not solved: {highs.modelStatusToString(status)}")
        # After this only costs change, and bounds that x satisfies: the basis stays feasible, as the primal method needs it.
        highs.setOptionValue("simplex_strategy", PRIMAL_SIMPLEX)
        info, found = highs.getInfo(), highs.getSolution()
        x, row_duals, column_duals = (np.array(part) for part in (found.col_value, found.row_dual, found.col_dual))
        objective = info.objective_function_value
        errors = _errors(self._program, cost, self._high, x, objective, row_duals, column_duals)
        return Solution(x, objective, info.simplex_iteration_count, *errors, row_duals)

    def _run(self) -> None:
        """Run HiGHS in a thread of its own, so that Ctrl-C reaches this one and ends the other."""
        ended = Event()

        def run() -> None:
            try:
                self._highs.run()
            finally:
                ended.set()

        # An event and not join(): an interrupted join() takes the thread for ended (Python 3.11).
        Thread(target=run, name="penstock: linear program", daemon=True).start()
        try:
            ended.wait()
        except BaseException:
            self._highs.cancelSolve()  # type: ignore[no-untyped-call]
            ended.wait()
            raise


def _errors(
    program: Program, cost: Floats, high: Floats, x: Floats, objective: float, row_duals: Floats, column_duals: Floats
) -> tuple[float, float, float]:
    """The duality gap, and the primal and the dual residual."""
    sums = summed(program.row, program.value * x[program.column], program.rows)
    prices = summed(program.column, program.value * row_duals[program.row], program.columns)
    dual, wrong_signs = 0.0, []
    for values, low, up in ((row_duals, program.row_low, program.row_high), (column_duals, program.low, high)):
        # A dual value counts at the bound that its sign belongs to; where that is infinite the sign is wrong.
        at, other = np.where(values > 0.0, low, up), np.where(values > 0.0, up, low)
        infinite = np.isinf(at)
        dual += float(values @ np.where(infinite, np.where(np.isinf(other), 0.0, other), at))
        wrong_signs.append(np.abs(values[infinite]))
    primal_errors = (program.row_low - sums, sums - program.row_high, program.low - x, x - high)
    dual_errors = (np.abs(cost - prices - column_duals), *wrong_signs)
    gap = abs(objective - dual) / max(1.0, abs(objective))
    return gap, _largest(primal_errors), _largest(dual_errors)


def _largest(errors: tuple[Floats, ...]) -> float:
    return max(float(error.max(initial=0.0)) for error in errors)
