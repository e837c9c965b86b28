"""The folder of a campaign: what it refuses, and that nothing in it gets lost."""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock import InputError
from penstock.campaign import SCHEMA, run
from penstock.campaign.store import identity, opened
from tests.campaign.small import campaign, parts, without_seconds


def everything(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("finished")
    run(campaign(), folder)
    return folder


def test_the_folder_of_another_campaign_is_left_alone(finished: Path) -> None:
    before = everything(finished)
    for other in (campaign(4), campaign(name="other")):
        with pytest.raises(InputError) as caught:
            run(other, finished)
        assert str(caught.value) == (
            f"{finished}: holds another campaign, 'small' of 12 cells; expected a new or an empty folder"
        )
    assert everything(finished) == before


def test_a_folder_with_other_files_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(InputError) as caught:
        run(campaign(), tmp_path)
    assert str(caught.value) == f"{tmp_path}: holds other files and no campaign; expected a new or an empty folder"
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_rows_of_another_version_are_not_mixed(tmp_path: Path) -> None:
    with opened(tmp_path, campaign()):
        pass
    manifest = tmp_path / "campaign.json"
    document = json.loads(manifest.read_text())
    assert document["identity"] == identity()
    manifest.write_text(json.dumps({**document, "identity": {**identity(), "penstock": "0.0.9"}}))
    with pytest.raises(InputError) as caught:
        run(campaign(), tmp_path)
    assert str(caught.value) == (
        f"{tmp_path}: its rows were computed by penstock 0.0.9, this is penstock 0.2.0; expected a new or an empty folder"
    )


def test_an_own_policy_that_has_changed(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text("def first(view, rates):\n    rates[0] = view.cap[0]\n")
    own = campaign(1, (f"{path}:first",))
    with opened(tmp_path / "out", own):
        pass
    with opened(tmp_path / "out", own):
        pass
    path.write_text("def first(view, rates):\n    rates[0] = view.cap[0] / 2\n")
    with pytest.raises(InputError, match=r"out: the files of its policies .*mine\.py:first have changed; expected a new"):
        run(own, tmp_path / "out")


@pytest.mark.parametrize("text", ["", "[]", "{"])
def test_a_manifest_that_cannot_be_read(tmp_path: Path, text: str) -> None:
    (tmp_path / "campaign.json").write_text(text)
    with pytest.raises(
        InputError, match=r"campaign\.json: cannot be read; expected the description of a campaign, or a new"
    ):
        run(campaign(), tmp_path)


def test_a_part_that_cannot_be_read(tmp_path: Path, finished: Path) -> None:
    subprocess.run(["cp", "-r", str(finished), str(tmp_path / "copy")], check=True)
    copy = tmp_path / "copy"
    (copy / "results.parquet").unlink()
    broken = sorted((copy / "parts").iterdir())[0]
    broken.write_bytes(b"PAR1")
    with pytest.raises(InputError) as caught:
        run(campaign(), copy)
    assert str(caught.value) == f"{broken}: cannot be read; remove it to compute its cells again"
    broken.unlink()
    assert without_seconds(run(campaign(), copy)).equals(without_seconds(run(campaign(), finished)))


NEW = [
    "mean_stretch_by_dates",
    "mean_stretch_by_durations",
    "mean_allocation_slowdown",
    "mean_congestion_slowdown",
    "idle_time",
    "occupancy",
    "store_utilization",
    "buffer_size",
    "buffer_peak",
    "direct_written",
    "drained",
    "direct_read",
    "prefetched",
]
"""Columns that files of earlier versions do not have."""


def test_parts_and_results_without_the_later_columns_are_read(tmp_path: Path, finished: Path) -> None:
    copy = tmp_path / "copy"
    subprocess.run(["cp", "-r", str(finished), str(copy)], check=True)
    whole = run(campaign(), finished)
    for path in (copy / "results.parquet", sorted((copy / "parts").iterdir())[0]):
        pq.write_table(pq.read_table(path, partitioning=None).drop_columns(NEW), path)
    before = run(campaign(), copy)
    assert before.schema.equals(SCHEMA)
    assert before.drop_columns(NEW).equals(whole.drop_columns(NEW))
    assert all(before[name].null_count == len(before) for name in NEW)
    # An old part beside new ones, and one to compute.
    (copy / "results.parquet").unlink()
    sorted((copy / "parts").iterdir())[-1].unlink()
    mixed = run(campaign(), copy)
    assert without_seconds(mixed.drop_columns(NEW)).equals(without_seconds(whole.drop_columns(NEW)))
    assert 0 < mixed["occupancy"].null_count < len(mixed)


def test_a_file_that_has_no_rows_of_a_campaign(tmp_path: Path, finished: Path) -> None:
    copy = tmp_path / "copy"
    subprocess.run(["cp", "-r", str(finished), str(copy)], check=True)
    pq.write_table(pa.table({"other": [1]}), copy / "results.parquet")
    with pytest.raises(InputError, match=r"results\.parquet: cannot be read; remove it to compute its cells again"):
        run(campaign(), copy)


def test_one_process_at_a_time(tmp_path: Path) -> None:
    with opened(tmp_path, campaign()), pytest.raises(InputError) as caught:
        run(campaign(), tmp_path)
    assert str(caught.value) == (
        f"{tmp_path}: another process is running a campaign here; expected another folder, or to wait for it"
    )
    assert len(run(campaign(), tmp_path)) == 12


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError) as caught:
        run(campaign(), tmp_path / "file" / "out")
    assert str(caught.value) == f"{tmp_path}/file/out: cannot be written: Not a directory; expected a folder to write to"


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 64 KiB: room for the manifest and a few parts."""
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(command, capture_output=True, check=False).returncode != 0:
        reason = "mounting a tiny tmpfs needs root"
        if "PENSTOCK_REQUIRE_ALL" in os.environ:
            pytest.fail(reason)
        pytest.skip(reason)
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_full_disk_loses_nothing(tiny_disk: Path) -> None:
    out = tiny_disk / "out"
    with pytest.raises(InputError) as caught:
        run(campaign(10), out)
    message = str(caught.value)
    assert message.startswith(f"{out}/parts/")
    assert message.endswith(".parquet: cannot be written: No space left on device")
    kept = parts(out)
    assert 1 <= len(kept) < 20
    assert not list((out / "parts").glob(".*"))
    subprocess.run(["mount", "-o", "remount,size=10m", str(tiny_disk)], check=True)
    table = run(campaign(10), out)
    assert len(table) == 40
    after = parts(out)
    assert {name: after[name] for name in kept} == kept
