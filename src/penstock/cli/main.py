"""Parse the command line, run the command, and turn errors into one line and an exit code.

Exit codes: 0 done, 1 a check did not hold, 2 wrong input, 130 interrupted. A command imports what it needs when it runs, so
that the help answers at once.

Errors suggest near names, and help texts show defaults.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import textwrap
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from penstock import __version__
from penstock.cli import (
    advise,
    bound,
    buffer,
    campaign,
    compare,
    ctl,
    delta,
    generate,
    groups,
    import_,
    machine,
    native,
    pack,
    place,
    policies,
    reproduce,
    run,
    serve,
    simulate,
    testbed,
    top,
    why,
)

WRONG_INPUT = 2
"""The exit code of a wrong command line."""


_PART = re.compile(r"\[(?:[^][]|\[[^]]*\])*\]|-\S+ [^\s[-]\S*|\S+")
"""What stays together in a usage: an option with its value, or what is in brackets."""


class _Help(argparse.HelpFormatter):
    """Adds the default to the help of an option, unless the text ends with words in parentheses that explain it.

    Lines are broken at spaces only, so that a name such as best-bdw stays whole, and fit a terminal of 60 columns.
    """

    def _get_help_string(self, action: argparse.Action) -> str | None:
        text = action.help
        silent = action.default is None or action.nargs == 0 or action.default in (argparse.SUPPRESS, [])
        if not text or silent or not action.option_strings:
            return text
        return text if text.endswith(")") else f"{text} (default: %(default)s)"

    def _split_lines(self, text: str, width: int) -> list[str]:
        return textwrap.wrap(" ".join(text.split()), width, break_long_words=False, break_on_hyphens=False)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return "\n".join(indent + line for line in self._split_lines(text, width - len(indent)))

    def _format_usage(self, usage: Any, actions: Any, groups: Any, prefix: str | None) -> str:
        if prefix is not None:  # argparse asks for the name of a command
            return super()._format_usage(usage, actions, groups, prefix)
        width, self._width = self._width, sys.maxsize
        line = super()._format_usage(usage, actions, groups, prefix).rstrip()
        self._width = width
        head = f"usage: {self._prog}"
        parts = _PART.findall(line.removeprefix(head))
        # Under the first option; where a long command leaves too little room for one, under the command.
        deep, flat = len(head) + 1, len("usage: ")
        indent = deep if deep + max(map(len, parts), default=0) <= width else flat
        lines = [head]
        for part in parts:
            if len(lines[-1]) + 1 + len(part) <= width:
                lines[-1] += f" {part}"
            else:
                lines.append(" " * indent + part)
        return "\n".join(lines) + "\n\n"


class OneLineParser(argparse.ArgumentParser):
    """Says what is wrong with a command line in one line, without the usage, and suggests the name that may be meant.

    `arguments` and `options` are those of argparse. `later`, if set, adds arguments the first time the parser is used. So
    the help of other commands loads nothing heavy.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **{"formatter_class": _Help, **options})
        self.later: Callable[[], None] | None = None

    def complete(self) -> None:
        """Add the arguments that are added when the parser is used."""
        if self.later is not None:
            add, self.later = self.later, None
            add()

    def error(self, message: str) -> NoReturn:
        """Write the `message` in one line, and exit with code 2."""
        see = " See" if message.endswith("?") else "; see"
        self.exit(WRONG_INPUT, f"{self.prog}: {message}{see} {self.prog} --help\n")

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """Parse the arguments; the parser of a command refuses unknown ones itself, as it knows its options.

        `args` are the words of the command line (None takes those of the process), `namespace` is where the values go.
        Returns the values, and no unknown words.
        """
        self.complete()
        parsed, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}{self._meant(unknown)}")
        return parsed, unknown

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            from penstock.model.errors import nearest

            names = list(map(str, action.choices))
            meant = nearest(str(value), names)
            instead = f"did you mean {meant}?" if meant else f"expected one of {', '.join(names)}"
            raise argparse.ArgumentError(action, f"invalid choice: {value!r}; {instead}")

    def _meant(self, unknown: Sequence[str]) -> str:
        """The options that the unknown ones may stand for."""
        from penstock.model.errors import nearest

        known = [name for name in self._option_string_actions if name.startswith("--")]
        options = (word.partition("=")[0] for word in unknown if word.startswith("--"))
        meant = [match for match in (nearest(option, known) for option in options) if match]
        return f"; did you mean {' '.join(meant)}?" if meant else ""


COMMANDS = {
    "simulate": simulate,
    "compare": compare,
    "bound": bound,
    "machine": machine,
    "advise": advise,
    "pack": pack,
    "place": place,
    "buffer": buffer,
    "groups": groups,
    "delta": delta,
    "policies": policies,
    "generate": generate,
    "import": import_,
    "campaign": campaign,
    "run": run,
    "serve": serve,
    "ctl": ctl,
    "native": native,
    "testbed": testbed,
    "top": top,
    "why": why,
    "reproduce": reproduce,
}
DONE, INTERRUPTED = 0, 130


def parser(command: str | None = None) -> OneLineParser:
    """The parser of all commands, or of one `command` alone: declaring the options of all takes 8 ms of every start."""
    top = OneLineParser(
        prog="penstock",
        description="Study, plan and steer how applications share the I/O of an HPC machine.",
        epilog="Start with: penstock generate demo -o demo.json; penstock compare demo.json --html report.html",
    )
    top.add_argument("--version", action="version", version=f"penstock {__version__}")
    commands = top.add_subparsers(metavar="COMMAND", required=True, parser_class=OneLineParser)
    for module in COMMANDS.values() if command is None else [COMMANDS[command]]:
        module.configure(commands)
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line.

    Args:
        arguments: The words after ``penstock``; None takes those of the process.

    Returns:
        The exit code.

    """
    words = sys.argv[1:] if arguments is None else arguments
    options = parser(words[0] if words and words[0] in COMMANDS else None).parse_args(words)
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
