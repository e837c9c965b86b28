"""``penstock generate KIND -o FILE``: workloads to start from."""

from __future__ import annotations

import argparse
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
        kind.add_argument("--seed", type=_seed, default=1, help="the same seed makes the same workload (1)")
        kind.add_argument(
            "-o", "--output", metavar="FILE", required=True, help="ends in .json, .yaml or .parquet; - for standard output"
        )


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    from penstock.model.files import write

    write(options.make(options), options.output)
    return 0


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
