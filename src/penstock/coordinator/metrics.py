"""Metrics for Prometheus: how many of each kind, never one series an application."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from penstock.coordinator.control import STATES, condition

if TYPE_CHECKING:
    from penstock.coordinator.server import Server

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"


class Metrics(Collector):
    """Reads the server when it is asked; the labels are states, kinds of messages and the policy in use."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._registry = CollectorRegistry()
        self._registry.register(self)

    def text(self) -> bytes:
        """All metrics as Prometheus reads them."""
        return generate_latest(self._registry)

    def collect(self) -> Iterator[Any]:
        """The metrics of this moment."""
        server, core = self._server, self._server.core
        states = dict.fromkeys(STATES, 0)
        for application in core.applications.values():
            states[condition(application)] += 1
        applications = GaugeMetricFamily("penstock_applications", "Applications by what they are at", labels=["state"])
        for name, count in states.items():
            applications.add_metric([name], count)
        yield applications
        policy = GaugeMetricFamily("penstock_policy", "1 for the policy in use", labels=["policy"])
        policy.add_metric([core.policy.name], 1)
        yield policy
        messages = CounterMetricFamily("penstock_messages", "Messages by kind", labels=["kind"])
        for name, count in sorted((kind.__name__.lower(), count) for kind, count in server.messages.items()):
            messages.add_metric([name], count)
        yield messages
        for name, text, value in (
            ("penstock_bandwidth_bytes_per_second", "What there is to share", core.bandwidth),
            ("penstock_granted_bytes_per_second", "What applications may be using", core.granted()),
            ("penstock_lowest_yield", "The lowest yield of an application that is here", self._lowest_yield()),
            ("penstock_policy_fault", "1 if the policy broke its contract and was replaced", float(core.fault is not None)),
            ("penstock_journal_failing", "1 if the journal cannot be written", float(server.journal.failure is not None)),
            ("penstock_connections", "Connections", len(server.peers)),
        ):
            yield GaugeMetricFamily(name, text, value)
        for name, text, value in (
            ("penstock_events", "Events that the core was told of", core.events),
            ("penstock_decisions", "Questions to the policy", core.decisions),
            ("penstock_grants", "Grants given", core.grants),
            ("penstock_operations", "I/O operations completed", core.completed),
            ("penstock_refused_messages", "Messages that were wrong", server.refused),
            ("penstock_cut_off", "Peers that did not read", server.cut_off),
            ("penstock_overruns", "Reports of more than was granted", core.overruns),
        ):
            yield CounterMetricFamily(name, text, value)

    def _lowest_yield(self) -> float:
        core = self._server.core
        here = (application for application in core.applications.values() if application.connected)
        return min((core.yield_of(application) for application in here), default=1.0)
