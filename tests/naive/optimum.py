"""The best minimum yield and efficiency of any schedule, for any caps, by linear programs.

Given the order in which operations are posted and completed up to the end of the window, rates may be taken as constant
between two of these events (their mean does the same), and a schedule is the dates of the events and the volumes that each
application moves between them. All conditions are linear. All orders are tried, depth first: the program of the first few
events, after which everyone goes on undisturbed, says what the orders that begin so can reach.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import linprog

from penstock.model import Workload

GAIN = 1e-9
"""An order is tried further only if it may be better than the best so far by more than this."""
FLOOR = 0.01
"""Lower yields are not told apart: their reciprocals, on which ends depend, are too large for linear programs."""
CONSTANT = -1
"""The key of the constant in a linear expression {variable: coefficient}."""
Expression = dict[int, float]


@dataclass
class Member:
    """One application; its work is one entry longer than its volumes, the lead is in the first."""

    nodes: int
    release: float
    start: float
    history: float
    cap: float
    work: list[float]
    volumes: list[float]

    @classmethod
    def of(cls, workload: Workload, index: int) -> Member:
        application = workload.applications[index]
        begin = workload.window[0] if workload.window else min(a.release for a in workload.applications)
        start = max(begin, application.release)
        history = application.progress if application.progress is not None else start - application.release
        work, volumes = [application.lead], []
        for kind, amount in application.phases:
            if kind == "work":
                work[-1] += amount
            elif amount > 0.0:
                volumes.append(amount)
                work.append(0.0)
        cap = application.cap(workload.platform)
        return cls(application.nodes, application.release, start, history, cap, work, volumes)

    def rest(self, k: int) -> float:
        """Dedicated seconds from the posting of operation k to the end."""
        return sum(v / self.cap for v in self.volumes[k:]) + sum(self.work[k + 1 :])

    @property
    def chain(self) -> float:
        return self.work[0] + self.rest(0)

    @property
    def total(self) -> float:
        return self.history + self.chain

    def yield_at(self, undisturbed_end: float, end: float) -> float:
        """The yield if it would end then, were it undisturbed after the end of the window."""
        if undisturbed_end <= end:
            elapsed = undisturbed_end - self.release
            return self.total / elapsed if elapsed > 0.0 else 1.0
        return (self.total - (undisturbed_end - end)) / (end - self.release)

    def latest(self, y: float, end: float) -> tuple[float, float]:
        """The undisturbed end at which the yield is y, and how fast it falls with y."""
        date = self.release + self.total / y
        if date <= end:
            return date, self.total / y**2
        return end + self.total - y * (end - self.release), end - self.release


def combined(*terms: tuple[float, Expression]) -> Expression:
    total: Expression = {}
    for factor, expression in terms:
        for key, coefficient in expression.items():
            total[key] = total.get(key, 0.0) + factor * coefficient
    return total


def constant(value: float) -> Expression:
    return {CONSTANT: value}


class Program:
    """The schedules in which the events come in the order of `sequence`: the next event of each named application.

    If `closed`, the end of the window comes next.
    """

    def __init__(self, workload: Workload, members: list[Member], sequence: tuple[int, ...], closed: bool) -> None:
        self.variables = 0
        self.below_zero: list[Expression] = []
        self.zero: list[Expression] = []
        self.members = members
        self.bandwidth = workload.platform.bandwidth
        self.done = [0] * len(members)  # operations completed
        self.moved: dict[int, Expression] = {}  # of the operations posted and not completed
        self.next_date = [constant(m.start + m.work[0]) for m in members]  # of the next posting, or of the end
        self.now = constant(workload.begin)
        for who in sequence:
            self._pass_time(self._new())
            if who in self.moved:
                self._complete(who)
            else:
                self.zero.append(combined((1.0, self.now), (-1.0, self.next_date[who])))
                self.moved[who] = {}
        if closed and workload.window:
            self._pass_time(constant(workload.window[1]))
        self.undisturbed_ends = [self._undisturbed_end(i) for i in range(len(members))]

    def _new(self) -> Expression:
        self.variables += 1
        return {self.variables - 1: 1.0}

    def _pass_time(self, date: Expression) -> None:
        """Go on to the date: nobody moves more than b_i, and all together no more than B, a second."""
        length = combined((1.0, date), (-1.0, self.now))
        self.below_zero.append(combined((-1.0, length)))
        together: Expression = {}
        for who in self.moved:
            volume = self._new()
            self.below_zero += [combined((-1.0, volume)), combined((1.0, volume), (-self.members[who].cap, length))]
            self.moved[who] = combined((1.0, self.moved[who]), (1.0, volume))
            together = combined((1.0, together), (1.0, volume))
        self.below_zero.append(combined((1.0, together), (-self.bandwidth, length)))
        self.now = date

    def _complete(self, who: int) -> None:
        member, k = self.members[who], self.done[who]
        self.zero.append(combined((1.0, self.moved.pop(who)), (1.0, constant(-member.volumes[k]))))
        self.next_date[who] = combined((1.0, self.now), (1.0, constant(member.work[k + 1])))
        self.done[who] += 1

    def _undisturbed_end(self, i: int) -> Expression:
        """When it ends if from now on everything is as in dedicated mode; its next event has not come yet."""
        member, k = self.members[i], self.done[i]
        if i in self.moved:
            left = combined((1.0, constant(member.volumes[k])), (-1.0, self.moved[i]))
            self.below_zero.append(combined((-1.0, left)))
            return combined(
                (1.0, self.now), (1.0 / member.cap, left), (1.0, constant(member.rest(k) - member.volumes[k] / member.cap))
            )
        if k < len(member.volumes):
            self.below_zero.append(combined((1.0, self.now), (-1.0, self.next_date[i])))
        return combined((1.0, self.next_date[i]), (1.0, constant(member.rest(k) if k < len(member.volumes) else 0.0)))

    def least(self, cost: Expression, conditions: list[Expression]) -> np.ndarray | None:
        """The variables that make `cost` least with all `conditions` at most 0, too; None if there are none."""

        def matrix(rows: list[Expression]) -> tuple[np.ndarray | None, np.ndarray | None]:
            if not rows:
                return None, None
            left, right = np.zeros((len(rows), self.variables)), np.zeros(len(rows))
            for row, expression in enumerate(rows):
                for key, coefficient in expression.items():
                    if key == CONSTANT:
                        right[row] = -coefficient
                    else:
                        left[row, key] = coefficient
            return left, right

        a_ub, b_ub = matrix(self.below_zero + conditions)
        a_eq, b_eq = matrix(self.zero)
        objective = np.array([cost.get(key, 0.0) for key in range(self.variables)])
        tolerances = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
        outcome = linprog(objective, a_ub, b_ub, a_eq, b_eq, (None, None), "highs", options=tolerances)
        assert outcome.status in (0, 2), outcome.message
        return outcome.x if outcome.status == 0 else None

    def value(self, expression: Expression, x: np.ndarray) -> float:
        return expression.get(CONSTANT, 0.0) + sum(c * float(x[key]) for key, c in expression.items() if key != CONSTANT)


def depth_first(
    members: list[Member], windowed: bool, best: float, improve: Callable[[tuple, bool, float], float | None]
) -> float:
    """The best value of any order; `improve(sequence, closed, best)` says what is above the best there, if anything is."""
    events = [2 * len(m.volumes) for m in members]

    def visit(sequence: tuple[int, ...], best: float) -> float:
        if improve(sequence, False, best) is None:
            return best
        if windowed or len(sequence) == sum(events):
            found = improve(sequence, True, best)
            best = best if found is None else found
        for i, count in enumerate(events):
            if sequence.count(i) < count:
                best = visit((*sequence, i), best)
        return best

    return visit((), best)


def optimal_efficiency(workload: Workload) -> float:
    members = [Member.of(workload, i) for i in range(len(workload.applications))]
    nodes = sum(m.nodes for m in members)

    def improve(sequence: tuple[int, ...], closed: bool, best: float) -> float | None:
        program = Program(workload, members, sequence, closed)
        if workload.window is None:
            last = program._new()
            later = [combined((1.0, end), (-1.0, last)) for end in program.undisturbed_ends]
            x = program.least(last, later)
            if x is None:
                return None
            elapsed = program.value(last, x) - workload.begin
            reached = sum(m.nodes * m.chain for m in members) / (nodes * elapsed) if elapsed > 0.0 else 1.0
        else:
            # What it loses: the undisturbed end beyond the end of the window, at least 0.
            begin, end = workload.window
            losses = [program._new() for _ in members]
            rows = [combined((-1.0, loss)) for loss in losses]
            for loss, date in zip(losses, program.undisturbed_ends, strict=True):
                rows.append(combined((1.0, date), (1.0, constant(-end)), (-1.0, loss)))
            lost = combined(*((float(m.nodes), loss) for m, loss in zip(members, losses, strict=True)))
            x = program.least(lost, rows)
            if x is None:
                return None
            reached = (sum(m.nodes * m.chain for m in members) - program.value(lost, x)) / (nodes * (end - begin))
        return reached if reached > best + GAIN else None

    return depth_first(members, workload.window is not None, -math.inf, improve)


def optimal_min_yield(workload: Workload) -> float:
    """The highest lowest yield, or FLOOR if that is more."""
    members = [Member.of(workload, i) for i in range(len(workload.applications))]
    end = workload.window[1] if workload.window else math.inf

    def lowest(program: Program, x: np.ndarray) -> float:
        dates = [program.value(date, x) for date in program.undisturbed_ends]
        return min(m.yield_at(date, end) for m, date in zip(members, dates, strict=True))

    def improve(sequence: tuple[int, ...], closed: bool, best: float) -> float | None:
        """Newton's method: everyone as far before the date at which its yield is the best so far as can be."""
        found = None
        while best < 1.0:
            program = Program(workload, members, sequence, closed)
            late = program._new()
            rows = [combined((-1.0, late), (1.0, constant(-1e6)))]
            for m, date in zip(members, program.undisturbed_ends, strict=True):
                if m.chain == 0.0:
                    continue  # it ends as it starts, whatever is done
                latest, slope = m.latest(best, end)
                rows.append(combined((1.0, date), (1.0, constant(-latest)), (-slope, late)))
            x = program.least(late, rows)
            if x is None or lowest(program, x) <= best + GAIN:
                break
            found = best = lowest(program, x)
            if not closed:
                break
        return found

    return depth_first(members, workload.window is not None, FLOOR, improve)
