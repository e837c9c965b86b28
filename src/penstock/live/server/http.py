"""The coordinator over HTTP: metrics for Prometheus, the state as JSON, and a live page. Off unless an address is given.

Metrics count clients by state and messages by type; there is never one series a client. HTTP has a thread and an event loop
of its own, so that readers do not delay decisions. All readers get the same snapshot, which is `FRESH_SECONDS` old at most.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import socket
import sys
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from importlib import resources
from typing import TYPE_CHECKING, Any, Final

import msgspec
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from penstock.live.server.admission import HTTP_FILES
from penstock.live.server.listening import one_line, tcp
from penstock.live.server.settings import ServerSettings
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


FRESH_SECONDS: Final = 0.5
"""Age up to which a snapshot is shown again."""
IDLE_SECONDS: Final = 10.0
"""A connection that completes no request in this time is closed."""
SWITCH_SECONDS: Final = 0.0005
"""Time for which the thread of HTTP may keep the interpreter to itself: so long a decision may wait for it."""


class Snapshots:
    """Snapshots for readers in another thread: one is taken by the deciding event loop when the last one is old.

    Args:
        take: Takes a snapshot with an entry for each client; called in the event loop in which this object is made.
        users: Whether names and uids of users are shown.
    """

    def __init__(self, take: Callable[[], Snapshot], *, users: bool) -> None:
        self._take = take
        self._users = users
        self._loop = asyncio.get_running_loop()
        self._lock = asyncio.Lock()
        self._taken = -math.inf
        self._snapshot: Snapshot
        self._state: bytes | None = None

    async def latest(self) -> Snapshot:
        """A snapshot that is fresh enough."""
        async with self._lock:
            if time.monotonic() - self._taken > FRESH_SECONDS:
                seen = await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(self._look(), self._loop))
                self._snapshot, self._taken, self._state = (
                    seen if self._users else seen.without_users(),
                    time.monotonic(),
                    None,
                )
            return self._snapshot

    async def _look(self) -> Snapshot:
        return self._take()

    async def state(self) -> bytes:
        """The snapshot as JSON, encoded once."""
        seen = await self.latest()
        if self._state is None:
            self._state = msgspec.json.encode(seen.as_dict())
        return self._state


class Metrics(Collector):
    """Metrics made from a snapshot when Prometheus asks. Labels are states, types of messages and the policy in use."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot

    def text(self) -> bytes:
        """All metrics as Prometheus reads them."""
        registry = CollectorRegistry()
        registry.register(self)
        return generate_latest(registry)

    def collect(self) -> Iterator[Any]:
        """The metrics of this moment."""
        seen = self._snapshot
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
            ("penstock_turned_away", "Connections that found no room", traffic.turned_away),
            ("penstock_overruns", "Reports of more than was granted", seen.overruns),
        ):
            yield CounterMetricFamily(name, text, value)


def application(snapshots: Snapshots, hosts: frozenset[str]) -> Starlette:
    """``/`` for people, ``/metrics`` for Prometheus, ``/state`` as JSON, ``/healthz`` for health checks.

    Args:
        snapshots: What is shown.
        hosts: Names under which the coordinator is asked; other requests are refused, as a web page of another host may have
            led the browser here.
    """
    from starlette.applications import Starlette
    from starlette.responses import PlainTextResponse, Response
    from starlette.routing import Route

    def answer(show: Callable[[], Awaitable[Response]]) -> Callable[[Request], Awaitable[Response]]:
        async def checked(request: Request) -> Response:
            host = request.headers.get("host", "")
            if host_name(host) not in hosts:
                text = (
                    f"{host!r} is not a name of this coordinator; expected one of {', '.join(sorted(hosts))} (http_hosts)\n"
                )
                return PlainTextResponse(text, status_code=421)
            return await show()

        return checked

    async def show_metrics() -> Response:
        return Response(Metrics(await snapshots.latest()).text(), media_type=CONTENT_TYPE)

    async def show_state() -> Response:
        return Response(await snapshots.state(), media_type="application/json")

    async def show_health() -> Response:
        return PlainTextResponse("ok\n")

    shown: dict[str, Callable[[], Awaitable[Response]]] = {
        "/metrics": show_metrics,
        "/state": show_state,
        "/healthz": show_health,
    }
    shown |= {path: _file(name, kind) for path, name, kind in PAGE}
    return Starlette(routes=[Route(path, answer(show)) for path, show in shown.items()])


def host_name(header: str) -> str:
    """The name in a Host header, without its port, in lower case."""
    name, _, port = header.rpartition(":")
    return (name if port.isdecimal() and name else header).strip("[]").lower()


def _file(name: str, kind: str) -> Callable[[], Awaitable[Response]]:
    """A file of the live page; the page may load nothing from other hosts."""
    from starlette.responses import Response

    content = (resources.files("penstock.live.server") / "page" / name).read_bytes()
    headers = {"content-security-policy": "default-src 'self'; style-src 'self' 'unsafe-inline'"}

    async def show() -> Response:
        return Response(content, media_type=kind, headers=headers)

    return show


def _impatient() -> type[asyncio.Protocol]:
    """uvicorn's protocol, but a connection that completes no request for long is closed, whatever it sends or reads."""
    from uvicorn.protocols.http.h11_impl import H11Protocol

    class Impatient(H11Protocol):
        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            if len(self.connections) > HTTP_FILES:
                transport.abort()
            self._watch(None)

        def _watch(self, before: object) -> None:
            if self.transport.is_closing():
                return
            if before is not None and before is (self.cycle or self):
                self.transport.abort()
            else:
                self.loop.call_later(IDLE_SECONDS, self._watch, self.cycle or self)

    return Impatient


@contextlib.asynccontextmanager
async def serving(settings: ServerSettings, take: Callable[[], Snapshot]) -> AsyncIterator[None]:
    """Serve HTTP in a thread of its own while the block runs, as `settings` say.

    `take` makes a snapshot, in this event loop.
    """
    where = tcp(settings.http, "http")
    try:
        import uvicorn

        app = application(Snapshots(take, users=settings.http_users), expected_hosts(where.host, settings.http_hosts))
        protocol = _impatient()
    except ImportError as error:
        raise InputError("http", f"{error.name} is missing; expected: pip install 'penstock[serve]'") from None
    with one_line(f"http {where}"):
        listening = socket.create_server((where.host, where.port), family=_family(where.host))
    http = uvicorn.Server(
        uvicorn.Config(
            app,
            http=protocol,
            ws="none",
            log_level="error",
            lifespan="off",
            access_log=False,
            limit_concurrency=HTTP_FILES,
            timeout_graceful_shutdown=1,
        )
    )
    sys.setswitchinterval(SWITCH_SECONDS)
    thread = threading.Thread(target=http.run, kwargs={"sockets": [listening]}, name="penstock-http", daemon=True)
    thread.start()
    try:
        yield
    finally:
        http.should_exit = True
        await asyncio.to_thread(thread.join)


def expected_hosts(host: str, more: str) -> frozenset[str]:
    """The names under which requests are answered: those of this machine, `host`, and those in `more`, the setting."""
    own = {host, "localhost", "127.0.0.1", "::1", socket.gethostname()}
    return frozenset(name.strip().lower() for name in (*own, *more.split(",")) if name.strip())


def _family(host: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in host else socket.AF_INET
