"""Live applications on a test bed beside the simulation."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from penstock.cli.main import main
from penstock.model import InputError
from penstock.testbed import live_runs, processes, system
from penstock.testbed.bed import Bed
from penstock.testbed.live_runs import UNCOORDINATED, LiveDelta, live_delta, run_pair
from penstock.theory.interference import Pair, Writer, expected_interference

MIB = 2**20
B = 40.0 * MIB
ATTEMPTS = 3
Capture = pytest.CaptureFixture[str]


def soon(measured: Callable[[], np.ndarray], part: float) -> None:
    """Ratios to what is expected are within `part` of 1, in one of a few attempts: others may use the machine too."""
    seen = []
    for _ in range(ATTEMPTS):
        seen.append(measured())
        if np.all(np.abs(seen[-1] - 1.0) <= part):
            return
    pytest.fail(f"not within {part:.0%}: {seen}")


def python(folder: Path, text: str) -> list[str]:
    """The command of an application in Python."""
    path = folder / "application.py"
    path.write_text("import os, sys, time\n" + text)
    return [sys.executable, str(path)]


def nothing_left(bed: Bed) -> bool:
    """No process and no file of an application is there any more."""
    return not system.members(Path(bed.state.group)) and [one.name for one in bed.directory.iterdir()] == ["lost+found"]


def until(condition: Callable[[], bool], seconds: float = 30.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def coordinators(folder: Path) -> list[str]:
    """The processes whose socket is in the folder."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            words = (process / "cmdline").read_bytes().decode(errors="replace").split("\0")
            if "serve" in words and any(word.startswith(str(folder)) for word in words):
                found.append(process.name)
    return found


class TestComparison:
    """Numbers beside numbers."""

    PAIR = Pair(Writer(2.0), Writer(1.0), 1.0)

    def graph(self) -> LiveDelta:
        """Two dt, three repetitions."""
        runs = np.array([[[2.0, 6.0], [1.9, 9.0], [7.0, 5.0]], [[4.0, 3.0]] * 3])
        seen = np.array([[0.0, 0.01, 0.0], [1.01, 1.0, 1.0]])
        simulated = np.array([[2.0, 3.0], [8.0, 3.0]])
        dts = np.array([0.0, 1.0])
        return LiveDelta(self.PAIR, dts, {"serializing": runs}, {"serializing": seen}, {"serializing": simulated})

    def test_ratios_and_their_geometric_mean(self) -> None:
        graph = self.graph()
        assert graph.ratios["serializing"].tolist() == [[1.0, 2.0], [0.5, 1.0]]
        assert graph.means["serializing"] == pytest.approx(1.0)  # (1 · 2 · ½ · 1)^¼

    def test_json(self) -> None:
        document = json.loads(json.dumps(self.graph().to_dict()))
        assert document["dt"] == [0.0, 1.0]
        (row,) = document["strategies"].values()
        assert row["io_time"] == {"A": [2.0, 4.0], "B": [6.0, 3.0]}
        assert row["ratio"] == {"A": [1.0, 0.5], "B": [2.0, 1.0]}
        assert row["runs"]["dt"] == [[0.0, 0.01, 0.0], [1.01, 1.0, 1.0]]
        assert row["runs"]["B"] == [[6.0, 9.0, 5.0], [3.0, 3.0, 3.0]]

    def test_how_long_it_takes(self) -> None:
        # A and B together move 3 s of the link, whoever waits, from the first posting on; the coordinator starts once.
        once = 3.0 + live_runs.START_SECONDS
        assert live_runs.expected_seconds(self.PAIR, [0.5], [UNCOORDINATED]) == pytest.approx(once)
        both = live_runs.expected_seconds(self.PAIR, [0.5], [UNCOORDINATED, "serializing"])
        assert both == pytest.approx(2.0 * once + live_runs.SERVE_SECONDS)
        again = live_runs.expected_seconds(self.PAIR, [0.5], [UNCOORDINATED, "serializing"], repeat=3)
        assert again == pytest.approx(6.0 * once + live_runs.SERVE_SECONDS)
        apart = live_runs.expected_seconds(self.PAIR, [-4.0], [UNCOORDINATED])
        assert apart == pytest.approx(4.0 + 2.0 + live_runs.START_SECONDS)


def test_two_applications_share_the_device(bed: Bed) -> None:
    """40 and 80 MiB that begin together end at 2 and 3 s under processor sharing."""
    pair = live_runs.fitting(Pair(Writer(40 * MIB, rounds=4), Writer(80 * MIB, rounds=8)), bed)
    expected = np.array(expected_interference(pair, 0.0))
    assert expected.tolist() == [2.0, 3.0]

    def measured() -> np.ndarray:
        both = run_pair(bed, pair, 0.0)
        return np.array([one.ended - one.posted for one in both]) / expected

    soon(measured, 0.15)
    assert nothing_left(bed)


