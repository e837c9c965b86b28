"""``penstock import``: the options of each kind reach its function, and a wrong file is one line."""

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

import penstock
from penstock.cli.main import main
from tests.workloads.importers.logs import Log
from tests.workloads.importers.outputs import SACCT
from tests.workloads.traces import line, write

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def sacct(tmp_path: Path) -> str:
    path = tmp_path / "sacct.txt"
    path.write_text(SACCT)
    return str(path)


def test_slurm(sacct: str, tmp_path: Path, capsys: Capture) -> None:
    out = tmp_path / "w.json"
    assert main(["import", "slurm", sacct, "-o", str(out), "--time-zone", "UTC"]) == 0
    made = penstock.import_slurm(sacct, time_zone="UTC")
    assert penstock.read(out) == made.workload
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == "".join(f"{text}\n" for text in made.summary())


OPTIONS = {
    "unfinished": "requested",
    "release": "submit",
    "without_log": "none",
    "iterations": 3,
    "io_fraction": 0.2,
    "io_sigma": 0.05,
    "io_most": 0.5,
    "seed": 7,
    "cores_per_node": 4,
    "bandwidth": "2 GB/s",
    "node_bandwidth": "100 MB/s",
    "machine_nodes": 3,
    "alone": "2",
}
OF_LOGS = {
    "layer": "posix",
    "source": "dxt",
    "mount": ["/scratch"],
    "gap": 3.0,
    "by_file": True,
    "period": True,
    "ranks_per_node": 8,
    "workers": 1,
}


def as_words(options: Mapping[str, object]) -> list[str]:
    """The options as a command line has them."""
    words = []
    for name, value in options.items():
        words.append(f"--{name.replace('_', '-')}")
        words += [] if value is True else value if isinstance(value, list) else [str(value)]
    return words


@pytest.mark.parametrize("kind", ["slurm", "swf"])
def test_every_option_of_logs(kind: str, sacct: str, tmp_path: Path, capsys: Capture) -> None:
    trace = write(tmp_path / "a.swf", line(1, 795_032_753, wait=0, run=4), line(2, 795_032_753, wait=0, run=8))
    dxt = [("DXT_POSIX", f"/{name}/a", 0, "n1", [(0.5, 1.0, 7000), (2.0, 3.0, 1000)], []) for name in ("scratch", "home")]
    Log(job_id=1, start=1_795_032_753.0, seconds=4.0, dxt=dxt).write(tmp_path / "one.darshan")
    path, out, log = {"slurm": sacct, "swf": trace}[kind], tmp_path / "w.json", str(tmp_path / "one.darshan")
    call = ["import", kind, path, "-o", str(out), "--json", "--darshan", log, "--without-log", "none", *as_words(OF_LOGS)]
    zone = {"time_zone": "UTC"} if kind == "slurm" else {}
    assert main([*call, *as_words(zone)]) == 0
    importer = {"slurm": penstock.import_slurm, "swf": penstock.import_swf}[kind]
    made = importer(path, darshan=log, without_log="none", **OF_LOGS, **zone)  # type: ignore[operator]
    assert penstock.read(out) == made.workload
    assert json.loads(capsys.readouterr().out) == json.loads(json.dumps(made.to_dict()))
    assert [record.phases.total() for record in made.jobs if record.source == "dxt"] == [(0.0, 8000.0)]


@pytest.mark.parametrize("kind", ["slurm", "swf"])
def test_options_of_logs_without_logs_are_refused(kind: str, sacct: str, tmp_path: Path, capsys: Capture) -> None:
    path = {"slurm": sacct, "swf": write(tmp_path / "a.swf", line(1, 50))}[kind]
    assert main(["import", kind, path, "-o", str(tmp_path / "w.json"), "--layer", "mpiio"]) == 2
    assert capsys.readouterr().err == (
        "penstock: darshan: is not given, but what to take from logs is; expected logs or folders of logs\n"
    )


def test_every_option_of_slurm(sacct: str, tmp_path: Path, capsys: Capture) -> None:
    out = tmp_path / "w.parquet"
    words = as_words(OPTIONS)
    assert main(["import", "slurm", sacct, "-o", str(out), "--time-zone", "UTC", "--json", *words]) == 0
    made = penstock.import_slurm(sacct, time_zone="UTC", **OPTIONS)  # type: ignore[arg-type]
    assert penstock.read(out) == made.workload
    assert json.loads(capsys.readouterr().out) == json.loads(json.dumps(made.to_dict()))


def test_swf_is_generate_swf(tmp_path: Path, capsys: Capture) -> None:
    trace = write(tmp_path / "a.swf", line(1, 50), line(2, 60, run=0))
    one, two = tmp_path / "one.json", tmp_path / "two.json"
    words = [trace, "--bandwidth", "1 GB/s", "--seed", "3"]
    assert main(["generate", "swf", *words, "-o", str(one)]) == main(["import", "swf", *words, "-o", str(two)]) == 0
    assert one.read_bytes() == two.read_bytes()
    assert "left out, with a run time of 0: 1" in capsys.readouterr().err


@pytest.mark.parametrize("kind", ["slurm", "swf"])
def test_a_wrong_file_is_one_line_and_nothing_is_written(kind: str, tmp_path: Path, capsys: Capture) -> None:
    path, out = tmp_path / "wrong", tmp_path / "w.json"
    for content in (b"", b"\x7fELF\x00\x01\n\x02", b"[]", b"JobID|Start\n1|2\n"):
        path.write_bytes(content)
        assert main(["import", kind, str(path), "-o", str(out)]) == 2
        said = capsys.readouterr().err
        assert said.startswith(f"penstock: {path}: ")
        assert said.count("\n") == 1
        assert not out.exists()


def test_a_hidden_workload_has_a_key_of_its_own(
    sacct: str, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    out = tmp_path / "w.json"
    assert main(["import", "slurm", sacct, "-o", str(out), "--anonymize"]) == 0
    assert (tmp_path / "config/penstock/anonymize.key").stat().st_mode & 0o777 == 0o600
    assert "ann" not in out.read_text()
    assert capsys.readouterr().out == ""


def test_from_a_pipe() -> None:
    call = [sys.executable, "-m", "penstock", "import", "slurm", "-", "-o", "-", "--time-zone", "UTC"]
    done = subprocess.run(call, input=SACCT, capture_output=True, text=True, check=True)
    assert len(json.loads(done.stdout)["applications"]) == 6
    assert done.stderr.startswith("13 lines, 6 jobs kept\n")
