"""The parser of the command line: near names, defaults in the help, nothing heavy for the help of other commands."""

import argparse
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.cli.main import OneLineParser, main, parser

Capture = pytest.CaptureFixture[str]


def said(arguments: list[str], capsys: Capture) -> str:
    """The one line on standard error of a command line that is refused."""
    try:
        code: object = main(arguments)
    except SystemExit as exit_:  # the parser's own way out
        code = exit_.code
    captured = capsys.readouterr()
    assert code == 2
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    return captured.err


@pytest.mark.parametrize(
    ("arguments", "question"),
    [
        (["simulat", "w.json"], "argument COMMAND: invalid choice: 'simulat'; did you mean simulate? See penstock --help"),
        (["Compare", "w.json"], "invalid choice: 'Compare'; did you mean compare?"),
        (["generate", "synthetc", "-o", "-"], "argument KIND: invalid choice: 'synthetc'; did you mean synthetic?"),
        (
            ["generate", "synthetic", "--presure=1", "-o", "-"],
            "penstock generate synthetic: unrecognized arguments: --presure=1; did you mean --pressure? See",
        ),
        (["compare", "w.json", "--polcy", "fcfs"], "unrecognized arguments: --polcy fcfs; did you mean --policy?"),
        (["compare", "w.json", "--htlm", "a", "--jsn"], "--htlm a --jsn; did you mean --html --json?"),
        (["reproduce", "revisited"], "argument PAPER: invalid choice: 'revisited'; did you mean revisiting?"),
        (["reproduce", "dash", "--scale=quik"], "argument --scale: invalid choice: 'quik'; did you mean quick?"),
        (["ctl", "polcy"], "invalid choice: 'polcy'; did you mean policy?"),
        (["compare", "w.json", "--colour"], "unrecognized arguments: --colour; see penstock compare --help"),
        (["generate", "clay", "-o", "-"], "invalid choice: 'clay'; expected one of demo, synthetic, apex, bicolored"),
    ],
)
def test_a_name_that_is_nearly_right(arguments: list[str], question: str, capsys: Capture) -> None:
    assert question in said(arguments, capsys)


@pytest.mark.parametrize(
    ("policy", "answer"),
    [
        ("greedy-yeild", "or your own as module:name or ./file.py:name; did you mean greedy-yield?\n"),
        ("FCFS", "did you mean fcfs?"),
        ("set10", "did you mean set-10?"),
        ("periodic-greedy-yeild:delta=60", "did you mean periodic-greedy-yield?"),
        ("serialising", "did you mean serializing?"),
        ("best", "policy best: unknown; expected one of fair-share, fcfs, set-10"),
    ],
)
def test_a_policy_that_is_nearly_right(policy: str, answer: str, demo: Path, capsys: Capture) -> None:
    assert answer in said(["simulate", str(demo), "--policy", policy], capsys)


def commands(top: OneLineParser) -> Iterator[OneLineParser]:
    """The parser and all parsers below it."""
    top.complete()
    yield top
    for action in top._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                yield from commands(command)


def test_the_help_of_every_option_shows_its_default() -> None:
    shown = 0
    for command in commands(parser()):
        help_text = " ".join(command.format_help().split())
        for action in command._actions:
            if action.option_strings and action.nargs != 0 and action.default not in (None, argparse.SUPPRESS):
                text = str(command._get_formatter()._get_help_string(action))
                assert text.endswith(")"), f"{command.prog} {action.option_strings}: {text}"
                shown += "(default: %(default)s)" in text and f"(default: {action.default})" in help_text
    assert shown >= 10


def test_the_help_of_a_command_loads_nothing_heavy() -> None:
    check = (
        "import sys\nfrom penstock.cli.main import main\n"
        "try:\n    main(sys.argv[1:])\nexcept SystemExit:\n    pass\n"
        "print([name for name in ('numba', 'pyarrow', 'rich', 'yaml') if name in sys.modules])"
    )
    for arguments in (["--help"], ["simulate", "--help"], ["generate", "--help"], ["generate", "mira", "--help"]):
        ran = subprocess.run([sys.executable, "-c", check, *arguments], capture_output=True, text=True, check=True)
        assert ran.stdout.endswith("\n[]\n")
