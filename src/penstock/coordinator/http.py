"""Metrics, the state and a live page over HTTP, for whoever asks on that port; off unless an address is given."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from importlib import resources
from typing import TYPE_CHECKING, Final

from penstock.coordinator import control
from penstock.coordinator.listening import one_line, tcp
from penstock.model import InputError

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

    from penstock.coordinator.server import Server

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

    from penstock.coordinator.metrics import CONTENT_TYPE, Metrics

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

    content = (resources.files("penstock.coordinator") / "page" / name).read_bytes()
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
