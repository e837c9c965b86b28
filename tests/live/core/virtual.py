"""Applications simulated in virtual time on the coordinator's core: each goes along its chain and keeps to its grants."""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass, field

from penstock.live.core.clients import Client
from penstock.live.core.core import Core
from penstock.live.core.events import InformEvent, RegisterEvent, ReleaseEvent, ReportEvent, YieldEvent
from penstock.live.core.limits import NO_LIMITS, Limits
from penstock.model import Workload
from penstock.model.application import WORK
from penstock.numeric.tolerances import COMPLETE


@dataclass
class VirtualClient:
    """What one application knows of itself: where it is in its chain, and at what rate it moves."""

    name: str
    phases: list[tuple[bool, float]]
    known: Client | None = None
    volume: float = 0.0
    remaining: float = 0.0
    rate: float = 0.0
    operation: int = 0
    end: float = math.nan
    cursor: int = field(default=0)


class VirtualTime:
    """The clock, the clients and the core; with `reports`, clients tell what they have moved at every date."""

    def __init__(
        self,
        workload: Workload,
        policy: str,
        lease: float = math.inf,
        *,
        limits: Limits = NO_LIMITS,
        reports: bool = False,
        predicted: bool = False,
    ) -> None:
        self.workload = workload
        self.reports = reports
        self.core = Core(
            policy,
            workload.platform.bandwidth,
            lease=lease,
            limits=limits,
            workload=workload,
            now=workload.begin,
            degradation=workload.platform.degradation,
            predicted=predicted,
        )
        self.now = workload.begin
        self.most = 0.0
        self.clients = []
        self._timers: list[tuple[float, int]] = []
        self._starts: list[tuple[float, int]] = []
        for index, application in enumerate(workload.applications):
            kinds = [kind == WORK for kind in application.phases.kinds]
            phases = list(zip(kinds, application.phases.amounts.tolist(), strict=True))
            self.clients.append(VirtualClient(application.name, phases))
            heapq.heappush(self._starts, (workload.start(application), index))

    def run(self) -> None:
        """To the end of the window, or of the last application."""
        limit = self.workload.window[1] if self.workload.window else math.inf
        while self.now < limit:
            self._apply()
            self._hear()
            self.most = max(self.most, self.core.granted())
            date = self._next_date()
            if date > limit:
                date, self._finisher = limit, None
            if date == math.inf:
                return
            self._move(date)
        self._apply()

    def _next_date(self) -> float:
        self._finisher = None
        date = math.inf
        for client in self.clients:
            if client.volume > 0.0 and client.rate > 0.0 and self.now + client.remaining / client.rate < date:
                date, self._finisher = self.now + client.remaining / client.rate, client
        others = [self._timers[0][0] if self._timers else math.inf, self._starts[0][0] if self._starts else math.inf]
        busy = date < math.inf or min(others) < math.inf
        tick = self.core.next_date() if busy or self.workload.window else math.inf
        if min(*others, tick) < date:
            date, self._finisher = min(*others, tick), None
        return date

    def _move(self, date: float) -> None:
        seconds = date - self.now
        for client in self.clients:
            if client.volume > 0.0:
                client.remaining = max(0.0, client.remaining - client.rate * seconds)
        if self._finisher is not None:
            self._finisher.remaining = 0.0
        self.now = date

    def _apply(self) -> None:
        while self._starts and self._starts[0][0] <= self.now:
            self._start(heapq.heappop(self._starts)[1])
        for index, client in enumerate(self.clients):
            if client.volume > 0.0 and client.remaining <= COMPLETE * client.volume:
                client.volume = client.rate = 0.0
                self.core.enter(self.now, ReleaseEvent(client.known, client.operation))
                self._go_on(index)
            elif client.volume > 0.0 and self.reports:
                moved = client.volume - client.remaining
                self.core.enter(self.now, ReportEvent(client.known, client.operation, moved))
        while self._timers and self._timers[0][0] <= self.now:
            self._go_on(heapq.heappop(self._timers)[1])

    def _start(self, index: int) -> None:
        application, client = self.workload.applications[index], self.clients[index]
        client.known = self.core.enter(
            self.now,
            RegisterEvent(
                client.name,
                nodes=application.nodes,
                bandwidth=application.cap(self.workload.platform),
                elapsed=self.now - application.release,
                progress=self.workload.history(application),
                lead=application.lead,
            ),
        )
        heapq.heappush(self._timers, (self.now + application.lead, index))

    def _go_on(self, index: int) -> None:
        client = self.clients[index]
        while client.cursor < len(client.phases) and client.phases[client.cursor] == (False, 0.0):
            client.cursor += 1
        if client.cursor == len(client.phases):
            client.end = self.now
            return
        is_work, amount = client.phases[client.cursor]
        client.cursor += 1
        if is_work:
            heapq.heappush(self._timers, (self.now + amount, index))
            return
        client.operation += 1
        client.volume = client.remaining = amount
        client.rate = 0.0
        self.core.enter(self.now, InformEvent(client.known, client.operation, amount, rounds=0))

    def _hear(self) -> None:
        """Keep to every grant at once, and say so, until there are none."""
        by_number = {client.known.number: client for client in self.clients if client.known}
        while instructions := self.core.handle(self.now):
            assert not instructions.forgets
            for grant in instructions.grants:
                client = by_number[grant.client.number]
                if client.operation == grant.operation:
                    client.rate = grant.rate
                self.core.enter(self.now, YieldEvent(grant.client, grant.number))
            self.most = max(self.most, self.core.granted())
