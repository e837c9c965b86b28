"""The environment of a program that is run, what is watched, and its exit code."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from penstock.cli.main import main
from penstock.model import InputError
from penstock.native.launch import Options, _signals_passed_on, default_mounts, environment, mpi_family, run
from penstock.native.libraries import LIBRARY_PATH, MPI, POSIX, find, require
from tests.native.building import need
from tests.native.mpi_jobs import Mpi
from tests.native.shimming import library


@pytest.fixture
def libraries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with libraries that say nothing about themselves: only their names count here."""
    folder = tmp_path / "libraries"
    folder.mkdir()
    (folder / POSIX).touch()
    for family in ("mpich", "openmpi"):
        (folder / "mpi" / family).mkdir(parents=True)
        (folder / "mpi" / family / MPI).touch()
    monkeypatch.setenv(LIBRARY_PATH, str(folder))
    return folder


def preloaded(libraries: Path, *families: str) -> str:
    return ":".join([*(str(libraries / "mpi" / family / MPI) for family in families), str(libraries / POSIX)])


def test_the_environment(libraries: Path, tmp_path: Path) -> None:
    told = Options((tmp_path, Path("/scratch")), "job", 4, 2e9, 0.5, "/run/socket", observe=True)
    assert environment(told, tmp_path / "record", {}) == {
        "LD_PRELOAD": preloaded(libraries, "mpich", "openmpi"),
        "PENSTOCK_MOUNTS": f"{tmp_path}:/scratch",
        "PENSTOCK_NAME": "job",
        "PENSTOCK_NODES": "4",
        "PENSTOCK_BANDWIDTH": "2000000000.0",
        "PENSTOCK_GAP": "0.5",
        "PENSTOCK_SOCKET": "/run/socket",
        "PENSTOCK_OBSERVE": "1",
        "PENSTOCK_RECORD": str(tmp_path / "record"),
    }


def test_what_is_preloaded_already_stays(libraries: Path) -> None:
    given = {"LD_PRELOAD": f"/other.so {libraries / POSIX}:/third.so"}
    told = environment(Options((Path("/"),)), None, given)
    assert told["LD_PRELOAD"] == preloaded(libraries, "mpich", "openmpi") + ":/other.so:/third.so"


def test_the_library_that_fits_the_mpi(libraries: Path) -> None:
    """By the program if that is linked with an MPI, else by the launcher; all of them if neither tells."""
    need("mpiexec.mpich", "mpiexec.openmpi", "mpicc.mpich", "mpicc.openmpi")
    for family, launcher in (("mpich", "mpiexec.mpich"), ("openmpi", "mpiexec.openmpi")):
        program = str(Mpi(family).compiled("mpi_calls.c"))
        for command in ([launcher, "-n", "2", sys.executable], [program], ["srun", program], ["env", "A=1", program]):
            assert mpi_family(command) == family, command
            told = environment(Options((Path("/"),)), None, {}, command)
            assert told["LD_PRELOAD"] == preloaded(libraries, family)
    assert mpi_family(["bash", "-c", "mpiexec.mpich -n 1 true"]) is None


def test_open_mpi_passes_variables_on_to_other_nodes(libraries: Path) -> None:
    """But not beside -x, which its launcher refuses; nor where somebody else starts the launcher."""
    need("mpiexec.openmpi")
    options, given = Options((Path("/"),), name="job"), {"OMPI_MCA_mca_base_env_list": "MINE"}
    told = environment(options, None, given, ["mpiexec.openmpi", "-n", "1", "true"])
    listed = "MINE;LD_PRELOAD;PENSTOCK_MOUNTS;PENSTOCK_NAME;PENSTOCK_ALL_RANKS"
    assert (told["OMPI_MCA_mca_base_env_list"], told["PENSTOCK_ALL_RANKS"]) == (listed, "1")
    for command in (["mpiexec.openmpi", "-x", "A", "true"], ["bash", "script"]):
        assert "PENSTOCK_ALL_RANKS" not in environment(options, None, given, command)


def test_a_mount_that_cannot_be_named(libraries: Path) -> None:
    with pytest.raises(InputError, match=r"--mount: '/a:b' has a colon, which separates folders"):
        environment(Options((Path("/a:b"),)), None, {})


