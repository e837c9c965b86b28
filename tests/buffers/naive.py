"""The sizing of 004 written down as slowly and plainly as can be: every application at every event, every constraint."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linprog

from penstock.model import Workload


class Timeline:
    """The applications at full speed, by walking along their phases; `events` are all dates at which anything changes."""

    def __init__(self, workload: Workload, capped: bool = False) -> None:
        self.workload = workload
        platform = workload.platform
        self.origin = workload.window[0] if workload.window else 0.0
        self.release, self.end, self.speeds = [], [], []
        self.operations: list[list[tuple[str, float, float, float]]] = []
        for application in workload.applications:
            speed = {"read": application.read_speed(platform), "write": application.write_speed(platform)}
            if capped:
                speed["read"] = min(speed["read"], platform.read_limit)
                speed["write"] = min(speed["write"], platform.write_limit)
            now = application.release + application.lead
            mine = []
            for kind, amount in application.phases:
                direction = "read" if kind == "read" else "write"
                seconds = amount if kind == "work" else amount / speed[direction]
                if kind != "work" and amount > 0.0:
                    mine.append((direction, amount, now, now + seconds))
                now += seconds
            self.operations.append(mine)
            self.release.append(application.release)
            self.end.append(now)
            self.speeds.append(speed)
        dates = {self.origin, *self.release, *self.end}
        dates |= {date for mine in self.operations for _, _, start, stop in mine for date in (start, stop)}
        self.events: list[float] = []
        for date in sorted(dates):
            if not self.events or date > self.events[-1] + 1e-6:
                self.events.append(date)

    def moved(self, k: int, direction: str, date: float) -> float:
        """W∞ or R∞ of application k."""
        total = 0.0
        for kind, volume, start, stop in self.operations[k]:
            if kind == direction:
                total += volume * min(max((date - start) / (stop - start), 0.0), 1.0)
        return total

    def inside(self, k: int, direction: str, date: float) -> bool:
        return any(kind == direction and start < date < stop for kind, _, start, stop in self.operations[k])


class Sizing:
    """The linear program of 004 §6 with columns W_k and R_k at every event, S_k, and S, and every constraint as a row."""

    def __init__(self, workload: Workload, static: bool, capped: bool) -> None:
        self.line, self.static = Timeline(workload, capped), static
        self.platform, self.events = workload.platform, self.line.events
        self.count, self.last = len(workload.applications), len(self.events)
        self.share = 2 * self.count * self.last
        self.whole = self.share + self.count
        self.rows: list[tuple[dict[int, float], float]] = []

    def column(self, k: int, direction: str, at: int) -> int:
        return (2 * k + (direction == "read")) * self.last + at

    def moved(self, k: int, direction: str, at: int) -> dict[int, float]:
        """What application k moves from an event to the next."""
        return {self.column(k, direction, at + 1): 1.0, self.column(k, direction, at): -1.0}

    def content(self, k: int, at: int) -> tuple[dict[int, float], float]:
        """W∞ − W + R − R∞ as columns, and the constant."""
        constant = self.line.moved(k, "write", self.events[at]) - self.line.moved(k, "read", self.events[at])
        return {self.column(k, "write", at): -1.0, self.column(k, "read", at): 1.0}, constant

    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """W ≤ W∞; R∞ ≤ R ≤ all that is read; the buffer is empty at first."""
        low, high = np.zeros(self.whole + 1), np.full(self.whole + 1, np.inf)
        for k in range(self.count):
            for at, date in enumerate(self.events):
                high[self.column(k, "write", at)] = self.line.moved(k, "write", date)
                low[self.column(k, "read", at)] = self.line.moved(k, "read", date)
                high[self.column(k, "read", at)] = self.line.moved(k, "read", self.events[-1]) if at else 0.0
        return low, high

    def add_rates(self, at: int) -> None:
        """Nobody moves backwards, or faster than it can, and all together no faster than the file system."""
        seconds, everybody = self.events[at + 1] - self.events[at], {}
        for direction in ("read", "write"):
            limit = self.platform.read_limit if direction == "read" else self.platform.write_limit
            together: dict[int, float] = {}
            for k in range(self.count):
                mine = self.moved(k, direction, at)
                self.rows.append(({column: -value for column, value in mine.items()}, 0.0))
                self.rows.append((mine, min(self.line.speeds[k][direction], limit) * seconds))
                together |= mine
            self.rows.append((together, limit * seconds))
            everybody |= together
        self.rows.append((everybody, self.platform.bandwidth * seconds))

    def add_inflow(self, at: int, limit: float) -> None:
        """Into the buffer goes what writers do not bring to the file system, and what comes from there for others than
        readers."""
        middle = (self.events[at] + self.events[at + 1]) / 2.0
        row, right = {}, limit * (self.events[at + 1] - self.events[at])
        for k in range(self.count):
            if self.line.inside(k, "write", middle):
                row |= {column: -value for column, value in self.moved(k, "write", at).items()}
                right -= self.line.moved(k, "write", self.events[at + 1]) - self.line.moved(k, "write", self.events[at])
            if not self.line.inside(k, "read", middle):
                row |= self.moved(k, "read", at)
        self.rows.append((row, right))

    def add_contents(self, at: int) -> None:
        """Contents fit into shares, and what is taken into the buffer, just before the event and just after it."""
        date = self.events[at]
        for k in range(self.count):
            if self.static and self.line.release[k] - 1e-6 <= date <= self.line.end[k] + 1e-6:
                columns, constant = self.content(k, at)
                self.rows.append((columns | {self.share + k: -1.0}, -constant))
        beside = [(self.events[i] + self.events[i + 1]) / 2.0 for i in (at - 1, at) if 0 <= i < self.last - 1]
        for moment in beside or [date]:
            row, constants = {self.whole: -1.0}, 0.0
            for k in range(self.count):
                if self.static and self.line.release[k] < moment < self.line.end[k]:
                    row |= {self.share + k: 1.0}
                else:
                    columns, constant = self.content(k, at)
                    row |= columns
                    constants += constant
            self.rows.append((row, -constants))

    def solve(self, minimised: slice, size: float = np.inf) -> float | None:
        """The least sum of some columns, with a buffer of that size at most."""
        for at in range(self.last - 1):
            self.add_rates(at)
            if self.platform.buffer and self.platform.buffer.bandwidth is not None:
                self.add_inflow(at, self.platform.buffer.bandwidth)
        for at in range(self.last):
            self.add_contents(at)
        matrix = np.zeros((len(self.rows), self.whole + 1))
        for index, (row, _) in enumerate(self.rows):
            for place, value in row.items():
                matrix[index, place] = value
        low, high = self.bounds()
        if np.any(low > high + 1e-9):
            return None
        high[self.whole] = size
        cost = np.zeros(self.whole + 1)
        cost[minimised] = 1.0
        bounds = np.column_stack([low, np.maximum(low, high)])
        found = linprog(cost, matrix, [right for _, right in self.rows], bounds=bounds, method="highs")
        assert found.status in (0, 2), found.message
        return float(found.fun) if found.status == 0 else None


def least_size(workload: Workload, static: bool, capped: bool = False) -> float | None:
    """The smallest S for a stretch of 1; None if there is none."""
    sizing = Sizing(workload, static, capped)
    return sizing.solve(slice(sizing.whole, None))


def least_sum_of_shares(workload: Workload, size: float) -> float | None:
    """The smallest Σ S_k of a static buffer of that size."""
    sizing = Sizing(workload, True, False)
    return sizing.solve(slice(sizing.share, sizing.whole), size)
