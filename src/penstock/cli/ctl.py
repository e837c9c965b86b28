"""``penstock ctl``: look at a running coordinator and steer it."""

from __future__ import annotations

import argparse
from typing import Any

from penstock.cli.output import add_json, console, emit_json, print_table


def configure(commands: Any) -> None:
    """Declare the command."""
    command = commands.add_parser(
        "ctl",
        help="look at a running coordinator and steer it",
        description="Look at a running coordinator and steer it, as its user or root.",
    )
    command.add_argument(
        "--socket", metavar="PATH", help="its Unix socket (default: PENSTOCK_SOCKET, else where serve puts it)"
    )
    orders = command.add_subparsers(dest="order", metavar="ORDER", required=True)
    state = orders.add_parser("state", help="who is here, at what, with which rate and yield")
    policy = orders.add_parser("policy", help="the policy in use; with a name, change it")
    policy.add_argument("argument", nargs="?", default="", metavar="NAME", help="a name that `penstock policies` lists")
    forget = orders.add_parser("forget", help="send an application away; if it lives it comes back as a new one")
    forget.add_argument("argument", metavar="JOB", help="its number, or the name of its job")
    stop = orders.add_parser("stop", help="end the coordinator; applications go on by themselves")
    for order in (state, policy, forget, stop):
        add_json(order)
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    from penstock.client import address
    from penstock.client.control import ask
    from penstock.model import InputError

    where = address.find(options.socket)
    if not isinstance(where, address.Unix):
        raise InputError("socket", f"{where} is no Unix socket; expected its path, for orders are taken there only")
    answer = ask(where.path, options.order, getattr(options, "argument", ""))
    if options.json or options.output:
        emit_json(answer, options.output)
    else:
        _SHOWN[options.order](answer)
    return 0


def _show_state(answer: dict[str, Any]) -> None:
    share = answer["granted"] / answer["bandwidth"]
    console().print(f"{answer['policy']}: {share:.0%} of {answer['bandwidth']:g} bytes/s granted")
    if answer["fault"]:
        console().print(answer["fault"])
    applications = answer["applications"]
    columns = {
        "number": [str(one["application"]) for one in applications],
        "job": [one["job"] for one in applications],
        "nodes": [str(one["nodes"]) for one in applications],
        "state": [one["state"] for one in applications],
        "bytes/s": [f"{one['rate']:.4g}" for one in applications],
        "yield": [f"{one['yield']:.3f}" for one in applications],
        "bytes moved": [f"{one['transferred']:.4g}" for one in applications],
        "overruns": [str(one["overruns"]) for one in applications],
    }
    print_table(columns, optional=("overruns", "nodes", "bytes moved"), wide=("job", "state"))


def _show_policy(answer: dict[str, Any]) -> None:
    console().print(answer["policy"])


def _show_forgotten(answer: dict[str, Any]) -> None:
    console().print(f"forgotten: {', '.join(map(str, answer['forgotten']))}")


def _show_stopping(_: dict[str, Any]) -> None:
    console().print("stopping")


_SHOWN = {"state": _show_state, "policy": _show_policy, "forget": _show_forgotten, "stop": _show_stopping}
