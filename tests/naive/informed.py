"""Slow runs that show policies what is learned, the means of a class, or nothing, from lists of all that has happened."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from penstock.engine.information import class_of
from penstock.model import Workload
from penstock.numeric.periodicity import dominant_period
from penstock.policies.static_orders import johnson_rank
from tests.naive.machine import Flow, Member, NaiveRun
from tests.naive.policies import Active

SEARCHES = [8, 10, 12, 15, 18, 22, 27, 33, 41, 51, 63, 78, 97, 121, 151, 188, 235, 283]
"""Ended operations at which a period is looked for: from 8 on, after a quarter more, at most 48 more."""


def mean(values: Sequence[Fraction]) -> Fraction:
    return sum(values, Fraction(0)) / len(values)


class Learned(NaiveRun):
    """The slow run, which shows the policy what can be said of the past: lists of all that has ended, and their means."""

    def __init__(self, workload: Workload, policy: str, **options: object) -> None:
        super().__init__(workload, policy, **options)
        self.volumes: list[list[Fraction]] = [[] for _ in self.members]
        self.couples: list[list[tuple[Fraction, Fraction]]] = [[] for _ in self.members]
        self.ended: list[tuple[Fraction, Fraction]] = []
        self.spans: list[list[tuple[Fraction, Fraction, Fraction]]] = [[] for _ in self.members]

    def end_operation(self, m: Member) -> None:
        kind, amount = m.phases[m.phase]
        alone = m.alone(kind, amount)
        self.volumes[m.index].append(amount)
        self.ended.append((self.now, alone))
        self.spans[m.index].append((m.posted, self.now, amount))
        if m.any_work:
            self.couples[m.index].append((m.work_since, alone))
        super().end_operation(m)

    def view(self, flow: Flow, cap: Fraction, rate: Fraction) -> Active:
        m, own = flow[0].member, self.volumes[flow[0].member.index]
        before = [alone for date, alone in self.ended if date <= m.posted]
        typical = mean(before) if before else Fraction(1)
        shown = mean(own) if own else typical * m.cap[flow[1]]
        moved = self.volume(flow) - self.remaining(flow)
        left = max(shown - moved, shown / 10**9)
        return replace(
            super().view(flow, cap, rate),
            volume=float(shown),
            remaining=float(left),
            omega=float(m.omega * self.per_phase(m)),
            whole=float(2 * m.done),
            rank=self.place_of(m),
        )

    def per_phase(self, m: Member) -> int:
        """How many of its operations make a phase, by the period of the last 48 that had ended at the latest search."""
        searches = [count for count in SEARCHES if count <= len(self.spans[m.index])]
        if not searches:
            return 1
        rows = [tuple(float(value) for value in span) for span in self.spans[m.index][: searches[-1]][-48:]]
        starts, ends, volumes = zip(*rows, strict=True)
        found = dominant_period(starts, volumes, ends)
        if found is None:
            return 1
        per_operation = (starts[-1] - starts[0]) / (len(rows) - 1)
        ratio = found.seconds / per_operation
        self.doubtful |= abs(ratio % 1.0 - 0.5) < 1e-6
        return min(max(1, round(ratio)), len(rows))

    def place_of(self, m: Member) -> float:
        """Its place among all in Johnson's order; those of whom nothing is known come between the two groups."""
        groups = [self.group(other) for other in self.members]
        return float(sorted(set(groups)).index(groups[m.index]))

    def group(self, m: Member) -> tuple[int, int]:
        couples = self.couples[m.index]
        if not couples:
            return 1, 0
        times = self.per_phase(m)
        a, b = (round(mean([couple[part] for couple in couples]) * times * 10**9) for part in (0, 1))
        return (0, a) if a <= b else (2, -b)


class Classified(NaiveRun):
    """The slow run that shows the means over all with the same user and name."""

    def alike(self, m: Member) -> list[Member]:
        return [one for one in self.members if class_of(one.application) == class_of(m.application)]

    def view(self, flow: Flow, cap: Fraction, rate: Fraction) -> Active:
        m = flow[0].member
        alike = self.alike(m)
        bandwidth = m.bandwidth or 1
        volumes = [
            amount * (one.bandwidth or 1) for one in alike for kind, amount in one.phases if kind != "work" and amount > 0
        ]
        shown = mean(volumes) / bandwidth
        moved = self.volume(flow) - self.remaining(flow)
        longer = mean([Fraction(one.application.lead) + one.chain_alone for one in alike])
        whole = m.whole + longer - Fraction(m.application.lead) - m.chain_alone
        return replace(
            super().view(flow, cap, rate),
            volume=float(shown),
            remaining=float(max(shown - moved, shown / 10**9)),
            omega=float(sum((one.chain_alone for one in alike), Fraction(0)) / len(volumes)),
            whole=float(max(whole, m.done)),
            rank=float(self.places()[m.index]),
        )

    def places(self) -> Sequence[int]:
        """Johnson's order of the mean couples of the classes, of the true ones with the lead."""
        couples = []
        for m in self.members:
            operations = max(1, sum(kind != "work" and amount > 0 for kind, amount in m.phases))
            work = sum((amount for kind, amount in m.phases if kind == "work"), Fraction(m.application.lead))
            io = sum((m.alone(kind, amount) for kind, amount in m.phases if kind != "work"), Fraction(0))
            couples.append((work / operations, io / operations))
        means = [[mean([couples[one.index][part] for one in self.alike(m)]) for m in self.members] for part in (0, 1)]
        return johnson_rank([float(a) for a in means[0]], [float(b) for b in means[1]]).tolist()


class Blind(NaiveRun):
    """The slow run that shows nothing of what lies ahead."""

    def view(self, flow: Flow, cap: Fraction, rate: Fraction) -> Active:
        m = flow[0].member
        second = float(m.cap[flow[1]])
        shown = super().view(flow, cap, rate)
        return replace(shown, volume=second, remaining=second, omega=0.0, whole=float(m.done), rank=0.0)
