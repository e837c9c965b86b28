"""The commands as a user calls them: results on standard output, one line on standard error when something is wrong."""

import json
import os
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import pytest
from rich.console import Console

from penstock import __version__, read, simulate
from penstock.cli.main import main
from penstock.policies import REGISTRY, expand
from penstock.policies.policy import SHARING

Capture = pytest.CaptureFixture[str]


def test_simulate_prints_the_documented_json(demo: Path, capsys: Capture) -> None:
    assert main(["simulate", str(demo), "--policy", "greedy-yield", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    documented = {
        "policy",
        "min_yield",
        "efficiency",
        "utilization",
        "pressure",
        "makespan",
        "events",
        "seconds",
        "applications",
    }
    assert documented <= set(document)
    assert {"name", "end", "yield", "stretch", "progress", "transferred"} <= set(document["applications"][0])
    result = simulate(read(demo), "greedy-yield")
    assert document["min_yield"] == result.min_yield
    assert document["applications"][3]["transferred"] == result.applications[3].transferred
    assert document["makespan"] is None
    assert {application["end"] for application in document["applications"]} == {None}


def test_simulate_prints_tables(demo: Path, capsys: Capture) -> None:
    assert main(["simulate", str(demo)]) == 0
    out = capsys.readouterr().out
    assert "checkpoint-0" in out
    assert "fair-share" in out


def test_compare_runs_the_policies_that_share_or_a_family(demo: Path, capsys: Capture) -> None:
    assert main(["compare", str(demo), "--json"]) == 0
    runs = json.loads(capsys.readouterr().out)["runs"]
    assert [run["policy"] for run in runs] == expand(["sharing"])
    assert main(["compare", str(demo), "--policy", "exclusive", "static"]) == 0
    out = capsys.readouterr().out
    assert "fair-share (baseline)" in out
    others = {name: policy for name, policy in REGISTRY.items() if name not in ("fcfs", "fair-share")}
    assert all((name in out) == (policy.family != SHARING) for name, policy in others.items())


@pytest.mark.parametrize(
    "arguments",
    [
        ["{}", "--policy", "fcfs", "greedy-com"],
        ["{}", "--policy", "fcfs", "--policy", "greedy-com"],
        ["--policy", "fcfs", "greedy-com", "{}"],
    ],
)
def test_compare_runs_the_named_policies(demo: Path, capsys: Capture, arguments: list[str]) -> None:
    assert main(["compare", *(argument.format(demo) for argument in arguments), "--json"]) == 0
    assert [run["policy"] for run in json.loads(capsys.readouterr().out)["runs"]] == ["fcfs", "greedy-com"]


def test_results_go_to_files(demo: Path, tmp_path: Path, capsys: Capture) -> None:
    out, report = tmp_path / "out.json", tmp_path / "report.html"
    assert main(["compare", str(demo), "--policy", "fcfs", "-o", str(out), "--html", str(report)]) == 0
    captured = capsys.readouterr()
    assert captured.out == ""
    assert str(report) in captured.err
    assert json.loads(out.read_text())["runs"][0]["policy"] == "fcfs"
    assert report.read_text().startswith("<!DOCTYPE html>")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.json", "report.html"]


def test_policies_lists_what_each_must_know(capsys: Capture) -> None:
    assert main(["policies"]) == 0
    table = capsys.readouterr().out
    assert all(name in table for name in REGISTRY)
    assert main(["policies", "--json"]) == 0
    policies = {policy["name"]: policy for policy in json.loads(capsys.readouterr().out)["policies"]}
    assert policies["fair-share"]["needs"] == []
    assert policies["set-10"]["needs"] == ["posting time", "iteration length"]


def test_policies_shows_their_parameters(capsys: Capture) -> None:
    assert main(["policies"]) == 0
    table = capsys.readouterr().out
    assert "c = 2: how much the length" in table
    assert "delta: time between decisions" in table
    assert main(["policies", "--json"]) == 0
    parameters = {policy["name"]: policy["parameter"] for policy in json.loads(capsys.readouterr().out)["policies"]}
    assert parameters["fcfs"] is None
    assert parameters["periodic-greedy-yield"]["key"] == "delta"
    assert parameters["periodic-greedy-yield"]["default"] is None
    for name, policy in REGISTRY.items():
        if policy.parameter and not policy.parameter.choices:
            fields = asdict(policy.parameter)
            assert parameters[name] == {key: fields[key] for key in ("key", "default", "meaning")}
    assert parameters["coordinating"]["default"] == parameters["coordinating"]["choices"][0] == "cpu-seconds"
    assert "metric = cpu-seconds:" in table
    assert table.count("delta: time between") == sum(policy.periodic for policy in REGISTRY.values())


def test_names_of_policies_are_whole_on_a_narrow_terminal(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.cli.policies.console", lambda: Console(width=80))
    assert main(["policies"]) == 0
    out = capsys.readouterr().out
    assert all(f"\n{name} " in out for name in REGISTRY)


@pytest.mark.parametrize("suffix", ["json", "yaml", "parquet"])
def test_generate_synthetic(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"w.{suffix}"
    options = ["--pressure=0.8", "--small=10", "--sigma=0.1", "--noise=0.2", "--horizon=200000", "--seed=7"]
    assert main(["generate", "synthetic", *options, "-o", str(path)]) == 0
    workload = read(path)
    assert len(workload.applications) == 60
    assert sum(application.name.startswith("small") for application in workload.applications) == 10
    assert sum(application.name.startswith("big") for application in workload.applications) == 30


def test_generate_to_standard_output(capsys: Capture) -> None:
    assert main(["generate", "demo", "-o", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["penstock"] == 1


def test_an_application_that_ends_inside_the_window_is_allowed_and_said(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "w.json"
    path.write_text(
        '{"penstock": 1, "platform": {"bandwidth": 1}, "window": [0, 100], "applications": ['
        '{"name": "short", "phases": [["work", 3], ["io", 1]]}, {"name": "long", "phases": [["work", 500]]}]}'
    )
    assert main(["simulate", str(path), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["ended_early"] == ["short"]
    assert [application["end"] for application in document["applications"]] == [4.0, None]
    assert main(["simulate", str(path)]) == 0
    assert "note: 1 of 2 applications ended inside the window (short)" in capsys.readouterr().out


def test_a_policy_of_the_users_own(demo: Path, tmp_path: Path, capsys: Capture) -> None:
    mine = tmp_path / "mine.py"
    mine.write_text(
        "def equal(view, rates):\n"
        "    for i in range(len(rates)):\n"
        "        rates[i] = min(view.cap[i], view.bandwidth / len(rates))\n"
    )
    assert main(["simulate", str(demo), "--policy", f"{mine}:equal", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["policy"] == f"{mine}:equal"


def wrong_lines(demo: Path, folder: Path) -> list[tuple[list[str], str]]:
    """Command lines that are wrong, each with what its one line must say."""
    empty, cut = folder / "empty.json", folder / "cut.json"
    empty.write_text('{"penstock": 1, "platform": {"bandwidth": 1}, "applications": []}')
    cut.write_text(demo.read_text()[:300])
    faulty = folder / "faulty.py"
    faulty.write_text("def greedy(view, rates):\n    rates[:] = view.bandwidth\n")
    nowhere = str(folder / "nowhere" / "out.json")
    return [
        (["simulate", str(demo), "--policy", "best"], "policy best: unknown; expected one of fair-share, fcfs, set-10"),
        (["simulate", str(demo), "--policy", "fcfs:delta=3"], "policy fcfs: unknown parameter 'delta'; it has none"),
        (["simulate", str(demo), "--policy", "periodic-greedy-yield:delta=0"], "expected seconds above 0"),
        (["simulate", str(demo), "--policy", f"{faulty}:greedy"], f"policy {faulty}:greedy: at "),
        (["simulate", str(demo), "--policy", f"{folder}/none.py:f"], "there is no file"),
        (["simulate", str(folder)], "is a directory; expected a workload file"),
        (["simulate", str(folder / "missing.json")], "No such file or directory"),
        (["simulate", str(empty)], "the workload is empty"),
        (["compare", str(cut)], "the file is not JSON or ends too early"),
        (["compare"], "the following arguments are required: FILE"),
        (["bound"], "the following arguments are required: FILE"),
        (["bound", str(cut)], "the file is not JSON or ends too early"),
        (["bound", str(demo), "-o", nowhere], "cannot be written: No such file or directory"),
        (["bound", str(demo), "--pieces", "0"], "--pieces: '0' is not a number of pieces; expected a whole number from 1"),
        (["bound", str(demo), "--pieces", "2.5"], "--pieces: '2.5' is not a number of pieces; expected a whole number"),
        (["bound", str(demo), "--pieces", "1e20"], "--pieces: '1e20' is not a number of pieces; expected a whole number"),
        (["bound", str(demo), "--pieces", "99999"], "'99999' is not a number of pieces; expected a whole number from 1 to"),
        (["compare", str(demo), "--colour"], "unrecognized arguments: --colour"),
        (["compare", str(demo), "--policy", "fcfs", "-o", nowhere], "cannot be written: No such file or directory"),
        (["compare", str(demo), "--policy", "fcfs", "--html", nowhere], "cannot be written: No such file or directory"),
        (["generate", "synthetic", "-o", str(folder / "w.csv")], "cannot tell the format from '.csv'"),
        (["generate", "synthetic", "--pressure", "-1", "-o", "-"], "pressure: -1.0 is out of range"),
        (["generate", "synthetic", "--pressure", "nan", "-o", "-"], "pressure: nan is out of range"),
        (["generate", "synthetic", "--small", "50", "-o", "-"], "small: 50 is out of range; expected 0 to 40"),
        (["generate", "synthetic", "--noise", "2", "-o", "-"], "noise: 2.0 is out of range; expected a number from 0 to 1"),
        (["generate", "synthetic", "--seed", "x", "-o", "-"], "'x' is not a seed; expected a whole number, 0 or more"),
        (["generate", "clay", "-o", "-"], "invalid choice: 'clay'"),
        (["fly"], "invalid choice: 'fly'"),
        ([], "the following arguments are required: COMMAND"),
    ]


@pytest.mark.parametrize("number", range(29))
def test_what_is_wrong_is_said_in_one_line(demo: Path, tmp_path: Path, capsys: Capture, number: int) -> None:
    cases = wrong_lines(demo, tmp_path)
    assert len(cases) == 29
    arguments, message = cases[number]
    before = sorted(tmp_path.iterdir())
    try:
        code: object = main(arguments)
    except SystemExit as exit_:  # the parser's own way out
        code = exit_.code
    captured = capsys.readouterr()
    assert code == 2
    assert message in captured.err
    said = [line for line in captured.err.splitlines() if "compiling" not in line]
    assert len(said) == 1
    assert "Traceback" not in captured.err
    assert sorted(tmp_path.iterdir()) == before or f"{tmp_path}/__pycache__" in map(str, tmp_path.iterdir())


def run(*arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "penstock", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, **options)  # type: ignore[call-overload,no-any-return]


def test_the_help_loads_nothing_heavy() -> None:
    check = (
        "import sys\nfrom penstock.cli.main import parser\nparser().format_help()\n"
        "print([name for name in ('numba', 'numpy', 'pyarrow', 'rich', 'yaml') if name in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_the_command_in_a_process_of_its_own(demo: Path) -> None:
    assert run("--version").stdout == f"penstock {__version__}\n"
    with demo.open() as file:
        finished = run("simulate", "-", "--json", stdin=file)
    assert finished.returncode == 0
    assert json.loads(finished.stdout)["policy"] == "fair-share"


def test_a_reader_that_leaves_is_no_error(demo: Path) -> None:
    command = f"{sys.executable} -m penstock compare {demo} --json | head -c 10"
    finished = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=300, check=False)
    assert not [line for line in finished.stderr.splitlines() if "compiling" not in line]


def compiled(*arguments: str, cache: Path) -> tuple[list[str], dict[str, object]]:
    """What a run with that cache says, and the results it prints."""
    if os.environ.get("NUMBA_DISABLE_JIT", "0") != "0":
        pytest.skip("nothing is compiled with NUMBA_DISABLE_JIT")
    finished = run(*arguments, "--json", env={**os.environ, "PENSTOCK_CACHE_DIR": str(cache)})
    assert finished.returncode == 0, finished.stderr
    return finished.stderr.splitlines(), {**json.loads(finished.stdout), "seconds": 0}


def test_a_run_says_what_it_compiles_and_the_next_one_has_nothing_to_say(demo: Path, tmp_path: Path) -> None:
    first, results = compiled("simulate", str(demo), "--policy", "greedy-yield", cache=tmp_path)
    once = "for this machine (first run only) …"
    assert f"penstock: compiling the simulation engine {once}" in first
    assert f"penstock: compiling the policy greedy-yield {once}" in first
    assert all(line.startswith("penstock: compiling ") and line.endswith(once) for line in first)
    assert len(set(first)) == len(first)
    again, same = compiled("simulate", str(demo), "--policy", "greedy-yield", cache=tmp_path)
    assert again == []
    assert same == results
    # Another policy is compiled by itself: the engine is there.
    other, _ = compiled("simulate", str(demo), "--policy", "greedy-com", cache=tmp_path)
    assert other == [f"penstock: compiling the policy greedy-com {once}"]
