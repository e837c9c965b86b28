"""Parse the command line, run the command, and turn errors into one line and an exit code.

Exit codes: 0 done, 1 a check did not hold, 2 wrong input, 130 interrupted. A command imports what it needs when it runs, so
that the help answers at once.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from penstock import __version__
from penstock.cli import (
    bound,
    buffer,
    campaign,
    compare,
    ctl,
    delta,
    generate,
    pack,
    place,
    policies,
    reproduce,
    serve,
    simulate,
    testbed,
    top,
    why,
)
from penstock.cli.parser import WRONG_INPUT, OneLineParser

COMMANDS = (
    simulate,
    compare,
    bound,
    pack,
    place,
    buffer,
    delta,
    policies,
    generate,
    campaign,
    serve,
    ctl,
    testbed,
    top,
    why,
    reproduce,
)
DONE, INTERRUPTED = 0, 130


def parser() -> OneLineParser:
    """The parser of all commands."""
    top = OneLineParser(
        prog="penstock",
        description="Study, plan and steer how applications share the I/O of an HPC machine.",
        epilog="Start with: penstock generate demo -o demo.json; penstock compare demo.json --html report.html",
    )
    top.add_argument("--version", action="version", version=f"penstock {__version__}")
    commands = top.add_subparsers(metavar="COMMAND", required=True, parser_class=OneLineParser)
    for command in COMMANDS:
        command.configure(commands)
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line.

    Args:
        arguments: The words after ``penstock``; None takes those of the process.

    Returns:
        The exit code.

    """
    options = parser().parse_args(arguments)
    try:
        code: int = options.run(options)
        sys.stdout.flush()
        return code
    except BrokenPipeError:  # the reader of our output has gone, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    except KeyboardInterrupt:
        sys.stderr.write("penstock: interrupted\n")
        return INTERRUPTED
    except MemoryError:
        sys.stderr.write("penstock: the workload does not fit into memory; expected a smaller one\n")
        return WRONG_INPUT
    except Exception as error:
        from penstock.live.client.errors import ClientError
        from penstock.model.errors import PenstockError

        if not isinstance(error, PenstockError | ClientError):
            raise
        sys.stderr.write(f"penstock: {_located(error, getattr(options, 'file', None))}\n")
        return WRONG_INPUT


def _located(error: Exception, file: str | None) -> Exception:
    """The error, with the name of the workload file in front if it is about a place in it."""
    from penstock.model.errors import InputError

    if file is None or not isinstance(error, InputError):
        return error
    return error.of_workload("standard input" if file == "-" else file)