@pytest.mark.parametrize("strategy", live_runs.LIVE_STRATEGIES)
def test_a_point_of_each_strategy(strategy: str, bed: Bed) -> None:
    """A writes for 1.2 s, in rounds of 0.2 s, B for 0.4 s; B comes in the middle of a round of A."""
    pair = live_runs.fitting(Pair(Writer(48 * MIB, rounds=6), Writer(16 * MIB, rounds=2)), bed)
    soon(lambda: live_delta(bed, pair, [0.3], [strategy]).ratios[strategy], 0.25)
    assert nothing_left(bed)


def test_nodes_and_caps(bed: Bed) -> None:
    """Three threads against one share the device three to one; one with a cap of a quarter leaves the rest."""
    many = live_runs.fitting(Pair(Writer(30 * MIB, 3, 1), Writer(20 * MIB, 1, 2)), bed)
    capped = live_runs.fitting(Pair(Writer(10 * MIB, rounds=2, bandwidth=B / 4), Writer(30 * MIB, rounds=3)), bed)
    assert expected_interference(many, 0.0) == pytest.approx((1.0, 1.25))
    assert expected_interference(capped, 0.0) == pytest.approx((1.0, 1.0))
    for pair in (many, capped):
        soon(lambda pair=pair: live_delta(bed, pair, [0.0], [UNCOORDINATED]).ratios[UNCOORDINATED], 0.25)


def test_an_mpi_program(bed: Bed) -> None:
    """Two MPI jobs of two ranks, serialized: the program of an application is exchangeable."""
    mpiexec = Path(sys.executable).with_name("mpiexec")
    try:
        import mpi4py  # noqa: F401
    except ImportError:
        mpiexec = Path("none")
    if not mpiexec.exists():
        if "PENSTOCK_REQUIRE_ALL" in os.environ:
            pytest.fail("needs mpi4py and mpich")
        pytest.skip("needs mpi4py and mpich")
    pair = live_runs.fitting(Pair(Writer(32 * MIB, 2, 4), Writer(16 * MIB, 2, 2)), bed)
    application = Path(__file__).with_name("mpi_application.py")
    program = [str(mpiexec), "-n", processes.NODES, sys.executable, str(application)]
    soon(lambda: live_delta(bed, pair, [0.3], ["serializing"], program=program).ratios["serializing"], 0.25)
    assert nothing_left(bed)


class TestFailures:
    """One line, and nothing is left."""

    PAIR = Pair(Writer(8 * MIB, rounds=2), Writer(8 * MIB, rounds=2), B)

    def fails(self, bed: Bed, message: str, program: list[str], patience: float = 30.0) -> None:
        with pytest.raises(InputError) as caught:
            run_pair(bed, self.PAIR, 0.0, program=program, patience=patience)
        assert message in str(caught.value)
        assert "\n" not in str(caught.value)
        assert nothing_left(bed)

    def test_one_is_killed_while_it_writes(self, bed: Bed, tmp_path: Path) -> None:
        text = """
import json
from penstock.testbed import writer
task = writer.WriterTask(**json.loads(os.environ["PENSTOCK_TASK"]))
if task.name == "A":
    import threading
    threading.Timer(0.3, lambda: os.kill(os.getpid(), 9)).start()
print(json.dumps(writer.perform(task)))
"""
        # B is at work when A dies; a long B would be waited for if only its own end were looked at.
        message = "application A: ended without a report (killed by signal 9)"
        pair = Pair(Writer(32 * MIB, rounds=2), Writer(64 * MIB, rounds=2), B)
        with processes.serving("serializing", pair.bandwidth) as socket, pytest.raises(InputError) as caught:
            run_pair(bed, pair, 0.0, socket=socket, program=python(tmp_path, text))
        assert str(caught.value) == message
        assert nothing_left(bed)

    def test_one_says_why_it_fails(self, bed: Bed, tmp_path: Path) -> None:
        self.fails(bed, "(code 1): out of luck", python(tmp_path, "print('x', file=sys.stderr)\nsys.exit('out of luck')"))

    def test_one_says_something_else(self, bed: Bed, tmp_path: Path) -> None:
        self.fails(bed, "application A: wrote 'hello' instead of 'ready'", python(tmp_path, "print('hello')"))
        text = "print('ready', flush=True)\nsys.stdin.readline()\nprint('[1]')"
        self.fails(bed, "wrote '[1]' instead of its report", python(tmp_path, text))
        text = """print('ready', flush=True)\nsys.stdin.readline()\nprint('{"posted": 2, "ended": 1}')"""
        self.fails(bed, "reported", python(tmp_path, text))

    def test_one_hangs(self, bed: Bed, tmp_path: Path) -> None:
        self.fails(bed, "application A: is silent", python(tmp_path, "time.sleep(60)"), patience=0.5)

    def test_no_such_program(self, bed: Bed) -> None:
        self.fails(bed, "application A: ended without a report (code 127)", ["/nowhere/program"])

    def test_two_of_one_name(self, bed: Bed) -> None:
        with pytest.raises(InputError, match="both applications are called 'A'; expected two names"):
            run_pair(bed, self.PAIR, 0.0, names=("A", "A"))

    def test_a_device_that_fills_up(self, bed: Bed) -> None:
        full = Pair(Writer(100 * MIB, rounds=1), Writer(100 * MIB, rounds=1), B)
        with pytest.raises(InputError, match="is too full: A and B write"):
            live_runs.fitting(full, bed)
        with pytest.raises(InputError, match=r"application [AB]: .*No space left on device"):
            run_pair(bed, full, 0.0)
        assert nothing_left(bed)

    def test_a_coordinator_that_does_not_start(self) -> None:
        with (
            pytest.raises(InputError, match=r"penstock serve: did not start: .*policy none: unknown"),
            processes.serving("none", self.PAIR.bandwidth),
        ):
            pass


