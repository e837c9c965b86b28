"""``penstock serve``: the live coordinator, in the foreground or under systemd."""

from __future__ import annotations

import argparse
import sys
from typing import Any

OPTIONS = {
    "bandwidth": ("RATE", 'what the I/O system carries, such as "10 GB/s" (needed)'),
    "node_bandwidth": ("RATE", "what one node can use at most (default: all of it)"),
    "policy": ("NAME", "how it is shared; `penstock policies` lists them (default: fair-share)"),
    "workload": ("FILE", "a workload with the applications to come, for policies that plan ahead"),
    "socket": ("PATH", "the Unix socket (default: where clients look for it)"),
    "listen": ("HOST:PORT", "also listen here for clients on other nodes; needs --token-file"),
    "token_file": ("FILE", "the secret of clients over TCP, in a file of mode 0600"),
    "journal": ("FILE", "what outlives a restart (default: journal.sqlite in the user's folder for state)"),
    "http": ("HOST:PORT", "serve /metrics and /state here (default: not at all)"),
    "lease": ("TIME", "after so long a silence an application loses its turn (default: 10 s)"),
    "keep": ("TIME", "how long its books are kept after that (default: 1 h)"),
    "max_applications": ("N", "the most applications at a time (default: 10000)"),
    "max_applications_per_user": ("N", "the most applications of one user (default: 2000)"),
    "message_rate": ("N", "the most messages a second of one application (default: 1000)"),
    "message_rate_per_user": ("N", "the most messages a second of one user (default: 10000)"),
}
"""Every setting: what it takes and what it is."""


def configure(commands: Any) -> None:
    """Declare the command."""
    command = commands.add_parser(
        "serve",
        help="coordinate the I/O of running applications",
        description="Coordinate the I/O of running applications: they announce it through penstock.client and are paced, "
        "paused and resumed by a policy. Every option is also a PENSTOCK_ variable and a key of the configuration file; the "
        "command line wins over the environment, and that over the file.",
    )
    command.add_argument("--config", metavar="FILE", help="settings in TOML, under the names of the options")
    command.add_argument("--print-config", action="store_true", help="print the settings and where each comes from, and end")
    for name, (metavar, text) in OPTIONS.items():
        command.add_argument("--" + name.replace("_", "-"), dest=name, metavar=metavar, help=text)
    command.add_argument("-v", "--verbose", action="store_true", help="say more: who comes and goes")
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    import os

    from penstock.live.server.settings import load

    settings = load({name: getattr(options, name) for name in OPTIONS}, os.environ, options.config)
    if options.print_config:
        sys.stdout.write(settings.as_toml())
        return 0
    import asyncio
    import logging

    _raise_limit_of_files()
    logging.basicConfig(level=logging.INFO if options.verbose else logging.WARNING, format="penstock serve: %(message)s")
    asyncio.run(_serve(settings))
    return 0


def _raise_limit_of_files() -> None:
    """A connection is an open file: have as many as the system allows."""
    import resource

    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


async def _serve(settings: Any) -> None:
    import asyncio
    import signal

    from penstock.live.server.server import Server

    server = Server(settings)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, server.stop)
    await server.run(ready=lambda: _say_ready(server))


def _say_ready(server: Any) -> None:
    settings = server.settings
    places = [
        settings.socket,
        *filter(None, [settings.listen]),
        *([f"http://{settings.http}/state"] if settings.http else []),
    ]
    known = f"; {len(server.core.registry.clients)} applications known from before" if server.core.registry.clients else ""
    what = f"sharing {server.core.bandwidth:g} bytes/s by {server.core.policy.name}"
    sys.stderr.write(f"penstock serve: {what}, at {', '.join(places)}{known}\n")
    sys.stderr.flush()
