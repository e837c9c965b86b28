"""``penstock generate KIND -o OUT``: workloads to start from."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from penstock.model import Workload


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
    synthetic.set_defaults(run=run, make=_synthetic)
    for kind in (demo, synthetic):
        _add_seed(kind)
        kind.add_argument(
            "-o", "--output", metavar="FILE", required=True, help="ends in .json, .yaml or .parquet; - for standard output"
        )
    _configure_apex(kinds)


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


def _add_seed(kind: argparse.ArgumentParser) -> None:
    kind.add_argument("--seed", type=_seed, default=1, help="the same seed makes the same workload (1)")


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    from penstock.model.files import write

    write(options.make(options), options.output)
    return 0


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
    parameters = Synthetic(options.pressure, small, options.sigma, options.noise, options.horizon, options.applications)
    return synthetic(parameters, options.seed)


def _seed(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a seed; expected a whole number, 0 or more")
    return int(text)
