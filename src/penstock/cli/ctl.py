"""``penstock ctl``: look at a running coordinator and steer it. Also what the commands share that talk to one."""

from __future__ import annotations

import argparse
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from penstock.cli.output import add_json, console, emit_json, print_owners, print_table
from penstock.report.format_units import rate, volume

PATIENCE_SECONDS = 120.0
"""How long to wait for an answer: a policy that was never used may have to be compiled."""


def add_socket(command: argparse.ArgumentParser) -> None:
    """Add to the `command` the option that says which coordinator."""
    command.add_argument(
        "--socket",
        metavar="PATH",
        help="Unix socket of the coordinator (default: PENSTOCK_SOCKET, else where serve puts it)",
    )


def query_coordinator(options: argparse.Namespace, command: str, argument: str = "") -> Any:
    """Send a command to the coordinator and return its answer.

    Args:
        options: Those of the command line; ``socket`` says which coordinator.
        command: The word of the protocol, such as "state".
        argument: What the command is about, such as the name of a policy.

    Returns:
        The answer, as JSON has it.

    Raises:
        InputError: `--socket` names no Unix socket.
        ClientError: No coordinator answers there.
    """
    from penstock.live.client import environment
    from penstock.live.client.link import ask_coordinator as ask
    from penstock.model import InputError

    where = environment.find_address(options.socket)
    if not isinstance(where, environment.Unix):
        raise InputError("socket", f"{where} is not a Unix socket; expected its path, as orders are taken only there")
    return ask(where.path, command, argument, PATIENCE_SECONDS)


def told_apart(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """The jobs of the applications in `rows`; those of one name with their numbers."""
    counts = Counter(row["job"] for row in rows)
    is_plain = [counts[row["job"]] == 1 or row["application"] is None for row in rows]
    return [
        row["job"] if plain else f"{row['job']} ({row['application']})" for row, plain in zip(rows, is_plain, strict=True)
    ]


def configure(commands: Any) -> None:
    """Add the command to `commands`, the subparsers of ``penstock``."""
    command = commands.add_parser(
        "ctl",
        help="look at a running coordinator and steer it",
        description="Look at a running coordinator and steer it, as its user or root. Other users may ask for the state; "
        "they see their own applications and the totals.",
    )
    add_socket(command)
    orders = command.add_subparsers(dest="order", metavar="ORDER", required=True)
    state = orders.add_parser("state", help="list the applications: what each does, its rate and its yield")
    policy = orders.add_parser("policy", help="show the policy in use; with a name, change it")
    policy.add_argument("argument", nargs="?", default="", metavar="NAME", help="a name that `penstock policies` lists")
    forget = orders.add_parser("forget", help="forget an application; if it still runs, it comes back as a new one")
    forget.add_argument("argument", metavar="JOB", help="number of the application, or name of its job")
    stop = orders.add_parser("stop", help="stop the coordinator; applications go on without it")
    for order in (state, policy, forget, stop):
        add_json(order)
    record = orders.add_parser("record", help="write what has run so far as a workload file, for penstock compare")
    record.add_argument("-o", "--output", metavar="FILE", required=True, help="the workload: .json, .yaml or .parquet")
    record.add_argument("--journal", metavar="FILE", help="the journal of a coordinator that is not running")
    record.add_argument("--last", metavar="TIME", help='only the last part, such as "2 h" (default: all that is recorded)')
    observed = orders.add_parser("observed", help="tell what steering would have gained on what has run so far")
    observed.add_argument("--policy", metavar="NAME", help="the policy that is to steer (default: the coordinator's)")
    observed.add_argument(
        "--as-it-ran",
        metavar="NAME",
        default="interfering",
        help="the policy that stands for how it ran (default: interfering)",
    )
    observed.add_argument("--journal", metavar="FILE", help="the journal of a coordinator that is not running")
    observed.add_argument("--last", metavar="TIME", help='only the last part, such as "2 h" (default: all that is recorded)')
    add_json(observed)
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run the command with the `options` of the command line; returns the exit code."""
    from penstock.api.paths import check_output
    from penstock.model.files import SUFFIXES

    check_output(options.output, SUFFIXES if options.order == "record" else ())
    if options.order == "record":
        return _record(options)
    if options.order == "observed":
        return _observed(options)
    answer = query_coordinator(options, options.order, getattr(options, "argument", ""))
    if options.json or options.output:
        emit_json(answer, options.output)
    else:
        _SHOWN[options.order](answer)
    return 0


def _record(options: argparse.Namespace) -> int:
    """Write the recorded run as a workload."""
    from penstock.live.core.recording import as_workload
    from penstock.live.server.journal import recorded
    from penstock.model import parse_units
    from penstock.model.files import write

    journal = options.journal or query_coordinator(options, "journal")["journal"]
    present, passages = recorded(journal)
    since = present.now - parse_units.seconds(options.last, "--last") if options.last else -math.inf
    workload = as_workload(passages, present.bandwidth, since)
    write(workload, options.output)
    operations = sum(int(application.phases.asks.sum()) for application in workload.applications)
    console().print(f"{options.output}: {len(workload.applications)} applications, {operations} operations")
    return 0


def _observed(options: argparse.Namespace) -> int:
    """Print what steering would have gained."""
    from penstock.api.observing import observed

    journal = options.journal or query_coordinator(options, "journal")["journal"]
    found = observed(journal, options.policy, as_it_ran=options.as_it_ran, last=options.last)
    if options.json or options.output:
        emit_json(found.to_dict(), options.output)
        return 0
    names = {"min_yield": "min-yield", "efficiency": "efficiency", "mean_stretch": "stretch", "max_stretch": "worst"}
    columns = {
        "run": [row["run"] for row in found.runs],
        **{text: [f"{row[name]:.3f}" for row in found.runs] for name, text in names.items()},
        "node-hours in I/O": [f"{row['node_hours']:.3g}" for row in found.runs],
    }
    print_table(columns, wide=("run",))
    console().print(f"{found.applications} applications, {found.operations} operations")
    console().print(found.sentence)
    return 0


def _show_state(answer: dict[str, Any]) -> None:
    share = answer["granted"] / answer["bandwidth"]
    how = " (measured)" if answer["measured"] else ""
    if answer["observing"]:
        console().print(f"observing {answer['policy']} on {rate(answer['bandwidth'])}{how}: nobody is held back")
    else:
        console().print(f"{answer['policy']}: {share:.0%} of {rate(answer['bandwidth'])}{how} granted")
    for line in filter(None, (answer["fault"], answer["warning"])):
        console().print(line)
    applications = answer["applications"]
    columns = {
        "number": [str(one["application"]) for one in applications],
        "job": [one["job"] for one in applications],
        "nodes": [str(one["nodes"]) for one in applications],
        "state": [one["state"] for one in applications],
        "rate": [rate(one["rate"]) for one in applications],
        "yield": [f"{one['yield']:.3f}" for one in applications],
        "moved": [volume(one["transferred"]) for one in applications],
        "under way": [_under_way(one["pending"]) for one in applications],
        "overruns": [str(one["overruns"]) for one in applications],
    }
    print_table(columns, optional=("overruns", "nodes", "under way", "moved"), wide=("job", "state"))
    print_owners(answer["users"])


def _under_way(pending: dict[str, Any] | None) -> str:
    """What the application has reported of its operation under way; `moved` counts ended operations only."""
    return f"{volume(pending['moved'])} of {volume(pending['volume'])}" if pending else ""


def _show_policy(answer: dict[str, Any]) -> None:
    console().print(answer["policy"])


def _show_forgotten(answer: dict[str, Any]) -> None:
    console().print(f"forgotten: {', '.join(map(str, answer['forgotten']))}")


def _show_stopping(_: dict[str, Any]) -> None:
    console().print("stopping")


_SHOWN = {"state": _show_state, "policy": _show_policy, "forget": _show_forgotten, "stop": _show_stopping}