def test_a_library_that_was_not_built(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.native.libraries.folders", list)
    assert find(POSIX) is None
    with pytest.raises(
        InputError, match=r"libpenstock-posix\.so: was not built; expected `penstock native build`, which needs"
    ):
        require(POSIX)


def test_shared_file_systems_are_watched_unless_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mounts = "proc /proc proc rw 0 0\nfs@tcp:/a /lus\\040tre lustre rw 0 0\nhost:/home /home nfs4 rw 0 0\n"
    assert default_mounts(mounts) == (Path("/lus tre"), Path("/home"))
    monkeypatch.chdir(tmp_path)
    assert default_mounts("proc /proc proc rw 0 0\n") == (tmp_path,)


class TestExitCodes:
    """The exit code is that of the program, as a shell has it."""

    @pytest.mark.parametrize("code", [0, 1, 77])
    def test_its_own(self, code: int) -> None:
        assert run([sys.executable, "-c", f"raise SystemExit({code})"], {}) == code

    def test_a_signal(self) -> None:
        killed = f"import os; os.kill(os.getpid(), {int(signal.SIGKILL)})"
        assert run([sys.executable, "-c", killed], {}) == 128 + signal.SIGKILL

    @pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2])
    def test_a_signal_of_a_batch_system(self, number: signal.Signals) -> None:
        """It reaches the program, which ends as it likes."""
        trap = f"trap 'exit 9' {int(number)}; kill -{int(number)} $PPID; while :; do sleep 0.01; done"
        assert run(["bash", "-c", trap], {}) == 9

    def test_a_signal_before_the_start(self) -> None:
        with _signals_passed_on() as tell:
            os.kill(os.getpid(), signal.SIGUSR1)
            waits = "trap 'exit 9' USR1; echo; while :; do sleep 0.01; done"
            with subprocess.Popen(["bash", "-c", waits], stdout=subprocess.PIPE) as process:
                assert process.stdout is not None
                process.stdout.readline()
                tell(process)
                assert process.wait() == 9

    def test_what_is_ignored_stays_so(self) -> None:
        """As under nohup; Ctrl-C, which is not ignored, can still end the program."""
        before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
        try:
            assert run(["bash", "-c", "kill -HUP $$ $PPID; exit 3"], {}) == 3
            assert run(["bash", "-c", "kill -INT $PPID; kill -INT $$; exit 3"], {}) == 128 + signal.SIGINT
        finally:
            signal.signal(signal.SIGHUP, before)

    def test_the_variables_reach_it(self) -> None:
        assert run([sys.executable, "-c", "import os; raise SystemExit(int(os.environ['NUMBER']))"], {"NUMBER": "5"}) == 5

    def test_no_such_program(self) -> None:
        with pytest.raises(InputError, match="there is no program 'nowhere-to-be-found'; expected one on PATH"):
            run(["nowhere-to-be-found"], {})

    def test_no_program(self, tmp_path: Path) -> None:
        file = tmp_path / "data"
        file.write_text("neither a program nor a script")
        with pytest.raises(InputError, match="cannot be run: Permission denied; expected a program that may be executed"):
            run([str(file)], {})
        file.chmod(0o755)
        with pytest.raises(InputError, match="Exec format error; expected a program that may be executed, or a script"):
            run([str(file)], {})


STARTED = {
    "by its path": "{static}; {static}",
    "by its name": "export PATH={folder}:$PATH; static && env static",
    "by a relative path": "cd {folder} && ./static",
    "by posix_spawn": '{python} -c \'import os; os.waitpid(os.posix_spawnp("{static}", ["static"], os.environ), 0)\'',
    "after a vfork": "{python} -c 'import subprocess; subprocess.run([\"{static}\"])'",
}


