"""``penstock generate KIND -o OUT``: make workloads. Kinds and options come from `penstock.workloads.generators`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.cli.output import say, seed

if TYPE_CHECKING:
    from penstock.model import Workload
    from penstock.workloads.generators import Generator
    from penstock.workloads.parameters import GeneratorParameter


def configure(commands: Any) -> None:
    """Add the command to `commands`, the subparsers of ``penstock``. Its kinds are declared when it is used: they load
    numpy.
    """
    command = commands.add_parser(
        "generate", help="make a workload file", description="Make a workload of one of these kinds and write it to a file."
    )
    command.later = lambda: _add_kinds(command)


def _add_kinds(command: argparse.ArgumentParser) -> None:
    from penstock.workloads.generators import GENERATORS

    kinds = command.add_subparsers(metavar="KIND", required=True)
    for name, generator in GENERATORS.items():
        kind = kinds.add_parser(name, help=generator.summary, description=generator.description)
        _add_options(kind, generator)
        kind.set_defaults(run=run_several if generator.several else run, kind=name)


def _add_options(kind: argparse.ArgumentParser, generator: Generator) -> None:
    """Add an option for each parameter, the seed if something is drawn, and the output."""
    add_parameters(kind, generator)
    if generator.several:
        kind.add_argument("--format", choices=("json", "yaml", "parquet"), default="json", help="format of the files")
    folder = "a folder for window-00.json, …; it must not hold windows yet"
    file = "ends in .json, .yaml or .parquet; - for standard output"
    metavar, text = ("DIR", folder) if generator.several else ("FILE", file)
    kind.add_argument("-o", "--output", metavar=metavar, required=True, help=text)


def add_parameters(kind: argparse.ArgumentParser, generator: Generator) -> None:
    """Add to the parser of a `kind` an option for each parameter of the `generator`, and the seed if something is drawn."""
    from penstock.workloads.parameters import parameters_of

    for parameter in parameters_of(generator.parameters):
        if parameter.name == "path":
            kind.add_argument("path", metavar=parameter.metavar, help=parameter.help)
        else:
            _add_option(kind, parameter)
    if generator.seeded:
        kind.add_argument("--seed", type=seed, default=1, help="the same seed makes the same workload")


def _add_option(kind: argparse.ArgumentParser, parameter: GeneratorParameter) -> None:
    kind.add_argument(
        *parameter.options,
        type=_converter(parameter),
        required=parameter.required,
        default=argparse.SUPPRESS,
        metavar=parameter.metavar,
        help=parameter.text.replace("%", "%%"),
    )


def _converter(parameter: GeneratorParameter) -> Callable[[str], Any]:
    """The conversion of a word of the command line to the parameter."""
    from penstock.model import InputError

    def convert(text: str) -> Any:
        try:
            return parameter.convert_text(text)
        except InputError as error:
            raise argparse.ArgumentTypeError(error.message) from None

    return convert


def run(options: argparse.Namespace) -> int:
    """Write the workload, and on standard error what its generator says about it.

    `options` are those of the command line. Returns the exit code.
    """
    from penstock.api.generating import generate
    from penstock.api.paths import check_output
    from penstock.model.files import SUFFIXES, write

    check_output(options.output, SUFFIXES)
    said: list[str] = []
    workload = generate(options.kind, say=said.append, **given(options, options.kind))
    write(workload, options.output)
    for line in said:
        say(line, sys.stderr)
    return 0


def run_several(options: argparse.Namespace) -> int:
    """Write the windows and print what they are like on average.

    `options` are those of the command line. Returns the exit code.
    """
    from statistics import fmean

    from penstock.api.generating import generate
    from penstock.engine import dedicated

    folder = _empty_of_windows(options.output)
    made: Sequence[Workload] = generate(options.kind, **given(options, options.kind))
    _write_all(made, folder, options.format)
    alone = [dedicated(window) for window in made]
    applications = fmean(len(window.applications) for window in made)
    seconds, pressure = fmean(run.end - run.begin for run in alone), fmean(run.pressure for run in alone)
    means = f"{applications:.1f} applications, {seconds:.0f} s, pressure {pressure:.3f}"
    say(f"{len(made)} windows in {folder}: on average {means}")
    return 0


def given(options: argparse.Namespace, kind: str) -> dict[str, Any]:
    """The seed and the parameters of the generator of that `kind` that are among the `options`, by name."""
    from penstock.workloads.generators import GENERATORS
    from penstock.workloads.parameters import parameters_of

    names = ["seed", *(parameter.name for parameter in parameters_of(GENERATORS[kind].parameters))]
    return {name: getattr(options, name) for name in names if hasattr(options, name)}


def _empty_of_windows(name: str) -> Path:
    """The folder of that name, which need not exist; it is refused if it is a file or holds a window."""
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