class TestCommand:
    """``penstock delta --live``."""

    def test_live_beside_simulated(self, bed: Bed, tmp_path: Path, capsys: Capture) -> None:
        at = ["delta", "--live", str(bed.directory), "--volume", "16MiB", "8MiB", "--rounds", "4", "2"]
        chosen = ["--strategy", UNCOORDINATED, "fcfs", "--dt", "0.15", "0.15", "--points", "1"]
        plot, out = tmp_path / "live.svg", tmp_path / "live.json"
        assert main([*at, *chosen, "--plot", str(plot), "-o", str(out)]) == 0
        said = capsys.readouterr().err
        assert "2 live runs, about" in said
        document = json.loads(out.read_text())
        assert list(document["strategies"]) == ["interfering", "fcfs"]
        assert list(document["live"]["strategies"]) == [UNCOORDINATED, "fcfs"]
        fcfs = document["live"]["strategies"]["fcfs"]
        assert fcfs["simulated"] == {"A": [pytest.approx(0.4)], "B": [pytest.approx(0.45)]}
        assert fcfs["io_time"]["A"][0] / 0.4 == fcfs["ratio"]["A"][0]
        assert "live without a coordinator, A" in plot.read_text()
        assert nothing_left(bed)

    def test_the_table(self, bed: Bed, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
        at = ["delta", "--live", str(bed.directory), "--volume", "4MiB", "4MiB", "--strategy", UNCOORDINATED]
        assert main([*at, "--dt", "0", "0.1", "--points", "2", "--repeat", "2"]) == 0
        shown = capsys.readouterr()
        assert "uncoordinated: dt = 0.1 s …" in shown.err
        lines = shown.out.splitlines()
        assert lines[0].split() == ["strategy", "┃", "dt"] + [
            word for member in "AB" for kind in ("live", "simulated", "ratio") for word in ("┃", member, kind)
        ]
        assert len([line for line in lines if line.startswith(UNCOORDINATED)]) == 2
        assert lines[-1].startswith("geometric means: uncoordinated ")

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            (["--dt", "3", "1"], "dt: from 3 to 1 s is no range"),
            (["--repeat", "0"], "repeat: 0 is not a number of repetitions"),
            (["--points", "0"], "points: 0 points; expected 1 to"),
            (["--bandwidth", "1 GB/s"], "bandwidth: the test bed has its own"),
            (["--rounds", "0", "2"], "A.rounds: none; expected 1 or more"),
            (["--volume", "1 GB", "1 GB"], "is too full: A and B write"),
            (["--strategy", "politely"], "policy politely: unknown"),
            (["--program", "a 'b"], 'program: "a \'b" is no command: No closing quotation'),
            (["--program", ""], "program: is empty; expected a command"),
            (["--program", "false"], "application A: ended without a report (code 1)"),
        ],
    )
    def test_wrong_input(self, options: list[str], message: str, bed: Bed, capsys: Capture) -> None:
        assert main(["delta", "--live", str(bed.directory), *options]) == 2
        (line,) = [line for line in capsys.readouterr().err.splitlines() if not line.startswith("penstock delta:")]
        assert message in line
        assert nothing_left(bed)

    @pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
    def test_ended_by_a_signal(self, number: int, bed: Bed, tmp_path: Path) -> None:
        chosen = ["--strategy", "serializing", "--dt", "0.1", "0.1", "--points", "1", "--volume", "100MiB", "16MiB"]
        command = [sys.executable, "-m", "penstock", "delta", "--live", str(bed.directory), *chosen]
        environment = os.environ | {"TMPDIR": str(tmp_path)}
        with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as process:
            until(lambda: len(system.members(Path(bed.state.group))) == 2)
            assert len(coordinators(tmp_path)) == 1
            process.send_signal(number)
            _, said = process.communicate(timeout=30.0)
        until(lambda: not system.members(Path(bed.state.group)) and not coordinators(tmp_path))
        if number == signal.SIGKILL:
            (folder,) = bed.directory.glob("live-*")
            shutil.rmtree(folder)
        else:
            assert process.returncode == 130
            assert said.splitlines()[-1] == "penstock: interrupted"
            assert list(tmp_path.iterdir()) == []
        assert nothing_left(bed)

    def test_no_test_bed(self, machine: None, tmp_path: Path, folder: Path, capsys: Capture) -> None:
        assert main(["delta", "--live", str(tmp_path)]) == 2
        assert capsys.readouterr().err == (
            f"penstock: {tmp_path}: has no test bed; expected one made by penstock testbed up\n"
        )
        assert main(["delta", "--live", str(tmp_path / "none")]) == 2
        assert "is not a directory" in capsys.readouterr().err