@pytest.mark.parametrize("how", STARTED)
def test_a_static_program_that_a_script_starts(how: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """It is named once, in the summary; programs that are seen are not."""
    need("gcc", "bash", "env")
    library()
    source, static = tmp_path / "static.c", tmp_path / "static"
    (tmp_path / "mount").mkdir()
    source.write_text("int main(void) { return 0; }\n")
    subprocess.run(["gcc", "-static", "-o", static, source], check=True)
    script = STARTED[how].format(static=static, folder=tmp_path, python=sys.executable)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(LIBRARY_PATH, str(library().parent))
        assert main(["run", "--mount", str(tmp_path / "mount"), "--", "bash", "-c", f"true; {script}; true"]) == 0
    assert capfd.readouterr().err == (
        "penstock run: no program read or wrote a watched file\n"
        f"penstock run: not seen: {static} is linked statically, so nothing can be preloaded into it\n"
    )


class TestTheCommand:
    """What ``penstock run`` says."""

    def test_a_dry_run(self, libraries: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["run", "--dry-run", "--mount", "/scratch", "--name", "my job"]) == 0
        printed = capsys.readouterr().out.splitlines()
        assert printed == [
            f"export LD_PRELOAD={preloaded(libraries, 'mpich', 'openmpi')}",
            "export PENSTOCK_MOUNTS=/scratch",
            "export PENSTOCK_NAME='my job'",
        ]

    def test_no_command(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["run"]) == 2
        assert capsys.readouterr().err == "penstock: run: no command; expected one after --\n"

    @pytest.mark.parametrize(
        ("options", "error"),
        [
            (["--nodes", "0"], "nodes 0 is out of range; expected a whole number from 1 to 1000000000"),
            (["--nodes", "2000000000"], "nodes 2000000000 is out of range; expected a whole number from 1 to 1000000000"),
            (["--name", ""], "name '': 0 characters; expected 1 to 200"),
            (["--name", 201 * "x"], f"name '{40 * 'x'}': 201 characters; expected 1 to 200"),
            (["--bandwidth", "1e19 B/s"], "bandwidth 1e+19 is out of range; expected a number from 0 to 1e+18"),
            (["--gap", "0"], "--gap: 0 s is out of range; expected 0.001 to 1e+06 s"),
            (["--gap", "12 d"], "--gap: 1.0368e+06 s is out of range; expected 0.001 to 1e+06 s"),
        ],
    )
    def test_what_a_coordinator_would_refuse(
        self, options: list[str], error: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """It is refused before the program runs."""
        assert main(["run", *options, "--", "touch", str(tmp_path / "ran")]) == 2
        assert capsys.readouterr().err == f"penstock: {error}\n"
        assert not (tmp_path / "ran").exists()

    def test_slips_are_said(
        self, libraries: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """A mount that is not there and a hint that is none: the program runs all the same."""
        monkeypatch.setenv("PENSTOCK_PHASE", "volume=1 GB")
        assert main(["run", "--dry-run", "--mount", str(tmp_path / "no"), "--mount", str(tmp_path)]) == 0
        assert capsys.readouterr().err == (
            f"penstock run: --mount: there is no folder '{tmp_path}/no'; files below it are seen only if it is made\n"
            "penstock run: PENSTOCK_PHASE: 'volume=1 GB' is no hint; expected volume=BYTES,rounds=N with plain numbers\n"
        )
        for hint in ("volume=5", "rounds=5", "volume=5,rounds=7", "rounds=7,volume=5"):
            monkeypatch.setenv("PENSTOCK_PHASE", hint)
            assert main(["run", "--dry-run"]) == 0
            assert capsys.readouterr().err == ""

    def test_no_room_for_records(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "nowhere"))
        assert main(["run", "--", "touch", str(tmp_path / "ran")]) == 2
        told = capsys.readouterr().err
        assert told.startswith("penstock: run: no folder for records: ")
        assert told.endswith("; expected room below TMPDIR\n")
        assert not (tmp_path / "ran").exists()
        monkeypatch.undo()
        assert main(["run", "--records", str(tmp_path / "nowhere"), "--", "touch", str(tmp_path / "ran")]) == 2
        assert capsys.readouterr().err.endswith("; expected a folder of yours with room in it\n")
        assert not (tmp_path / "ran").exists()

    @pytest.mark.parametrize("code", [0, 37])
    def test_what_cannot_be_written_at_the_end_does_not_change_the_exit_code(
        self, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
    ) -> None:
        """The trace, as nothing was read or written; and the summary, as the program has removed its folder."""
        monkeypatch.setenv(LIBRARY_PATH, str(library().parent))
        folder, trace = tmp_path / "folder", tmp_path / "trace.json"
        folder.mkdir()
        files = ["--trace", str(trace), "--json", str(folder / "summary.json")]
        command = ["sh", "-c", f"rmdir {folder}; exit {code}"]
        assert main(["run", "--mount", str(tmp_path), *files, "--", *command]) == code
        lines = capfd.readouterr().err.splitlines()
        assert lines[0].startswith("penstock run: trace: no program read or wrote a watched file")
        assert lines[1:] == [f"penstock run: {folder}/summary.json: cannot be written: No such file or directory"]
        assert not trace.exists()

    @pytest.mark.parametrize("option", ["--trace", "--json"])
    def test_a_file_that_cannot_be_written(self, option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """It is refused before the program runs."""
        assert main(["run", option, "/nowhere/file.json", "--", "touch", str(tmp_path / "ran")]) == 2
        assert "cannot be written" in capsys.readouterr().err
        assert not (tmp_path / "ran").exists()
