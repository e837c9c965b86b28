"""``penstock serve``: the live coordinator, in the foreground or under systemd."""

from __future__ import annotations

import argparse
import sys
import time
from typing import Any

OPTIONS = {
    "bandwidth": ("RATE", 'bandwidth of the I/O system, such as "10 GB/s", or auto to measure it (required)'),
    "first_bandwidth": ("RATE", "with --bandwidth auto, the first value (default: hold nobody back until it is measured)"),
    "node_bandwidth": ("RATE", "most bandwidth that one node can use (default: all)"),
    "degradation": (
        "PART",
        "part of the bandwidth that is left when two share it, or JSON {count: part, …}, or its file (default: all of it)",
    ),
    "policy": ("NAME", "policy that shares the bandwidth; `penstock policies` lists them (default: fair-share)"),
    "observe": (None, "record what the policy would grant, and hold nobody back (default: no)"),
    "information": (
        "WHAT",
        "announced shows policies what applications announce; predicted what is learned of them (default: announced)",
    ),
    "workload": ("FILE", "workload file of the applications to come, for policies that plan ahead (default: none)"),
    "socket": ("PATH", "Unix socket to listen on (default: where clients look for it)"),
    "listen": ("HOST:PORT", "TCP address for clients on other nodes; needs --token-file (default: none)"),
    "addresses": (
        "ADDRESSES",
        "further addresses, separated by commas, where clients find a coordinator if this one dies (default: none)",
    ),
    "token_file": ("FILE", "file of mode 0600 with the secret of clients over TCP (default: none)"),
    "journal": (
        "FILE",
        "file with all that must survive a restart (default: journal.sqlite in the user's folder for state)",
    ),
    "http": ("HOST:PORT", "TCP address of the live page, /metrics and /state (default: none)"),
    "http_hosts": ("NAMES", "further host names, separated by commas, for which HTTP requests are answered (default: none)"),
    "http_users": ("yes|no", "show names and uids of users over HTTP (default: no)"),
    "lease": ("TIME", "an application that is silent for so long loses its grant (default: 10 s)"),
    "keep": ("TIME", "how long the records of a silent application are kept (default: 1 h)"),
    "max_applications": ("N", "most applications at a time (default: 10000)"),
    "max_applications_per_user": ("N", "most applications of one user (default: 2000)"),
    "message_rate": ("N", "most messages per second from one application (default: 1000)"),
    "message_rate_per_user": ("N", "most messages per second from one user (default: 10000)"),
    "longest_turn": (
        "TIME",
        "an operation that has bandwidth for so long while others wait goes behind them (default: 1 h)",
    ),
    "longest_round": (
        "TIME",
        "a pause must take effect within a lease plus this time, whatever the rounds (default: 1 min)",
    ),
    "least_reached": (
        "PART",
        "an operation that reaches less than this part of its grants while others wait loses its turn (default: 0.01)",
    ),
    "max_elapsed_claim": ("TIME", "time before its registration that an application may claim to have run (default: 0 s)"),
    "max_nodes": ("N", "nodes of the machine; a claim of more counts as this many (default: no limit)"),
    "share_by": ("WHAT", "application or user: what counts as one for the policy (default: application)"),
    "weights": (
        "JSON",
        "weights of users, {user or uid: weight, …}, or a file with them, for policies that divide by weight (default: 1)",
    ),
    "group_weights": (
        "JSON",
        "weights of the system's groups, {group or gid: weight, …}, or a file with them; then only these are groups, for "
        "processes that belong to them (default: groups are what applications say, with weight 1)",
    ),
    "planned_user": ("USER", "user who may register the job names of the workload (default: the first who does)"),
    "lowered_after": ("N", "overruns after which the cap of an application is lowered; 0 for never (default: 3)"),
    "barred_after": ("N", "overruns after which an application is barred; 0 for never (default: 6)"),
    "penalty": ("TIME", "how long a lower cap or a bar lasts (default: 1 min)"),
    "log_format": ("text|json", "log lines of text, or JSON objects (default: text)"),
    "audit_log": (
        "FILE",
        "append who registers, is refused, is sent away and gives commands, as JSON lines (default: none)",
    ),
}
"""Every setting: what stands for its value (None for a switch), and its help."""


def configure(commands: Any) -> None:
    """Add the command to `commands`, the subparsers of ``penstock``."""
    command = commands.add_parser(
        "serve",
        help="coordinate the I/O of running applications",
        description="Coordinate the I/O of running applications: they announce it through penstock.client and are paced, "
        "paused and resumed by a policy. Every option is also a PENSTOCK_ variable and a key of the configuration file; the "
        "command line wins over the environment, and that over the file.",
    )
    command.add_argument("--config", metavar="FILE", help="settings in TOML, under the names of the options (default: none)")
    command.add_argument("--print-config", action="store_true", help="print the settings and their sources, and exit")
    for name, (metavar, text) in OPTIONS.items():
        kind: dict[str, Any] = {"metavar": metavar} if metavar else {"action": "store_const", "const": "yes"}
        command.add_argument("--" + name.replace("_", "-"), dest=name, help=text, **kind)
    command.add_argument(
        "-v", "--verbose", action="store_true", help="also log who comes and goes, refusals, commands and overruns"
    )
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run the command with the `options` of the command line; returns the exit code."""
    import os

    from penstock.live.server.settings import load

    settings = load({name: getattr(options, name) for name in OPTIONS}, os.environ, options.config)
    if options.print_config:
        sys.stdout.write(settings.as_toml())
        return 0
    import asyncio

    from penstock.live.server import logbook

    _raise_limit_of_files()
    logbook.set_up(settings.log_format, verbose=options.verbose)
    asyncio.run(_serve(settings))
    return 0


def _raise_limit_of_files() -> None:
    """Allow as many open files as the system does: a connection is one."""
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
    from penstock.report.format_units import rate

    settings = server.settings
    places = [
        settings.socket,
        *filter(None, [settings.listen]),
        *([f"http://{settings.http}/state"] if settings.http else []),
    ]
    known = f"; {len(server.core.registry.clients)} applications known from before" if server.core.registry.clients else ""
    core = server.core
    note = f" ({server.policy_note})" if server.policy_note else ""
    shared = "what it measures" if core.measured is not None else rate(core.bandwidth)
    what = f"{'observing how to share' if core.observing else 'sharing'} {shared} by {core.policy.name}{note}"
    text = f"{what}, at {', '.join(places)}{known}"
    if settings.log_format == "json":
        from penstock.live.server.logbook import json_line

        sys.stderr.write(json_line(time.time(), level="info", event="ready", text=text) + "\n")
    else:
        sys.stderr.write(f"penstock serve: {text}\n")
    sys.stderr.flush()
