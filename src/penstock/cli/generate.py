"""``penstock generate KIND -o OUT``: workloads to start from."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.cli.output import seed

if TYPE_CHECKING:
    from penstock.model import Workload
    from penstock.workloads import Batch


def configure(commands: Any) -> None:
    """Declare the command and its kinds."""
    command = commands.add_parser("generate", help="make a workload", description="Make a workload and write it to a file.")
    kinds = command.add_subparsers(metavar="KIND", required=True)
    demo = kinds.add_parser(
        "demo",
        help="eight applications in one busy hour",
        description="A small workload to look at: eight applications of three kinds in one hour of a busy machine.",
    )
    demo.set_defaults(run=run, make=_demo)
    synthetic = kinds.add_parser(
        "synthetic",
        help="the synthetic traces of 000 §6.2",
        description="The synthetic traces of 000 §6.2: small, medium and big applications that can each saturate the link.",
    )
    synthetic.add_argument("--pressure", "--w-goal", type=float, default=1.0, help="W_GOAL, the I/O pressure (1.0)")
    synthetic.add_argument("--small", "--n-small", type=int, help="n_small, how many small ones (a third of all)")
    synthetic.add_argument("--sigma", type=float, default=0.5, help="σ, spread of iteration lengths over their mean (0.5)")
    synthetic.add_argument("--noise", "--nu", type=float, default=0.5, help="ν, spread within an application, 0 to 1 (0.5)")
    synthetic.add_argument(
        "--horizon", type=float, default=2_000_000.0, help="h, length of the window in seconds (2,000,000)"
    )
    synthetic.add_argument("--applications", type=int, default=60, help="m, how many applications (60)")
    synthetic.add_argument("--node-share", type=float, default=1.0, help="b/B, what one node can use of the link (1)")
    synthetic.add_argument("--largest", type=int, default=1, help="nodes are 1, 2, 4 … up to this, drawn for each (1)")
    synthetic.set_defaults(run=run, make=_synthetic)
    for kind in (demo, synthetic):
        _add_seed(kind)
        _add_output(kind)
    _configure_apex(kinds)
    _configure_chains(kinds)
    _configure_batches(kinds)
    _configure_distributed(kinds)
    _configure_lanl(kinds)
    _configure_swf(kinds)


def _configure_apex(kinds: Any) -> None:
    apex = kinds.add_parser(
        "apex",
        help="steady-state windows of the APEX workloads of 000 §6.3",
        description="The longest steady-state windows in three months of NERSC or TRILAB jobs (000 §6.3), a file each.",
    )
    apex.add_argument("--workload", required=True, help="nersc or trilab")
    apex.add_argument("--machine", default="cielo", help="cielo or one of its scaled versions M_1 to M_10 (cielo)")
    apex.add_argument("--count", type=int, default=20, help="how many windows, the longest first (20)")
    apex.add_argument("--format", choices=("json", "yaml", "parquet"), default="json", help="of the files (json)")
    _add_seed(apex)
    apex.add_argument(
        "-o", "--output", metavar="DIR", required=True, help="a folder for window-00.json, …; it must not hold windows yet"
    )
    apex.set_defaults(run=run_apex)


def _configure_chains(kinds: Any) -> None:
    bicolored = kinds.add_parser(
        "bicolored",
        help="the bi-colored chains of 001 §II.D.2",
        description="Jobs that alternate work and I/O on a link of bandwidth 1 (001 §II.D.2, Table II.1).",
    )
    _add(bicolored, "--case", str, "general, or uniform: the same work and I/O for all, 100 to 200 times (general)")
    _add(bicolored, "--noise --nu", float, "ν: each phase is multiplied by a draw from 1 − ν to 1 + ν (0)")
    _add(bicolored, "--fewest", int, "m, how many jobs, is drawn from this … (2)")
    _add(bicolored, "--most", int, "… to this (15)")
    _add_seed(bicolored)
    jacobi = kinds.add_parser(
        "jacobi",
        help="the five Jacobi applications of 001 §III.D.1",
        description="The five Jacobi applications of 001 §III.D.1 (Table III.1), B = 1. Nothing is drawn.",
    )
    _add(jacobi, "--batches", float, "multiplies the iterations (1)")
    for kind, make in ((bicolored, _bicolored), (jacobi, _jacobi)):
        _add_output(kind)
        kind.set_defaults(run=run_measured, make=make)


def _configure_batches(kinds: Any) -> None:
    packs = kinds.add_parser(
        "packs",
        help="the batches of 001 §III.D.2, to be packed",
        description="25 to 100 periodic applications for 2048 nodes with an I/O node of bandwidth 1 (001 §III.D.2.b).",
    )
    uniform = kinds.add_parser(
        "uniform",
        help="the uniform batches of 001 §IV.B.4 (BU, NU)",
        description="100 to 500 periodic applications for 2048 nodes with an I/O node of bandwidth 1 (001 §IV.B.4).",
    )
    mira = kinds.add_parser(
        "mira",
        help="the batches of 001 §IV.B.3 after Mira (MB, MN)",
        description="100 to 500 periodic applications with the sizes and times of Mira's jobs (001 §IV.B.3).",
    )
    rows = (
        (packs, "the wanted I/O load α", ("25", "100", "250", "1000", "2048"), _packs),
        (uniform, "the wanted I/O load α", ("100", "500", "1000", "10,000", "2048"), _uniform),
        (mira, "the mean part of the time that is I/O; α is above it", ("100", "500", "10", "100", "49,152"), _mira),
    )
    for kind, load, (fewest, most, shortest, longest, nodes), make in rows:
        _add(kind, "--load --alpha-gen", float, load, required=True)
        _add(kind, "--profile", str, "of the I/O: binormal, some low and some high, or normal (binormal)")
        if kind is mira:
            _add(kind, "--sigma", float, "standard deviation of the part that is I/O (0.1)")
            _add(kind, "--bandwidth", _bandwidth, "b that all nodes share (240 GB/s)")
        else:
            _add(kind, "--variance", float, "of the ratio of I/O to work (0.1)")
        _add(kind, "--fewest", int, f"the number of applications is drawn from this … ({fewest})")
        _add(kind, "--most", int, f"… to this ({most})")
        _add(kind, "--shortest", int, f"iterations are drawn from this … ({shortest})")
        _add(kind, "--longest", int, f"… to this ({longest})")
        _add(kind, "--nodes", int, f"P of the machine; larger applications are cut to it ({nodes})")
        _add_seed(kind)
        _add_output(kind)
        kind.set_defaults(run=run_measured, make=make)


def _configure_distributed(kinds: Any) -> None:
    sets = kinds.add_parser(
        "distributed",
        help="the application sets of 002 §V.C, for I/O nodes or OSTs",
        description="Applications with bandwidths by the number of I/O resources they use, on 24 nodes for each resource, "
        "for a wanted I/O load (002 §V.C).",
    )
    _add(sets, "--load --theta", float, "Θ, the wanted I/O load with one resource each; below K/N", required=True)
    _add(sets, "--applications", int, "K, how many applications (40)")
    _add(sets, "--resources", int, "N, how many I/O resources (20)")
    sets.add_argument(
        "--curves",
        metavar="io-nodes|osts|FILE",
        default="io-nodes",
        help="built-in curves of I/O nodes, a stand-in for those of OSTs, or a CSV file of measured profiles (io-nodes)",
    )
    sets.add_argument("--statistic", default="mean", help="of the runs in FILE: mean, median or best (mean)")
    _add_seed(sets)
    _add_output(sets)
    sets.set_defaults(run=run_noted, make=_distributed)


def _configure_lanl(kinds: Any) -> None:
    lanl = kinds.add_parser(
        "lanl",
        help="the checkpointing applications of 004 §7.1",
        description="Four LANL applications that compute and write checkpoints, on a machine like Intrepid: 96,000 cores, "
        "160 GB/s (004 §7.1, Table 1). They start first in, first out.",
    )
    _add(lanl, "--load", float, "the wanted I/O need: the bandwidth that checkpoints take at most, over B", required=True)
    _add(lanl, "--mtbf", float, "µ, mean time between failures of one core, in years (5)")
    _add(lanl, "--applications", int, "how many (30)")
    _add(lanl, "--walltimes", str, "printed, the row in Table 1, or apex, that of the APEX report (printed)")
    _add(lanl, "--variability", float, "the work between checkpoints varies by this part of it, 0 to 1 (0.15)")
    _add_seed(lanl)
    _add_output(lanl)
    lanl.set_defaults(run=run_measured, make=_lanl)


def _configure_swf(kinds: Any) -> None:
    swf = kinds.add_parser(
        "swf",
        help="the jobs of a trace in the Standard Workload Format",
        description="The jobs of a trace, each released when it was submitted. A trace says nothing of I/O: its part of the "
        "run time is drawn for each job, by default from N(0.1, 0.1²) truncated to [0, 0.9].",
    )
    swf.add_argument("trace", metavar="TRACE", help="the trace, plain or .gz")
    _add(swf, "--since --from", str, "begin: a date (2022-03-01, UTC) or a time after the first release (10d)")
    _add(swf, "--duration", _duration, "how much to take: 30d (all)")
    _add(swf, "--release", str, "submit, or start: when the job really started (submit)")
    _add(swf, "--nodes", int, "of the machine (MaxNodes, or MaxProcs over the cores of a node)")
    _add(swf, "--cores-per-node", int, "processors of a node (MaxProcs over MaxNodes, or 1)")
    _add(swf, "--iterations", int, "of each job (100)")
    _add(swf, "--io-fraction", float, "mean part of the run time that is I/O (0.1)")
    _add(swf, "--io-sigma", float, "its standard deviation (0.1)")
    _add(swf, "--io-most", float, "its upper end (0.9)")
    _add(swf, "--bandwidth", _bandwidth, "B (1: volumes are seconds of the link)")
    _add(swf, "--node-bandwidth", _bandwidth, "b of one node (a quarter of the nodes fill the link)")
    _add_seed(swf)
    _add_output(swf)
    swf.set_defaults(run=run_measured, make=_swf)


def _add(kind: argparse.ArgumentParser, names: str, type_: Callable[[str], Any], text: str, required: bool = False) -> None:
    """Add an option; what is not given keeps the default of the parameters, which the help tells."""
    kind.add_argument(*names.split(), type=type_, required=required, default=argparse.SUPPRESS, help=text)


def _add_output(kind: argparse.ArgumentParser) -> None:
    kind.add_argument(
        "-o", "--output", metavar="FILE", required=True, help="ends in .json, .yaml or .parquet; - for standard output"
    )


def _add_seed(kind: argparse.ArgumentParser) -> None:
    kind.add_argument("--seed", type=seed, default=1, help="the same seed makes the same workload (1)")


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    from penstock.model.files import write

    write(options.make(options), options.output)
    return 0


def run_noted(options: argparse.Namespace) -> int:
    """Write the workload and say what its maker notes."""
    workload, notes = options.make(options)
    _write_noted(workload, notes, options.output)
    return 0


def run_measured(options: argparse.Namespace) -> int:
    """Write the workload and say what its maker notes and what it is like."""
    from penstock.workloads import io_load, io_weight

    workload, notes = options.make(options)
    together = len({application.release for application in workload.applications}) == 1
    weight = f"I/O weight W {io_weight(workload):.3f}, " if together else ""
    measures = f"{len(workload.applications):,} applications: {weight}I/O load α {io_load(workload):.3f}"
    _write_noted(workload, [*notes, measures], options.output)
    return 0


def _write_noted(workload: Workload, notes: Iterable[str], output: str) -> None:
    from penstock.model.files import write

    write(workload, output)
    for note in notes:
        sys.stderr.write(f"{note}\n")


def run_apex(options: argparse.Namespace) -> int:
    """Write the windows and print what they are like on average."""
    from statistics import fmean

    from penstock.engine import dedicated
    from penstock.workloads import windows

    folder = _empty_of_windows(options.output)
    made = windows(options.workload, options.machine, options.seed, options.count)
    _write_all(made, folder, options.format)
    alone = [dedicated(window) for window in made]
    applications = fmean(len(window.applications) for window in made)
    seconds, pressure = fmean(run.end - run.begin for run in alone), fmean(run.pressure for run in alone)
    means = f"{applications:.1f} applications, {seconds:.0f} s, pressure {pressure:.3f}"
    print(f"{len(made)} windows in {folder}: on average {means}")
    return 0


def _empty_of_windows(name: str) -> Path:
    """The folder of that name, which need not exist; refused if it is none or holds a window."""
    from penstock.model import InputError

    folder = Path(name)
    if name == "-" or (folder.exists() and not folder.is_dir()):
        raise InputError(name, "is not a folder; expected a new or empty one for the windows")
    for held in sorted(folder.glob("window-*")):
        raise InputError(name, f"already holds {held.name}; expected a new or empty folder")
    return folder


def _write_all(windows: Sequence[Workload], folder: Path, suffix: str) -> None:
    """Write window-00, window-01, … into the folder, or none of them."""
    from penstock.model import InputError
    from penstock.model.files import write

    paths = [folder / f"window-{number:02}.{suffix}" for number in range(len(windows))]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for window, path in zip(windows, paths, strict=True):
            write(window, path)
    except OSError as error:
        raise InputError(str(folder), f"cannot be written: {error.strerror}") from None
    except BaseException:
        for path in paths:
            path.unlink(missing_ok=True)
        raise


def _demo(options: argparse.Namespace) -> Workload:
    from penstock.workloads import demo

    return demo(options.seed)


def _synthetic(options: argparse.Namespace) -> Workload:
    from penstock.workloads import Synthetic, synthetic

    small = options.applications // 3 if options.small is None else options.small
    names = ("pressure", "sigma", "noise", "horizon", "applications", "node_share", "largest")
    return synthetic(Synthetic(small=small, **{name: getattr(options, name) for name in names}), options.seed)


def _bicolored(options: argparse.Namespace) -> tuple[Workload, Iterable[str]]:
    from penstock.workloads import Bicolored, bicolored

    return bicolored(_parameters(Bicolored, options), options.seed), ()


def _jacobi(options: argparse.Namespace) -> tuple[Workload, Iterable[str]]:
    from penstock.workloads import Jacobi, jacobi

    return jacobi(_parameters(Jacobi, options)), ()


def _packs(options: argparse.Namespace) -> tuple[Workload, Iterable[str]]:
    from penstock.workloads import Packs, uniform

    return _drawn(uniform(_parameters(Packs, options), options.seed))


def _uniform(options: argparse.Namespace) -> tuple[Workload, Iterable[str]]:
    from penstock.workloads import Uniform, uniform

    return _drawn(uniform(_parameters(Uniform, options), options.seed))


def _mira(options: argparse.Namespace) -> tuple[Workload, Iterable[str]]:
    from penstock.workloads import Mira, mira

    return _drawn(mira(_parameters(Mira, options), options.seed))


def _lanl(options: argparse.Namespace) -> tuple[Workload, Iterable[str]]:
    from penstock.workloads import Lanl, lanl

    drawn = lanl(_parameters(Lanl, options), options.seed)
    return drawn.workload, (drawn.summary(),)


def _drawn(batch: Batch) -> tuple[Workload, Iterable[str]]:
    return batch.workload, (batch.summary(),)


def _distributed(options: argparse.Namespace) -> tuple[Workload, Iterable[str]]:
    from penstock.workloads import Distributed, curve_source, distributed
    from penstock.workloads.distributed import load_with_one

    parameters, curves = _parameters(Distributed, options), curve_source(options.curves, options.statistic)
    workload = distributed(parameters, curves, options.seed)
    sizes = f"{parameters.applications:,} applications, {parameters.resources:,} I/O resources"
    load = f"I/O load with one each {load_with_one(workload):.3f} (asked for {parameters.load:g} on average)"
    return workload, (f"curves: {curves.label}", f"{sizes}: {load}")


def _swf(options: argparse.Namespace) -> tuple[Workload, Iterable[str]]:
    from penstock.workloads import Swf, stream

    made = stream(options.trace, _parameters(Swf, options), options.seed)
    return made.workload, made.summary()


def _parameters(kind: type[Any], options: argparse.Namespace) -> Any:
    """The parameters of that class, from the options that were given."""
    return kind(**{field.name: getattr(options, field.name) for field in fields(kind) if hasattr(options, field.name)})


def _bandwidth(text: str) -> float:
    return _amount("bandwidth", text)


def _duration(text: str) -> float:
    return _amount("seconds", text)


def _amount(unit: str, text: str) -> float:
    from penstock.model import InputError, parse_units

    try:
        amount: float = getattr(parse_units, unit)(text, unit)
    except InputError as error:
        raise argparse.ArgumentTypeError(error.message) from None
    return amount
