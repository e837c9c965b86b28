"""``penstock import KIND … -o OUT``: logs, accounting and measurements of a real machine become workloads.

Each kind has a function that declares its options and one that calls `penstock.api.importing`; `KINDS` lists them.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from penstock.cli.generate import add_parameters, given
from penstock.cli.output import emit_json, say, seed

if TYPE_CHECKING:
    from penstock.api.importing import ImportResult


def configure(commands: Any) -> None:
    """Add the command to `commands`, the subparsers of ``penstock``."""
    command = commands.add_parser(
        "import",
        help="make a workload from logs, accounting or measurements",
        description="Make a workload from what a real machine recorded and write it to a file.",
    )
    kinds = command.add_subparsers(metavar="KIND", required=True)
    for add in KINDS:
        add(kinds)


def add_common(kind: argparse.ArgumentParser) -> None:
    """Add the options that all kinds share to the parser of a `kind`."""
    kind.add_argument(
        "--anonymize",
        action="store_true",
        help="replace users, groups, names and paths by keyed hashes, the same in every importer",
    )
    kind.add_argument(
        "--key",
        metavar="FILE",
        help="the secret key of the hashes (default: penstock/anonymize.key in ~/.config, made once)",
    )
    add_outputs(kind)


def add_outputs(kind: argparse.ArgumentParser) -> None:
    """Add the options that say where the workload and the summary go to the parser of a `kind`."""
    kind.add_argument("--json", action="store_true", help="print what was read as JSON instead of a summary")
    kind.add_argument(
        "-o", "--output", metavar="FILE", required=True, help="ends in .json, .yaml or .parquet; - for standard output"
    )


def finish(options: argparse.Namespace, make: Callable[[], ImportResult]) -> int:
    """Write the workload that `make` returns, and say what was read: on standard error, or as JSON on standard output.

    `options` are those of the command line. Returns the exit code.
    """
    from penstock.api.paths import check_output
    from penstock.model import InputError
    from penstock.model.files import SUFFIXES, write

    if options.json and options.output == "-":
        raise InputError("json", "the workload goes to standard output; expected a file for -o beside --json")
    check_output(options.output, SUFFIXES)
    result = make()
    write(result.workload, options.output)
    if options.json:
        emit_json(result.to_dict(), None)
    else:
        for line in result.summary():
            say(line, sys.stderr)
    return 0


def _add_slurm(kinds: Any) -> None:
    kind = kinds.add_parser(
        "slurm",
        help="the jobs of Slurm's accounting, with the I/O of their Darshan logs",
        description="The jobs of sacct -P, squeue --json or a job completion file. Their I/O is that of their logs, else "
        "that of Slurm's counters, else like that of the nearest job; the summary says how much rests on which.",
    )
    kind.add_argument("path", metavar="FILE", help="output of sacct -P or squeue --json, or jobcomp/filetxt; - or .gz too")
    kind.add_argument("--time-zone", metavar="ZONE", help="of the dates, as Europe/Berlin (default: that of this machine)")
    kind.add_argument(
        "--unfinished",
        choices=("so-far", "requested", "leave-out"),
        default="so-far",
        help="jobs that run or wait: what has run so far, what they requested, or neither",
    )
    kind.add_argument("--release", choices=("start", "submit"), default="start", help="when a job is released")
    kind.add_argument("--cores-per-node", type=int, default=0, metavar="N", help="where the accounting has no nodes")
    kind.add_argument("--iterations", type=int, default=10, metavar="N", help="of jobs of which only the bytes are known")
    fraction = "part of their run time that is I/O, where no bandwidth is given; the mean of drawn ones"
    kind.add_argument("--io-fraction", type=float, default=0.1, metavar="F", help=fraction)
    kind.add_argument("--io-sigma", type=float, default=0.1, metavar="S", help="standard deviation of drawn parts")
    kind.add_argument("--io-most", type=float, default=0.9, metavar="F", help="the largest drawn part")
    kind.add_argument("--seed", type=seed, default=1, help="of what is drawn")
    add_machine(kind)
    _add_joined(kind)
    add_common(kind)
    kind.set_defaults(run=_run_slurm)


def add_machine(kind: argparse.ArgumentParser) -> None:
    """Add the options that say what machine the jobs ran on to the parser of a `kind`."""
    kind.add_argument("--bandwidth", metavar="B", help="of the I/O system, as 100 GB/s (default: the most that was moved)")
    kind.add_argument("--node-bandwidth", metavar="B", help="of one node (default: no limit)")
    kind.add_argument("--machine-nodes", type=int, metavar="N", help="nodes of the machine (default: the most in use)")
    kind.add_argument("--platform", metavar="FILE", help="a workload file that has the platform")
    kind.add_argument(
        "--alone", default="1", metavar="FACTOR|largest", help="how much faster a job's I/O is when it has the machine alone"
    )


def _run_slurm(options: argparse.Namespace) -> int:
    from penstock.api.accounts import import_slurm

    own = (
        "darshan time_zone unfinished cores_per_node release without_log iterations io_fraction io_sigma io_most seed "
        "workers dask"
    )
    words = {word: getattr(options, word) for word in own.split()}
    return finish(options, lambda: import_slurm(options.path, **words, **darshan_choice(options), **machine(options)))


def _add_swf(kinds: Any) -> None:
    kind = kinds.add_parser(
        "swf",
        help="the jobs of a trace in the Standard Workload Format",
        description="The jobs of a trace, as generate swf makes them: a trace says nothing about I/O, which is drawn. With "
        "--darshan it is that of the logs, and jobs without a log are likened to those with one.",
    )
    kind.later = lambda: _complete_swf(kind)
    kind.set_defaults(run=_run_swf)


def _complete_swf(kind: argparse.ArgumentParser) -> None:
    from penstock.workloads.generators import GENERATORS

    add_parameters(kind, GENERATORS["swf"])
    _add_joined(kind)
    add_common(kind)


def _run_swf(options: argparse.Namespace) -> int:
    from penstock.api.accounts import import_swf

    names = ("darshan", "without_log", "workers", "dask", "anonymize", "key")
    words = {**given(options, "swf"), **darshan_choice(options), **{name: getattr(options, name) for name in names}}
    return finish(options, lambda: import_swf(**words))


def _add_joined(kind: argparse.ArgumentParser) -> None:
    """Add the options that say which logs the jobs of a batch system have to the parser of a `kind`."""
    kind.add_argument("--darshan", metavar="DIR", nargs="+", help="Darshan logs or folders of them, joined by the job id")
    kind.add_argument(
        "--without-log",
        choices=("model", "none", "leave-out"),
        default="model",
        help="jobs of whose I/O nothing is known: like the nearest job, no I/O, or not in the workload",
    )
    add_darshan(kind)
    _add_workers(kind)


def machine(options: argparse.Namespace) -> dict[str, Any]:
    """What the options of `add_machine` and `add_common` say, as arguments of the functions of `penstock.api.importing`."""
    names = ("platform", "bandwidth", "node_bandwidth", "machine_nodes", "alone", "anonymize", "key")
    return {name: getattr(options, name) for name in names}


def add_darshan(kind: argparse.ArgumentParser) -> None:
    """Add the options that say what is taken from Darshan logs to the parser of a `kind`."""
    kind.add_argument("--layer", default="posix", help="posix (what the storage sees), mpiio or stdio")
    kind.add_argument("--source", metavar="S", help="dxt, heatmap or counters (default: the first that a log holds)")
    kind.add_argument(
        "--mount", metavar="DIR", action="append", default=[], help="only files below DIR, repeatable (default: all)"
    )
    kind.add_argument(
        "--gap", metavar="TIME", help="operations at most so far apart are one phase (default: found from the data)"
    )
    kind.add_argument(
        "--period", action="store_true", help="cut I/O that no gaps separate into phases of its dominant period"
    )
    kind.add_argument("--by-file", action="store_true", help="counters make a phase of each file, not one of all")
    kind.add_argument("--ranks-per-node", metavar="N", type=int, help="processes on a node, where no hosts are named")


def darshan_choice(options: argparse.Namespace) -> dict[str, Any]:
    """What the options of `add_darshan` say, as arguments of `penstock.import_darshan`."""
    from penstock.model import parse_units

    names = ("layer", "source", "mount", "period", "by_file", "ranks_per_node")
    gap = None if options.gap is None else parse_units.seconds(options.gap, "gap")
    return {**{name: getattr(options, name) for name in names}, "gap": gap}


def _add_darshan(kinds: Any) -> None:
    kind = kinds.add_parser(
        "darshan",
        help="the jobs of Darshan logs",
        description="One workload of the jobs of Darshan logs: each job is released when it started and has the phases of "
        "I/O that its log shows, from single operations (DXT), the heatmap or the counters.",
    )
    kind.add_argument("logs", metavar="LOG|DIR", nargs="+", help="logs, and folders that hold logs at any depth")
    add_darshan(kind)
    add_machine(kind)
    _add_workers(kind)
    add_common(kind)
    kind.set_defaults(run=_run_darshan)


def _add_workers(kind: argparse.ArgumentParser) -> None:
    """Add the options that say who reads the logs to the parser of a `kind`."""
    where = kind.add_mutually_exclusive_group()
    where.add_argument(
        "--dask", metavar="ADDRESS", help="read on a Dask cluster or in Slurm jobs, as penstock campaign does"
    )
    where.add_argument("--workers", metavar="N", type=int, help="how many local processes (default: one a core)")


def _run_darshan(options: argparse.Namespace) -> int:
    from penstock.api.logs import import_darshan

    return finish(
        options,
        lambda: import_darshan(
            options.logs, workers=options.workers, dask=options.dask, **darshan_choice(options), **machine(options)
        ),
    )


def _add_ior(kinds: Any) -> None:
    kind = kinds.add_parser(
        "ior",
        help="the machine that IOR or another benchmark measured",
        description="A platform with the bandwidths, curves and degradation that were measured: by IOR (text, JSON or CSV), "
        "or in a table with a column such as MB/s beside nodes, processes, osts, operation, applications and seconds.",
    )
    kind.add_argument("files", metavar="FILE", nargs="+", help="output of IOR, or a table")
    kind.add_argument("--statistic", metavar="S", default="mean", help="of runs that were repeated: mean, median or best")
    kind.add_argument("--ranks-per-node", metavar="N", type=int, help="processes on a node, where only processes are known")
    kind.add_argument(
        "--nodes-per-transfer", metavar="N", type=int, help="what many nodes lose is the loss of so many transfers"
    )
    kind.add_argument("--machine-nodes", metavar="N", type=int, help="nodes of the machine (default: not said)")
    add_outputs(kind)
    kind.set_defaults(run=_run_ior)


def _run_ior(options: argparse.Namespace) -> int:
    from penstock.api.importing import import_ior

    words = ("statistic", "ranks_per_node", "nodes_per_transfer", "machine_nodes")
    return finish(options, lambda: import_ior(options.files, **{word: getattr(options, word) for word in words}))


KINDS: tuple[Callable[[Any], None], ...] = (_add_darshan, _add_slurm, _add_swf, _add_ior)
"""What adds the parser of each kind."""
