"""Trying failed cells again."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from penstock.campaign import Campaign, Cell, Task, failures, run
from penstock.campaign.workers import LocalPool
from penstock.cli.main import main
from tests.campaign.small import campaign, parts, without_seconds
from tests.campaign.test_command import FILE


@pytest.fixture
def policy(tmp_path: Path) -> str:
    """A policy that workers cannot read until `cure`."""
    path = tmp_path / "moody.py"
    path.write_text(
        "import os\n"
        f"if os.getpid() != {os.getpid()} and not os.path.exists({str(tmp_path / 'cured')!r}):\n"
        "    raise OSError('no licence')\n\n\n"
        "def first(view, rates):\n    rates[:] = 0.0\n    rates[0] = view.cap[0]\n"
    )
    return f"{path}:first"


def cure(folder: Path) -> None:
    (folder / "cured").touch()


def test_only_the_failed_cells_are_computed_again(tmp_path: Path, policy: str) -> None:
    parameters = {"workload": "nersc", "machine": "M_4", "count": 2}
    cells = [Cell("apex", parameters, seed, name) for seed in (0, 1) for name in ("fcfs", policy, "fair-share")]
    mixed, out = Campaign("mixed", tuple(cells)), tmp_path / "out"
    before = run(mixed, out)
    assert len(failures(before)) == 4
    assert "OSError: no licence" in failures(before)[0]["error"]
    cure(tmp_path)
    assert run(mixed, out).equals(before)
    after = run(mixed, out, retry=True)
    assert after.equals(pq.read_table(out / "results.parquet"))
    assert without_seconds(after).equals(without_seconds(run(mixed, tmp_path / "at once")))
    assert not failures(after)
    for old, new in zip(before.to_pylist(), after.to_pylist(), strict=True):
        assert old == new or old["policy"] == policy  # the seconds too
    left = parts(out)
    assert run(mixed, out, retry=True).equals(after)
    assert parts(out) == left


def test_an_interrupted_retry_loses_nothing(tmp_path: Path, policy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    mixed, out = campaign(2, ("fcfs", policy)), tmp_path / "out"
    before = run(mixed, out)
    old = parts(out)
    cure(tmp_path)
    completed = LocalPool.completed

    def interrupted_run(count: int) -> None:
        """A retry that is interrupted after `count` tasks."""

        def some(pool: LocalPool, tasks: Iterable[Task]) -> Iterator[tuple[Task, bytes]]:
            results = completed(pool, tasks)
            yield from (next(results) for _ in range(count))
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(LocalPool, "completed", some)
            run(mixed, out, retry=True)

    for count, left in ((0, 4), (1, 3)):
        with pytest.raises(KeyboardInterrupt):
            interrupted_run(count)
        assert len(parts(out)) == len(old)
        table = run(mixed, out)
        assert len(table) == len(before)
        assert len(failures(table)) == left
    kept = [name for name, part in parts(out).items() if part == old[name]]
    assert len(kept) == 3
    (out / "results.parquet").unlink()
    (out / "parts" / kept[0]).unlink()
    after = run(mixed, out, retry=True)  # what is missing is computed too
    assert len(after) == len(before)
    assert not failures(after)


def test_the_command(tmp_path: Path, policy: str, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "tiny.yaml"
    file.write_text(FILE.replace("fcfs", policy))
    command = ["campaign", str(file), "--out", str(tmp_path / "out")]
    assert main(command) == 1
    assert "failed: " in capsys.readouterr().out
    cure(tmp_path)
    assert main(command) == 1
    assert main([*command, "--retry"]) == 0
