"""The coordinator over HTTP: metrics for Prometheus, the state as JSON, and a live page. Off unless an address is given.

Metrics count clients by state and messages by type; there is never one series a client.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from importlib import resources
from typing import TYPE_CHECKING, Any, Final, Protocol

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from penstock.live.server.listening import one_line, tcp
from penstock.live.server.snapshot import Snapshot
from penstock.model import InputError

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
PAGE: Final = (
    ("/", "index.html", "text/html"),
    ("/page.js", "page.js", "text/javascript"),
    ("/page.css", "page.css", "text/css"),
)


class TakeSnapshot(Protocol):
    """How the HTTP side asks for a snapshot: with an entry for each client, or without."""

    def __call__(self, *, applications: bool = True) -> Snapshot:
        """Take it."""
        ...


class Metrics(Collector):
    """Metrics made from a snapshot when Prometheus asks. Labels are states, types of messages and the policy in use."""

    def __init__(self, snapshot: TakeSnapshot) -> None:
        self._snapshot = snapshot
        self._registry = CollectorRegistry()
        self._registry.register(self)

    def text(self) -> bytes:
        """All metrics as Prometheus reads them."""
        return generate_latest(self._registry)

    def collect(self) -> Iterator[Any]:
        """The metrics of this moment."""
        seen = self._snapshot(applications=False)
        traffic = seen.traffic
        applications = GaugeMetricFamily("penstock_applications", "Applications by what they are at", labels=["state"])
        for name, count in seen.states.items():
            applications.add_metric([name], count)
        yield applications
        policy = GaugeMetricFamily("penstock_policy", "1 for the policy in use", labels=["policy"])
        policy.add_metric([seen.policy], 1)
        yield policy
        messages = CounterMetricFamily("penstock_messages", "Messages by kind", labels=["kind"])
        for name, count in sorted(traffic.messages.items()):
            messages.add_metric([name], count)
        yield messages
        failing = float(traffic.journal_failure is not None)
        for name, text, value in (
            ("penstock_bandwidth_bytes_per_second", "What there is to share", seen.bandwidth),
            ("penstock_granted_bytes_per_second", "What applications may be using", seen.granted),
            ("penstock_lowest_yield", "The lowest yield of an application that is here", seen.lowest_yield),
            ("penstock_policy_fault", "1 if the policy broke its contract and was replaced", float(seen.fault is not None)),
            ("penstock_journal_failing", "1 if the journal cannot be written", failing),
            ("penstock_connections", "Connections", traffic.connections),
        ):
            yield GaugeMetricFamily(name, text, value)
        for name, text, value in (
            ("penstock_events", "Events that the core was told of", seen.events),
            ("penstock_decisions", "Questions to the policy", seen.decisions),
            ("penstock_grants", "Grants given", seen.grants),
            ("penstock_operations", "I/O operations completed", seen.completed),
            ("penstock_refused_messages", "Messages that were wrong", traffic.refused_messages),
            ("penstock_cut_off", "Peers that did not read", traffic.cut_off),
            ("penstock_overruns", "Reports of more than was granted", seen.overruns),
        ):
            yield CounterMetricFamily(name, text, value)


def application(snapshot: TakeSnapshot) -> Starlette:
    """``/`` for people, ``/metrics`` for Prometheus, ``/state`` as JSON, ``/healthz`` for health checks."""
    from starlette.applications import Starlette
    from starlette.responses import JSONResponse, PlainTextResponse, Response
    from starlette.routing import Route

    metrics = Metrics(snapshot)

    async def show_metrics(_: Request) -> Response:
        return Response(metrics.text(), media_type=CONTENT_TYPE)

    async def show_state(_: Request) -> Response:
        return JSONResponse(snapshot().as_dict())

    async def show_health(_: Request) -> Response:
        return PlainTextResponse("ok\n")

    routes = [Route("/metrics", show_metrics), Route("/state", show_state), Route("/healthz", show_health)]
    return Starlette(routes=[*routes, *(Route(path, _file(name, kind)) for path, name, kind in PAGE)])


def _file(name: str, kind: str) -> Callable[[Request], Awaitable[Response]]:
    """A file of the live page; the page may load nothing from other hosts."""
    from starlette.responses import Response

    content = (resources.files("penstock.live.server") / "page" / name).read_bytes()
    headers = {"content-security-policy": "default-src 'self'; style-src 'self' 'unsafe-inline'"}

    async def show(_: Request) -> Response:
        return Response(content, media_type=kind, headers=headers)

    return show


@contextlib.asynccontextmanager
async def serving(address: str, snapshot: TakeSnapshot) -> AsyncIterator[None]:
    """Serve HTTP at this TCP address, in this event loop, while the block runs."""
    try:
        import uvicorn

        app = application(snapshot)
    except ImportError as error:
        raise InputError("http", f"{error.name} is missing; expected: pip install 'penstock[serve]'") from None
    where = tcp(address, "http")
    with one_line(f"http {where}"):
        listening = socket.create_server((where.host, where.port), family=_family(where.host))
    configuration = uvicorn.Config(app, log_level="warning", lifespan="off", access_log=False, timeout_graceful_shutdown=1)
    http = uvicorn.Server(configuration)
    http.capture_signals = contextlib.nullcontext  # type: ignore[assignment, method-assign]  # the coordinator has them
    task = asyncio.create_task(http.serve(sockets=[listening]))
    try:
        yield
    finally:
        http.should_exit = True
        await task


def _family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET
