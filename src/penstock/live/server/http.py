"""Metrics for Prometheus: how many of each kind, never one series an application.

Metrics, the state and a live page over HTTP, for whoever asks on that port; off unless an address is given.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from penstock.live.server.control import STATES, condition

if TYPE_CHECKING:
    from penstock.live.server.server import Server


import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from importlib import resources
from typing import TYPE_CHECKING

from penstock.live.server import control
from penstock.live.server.listening import one_line, tcp
from penstock.model import InputError

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

    from penstock.live.server.server import Server


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


PAGE: Final = (
    ("/", "index.html", "text/html"),
    ("/page.js", "page.js", "text/javascript"),
    ("/page.css", "page.css", "text/css"),
)


def application(server: Server) -> Starlette:
    """``/`` for people, ``/metrics`` for Prometheus, ``/state`` as JSON, ``/healthz`` to see that it lives."""
    from starlette.applications import Starlette
    from starlette.responses import JSONResponse, PlainTextResponse, Response
    from starlette.routing import Route

    metrics = Metrics(server)

    async def show_metrics(_: Request) -> Response:
        return Response(metrics.text(), media_type=CONTENT_TYPE)

    async def show_state(_: Request) -> Response:
        return JSONResponse(control.state(server))

    async def show_health(_: Request) -> Response:
        return PlainTextResponse("ok\n")

    routes = [Route("/metrics", show_metrics), Route("/state", show_state), Route("/healthz", show_health)]
    return Starlette(routes=[*routes, *(Route(path, _file(name, kind)) for path, name, kind in PAGE)])


def _file(name: str, kind: str) -> Callable[[Request], Awaitable[Response]]:
    """A file of the page; it may load nothing from elsewhere."""
    from starlette.responses import Response

    content = (resources.files("penstock.live") / "page" / name).read_bytes()
    headers = {"content-security-policy": "default-src 'self'; style-src 'self' 'unsafe-inline'"}

    async def show(_: Request) -> Response:
        return Response(content, media_type=kind, headers=headers)

    return show


@contextlib.asynccontextmanager
async def serving(server: Server) -> AsyncIterator[None]:
    """Serve HTTP in this event loop while the block runs."""
    try:
        import uvicorn

        app = application(server)
    except ImportError as error:
        raise InputError("http", f"{error.name} is missing; expected: pip install 'penstock[serve]'") from None
    where = tcp(server.settings.http, "http")
    with one_line(f"http {where}"):
        listening = socket.create_server((where.host, where.port), family=_family(where.host))
    configuration = uvicorn.Config(app, log_level="warning", lifespan="off", access_log=False, timeout_graceful_shutdown=1)
    http = uvicorn.Server(configuration)
    http.capture_signals = contextlib.nullcontext  # type: ignore[assignment, method-assign]  # signals are the server's
    task = asyncio.create_task(http.serve(sockets=[listening]))
    try:
        yield
    finally:
        http.should_exit = True
        await task


def _family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET
