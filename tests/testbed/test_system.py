"""Reading mounts, loop devices and cgroups."""

from pathlib import Path

import pytest

from penstock.testbed import system

TEXT = r"""22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
30 22 0:25 / /sys/fs/cgroup/blkio rw - cgroup cgroup rw,blkio
31 22 7:3 / /mnt/with\040space rw,relatime - ext4 /dev/loop3 rw,discard
"""


@pytest.fixture
def mounted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "mountinfo"
    path.write_text(TEXT)
    monkeypatch.setattr(system, "MOUNTS", path)
    return path


def test_mounts(mounted: Path) -> None:
    root, _, last = system.mounts()
    assert root == system.Mount("254:0", "/", "ext4", ("rw",))
    assert last == system.Mount("7:3", "/mnt/with space", "ext4", ("rw", "discard"))


def test_the_blkio_controller(mounted: Path) -> None:
    assert system.blkio_root() == Path("/sys/fs/cgroup/blkio")
    mounted.write_text(TEXT.replace("cgroup cgroup rw,blkio", "cgroup2 cgroup2 rw,blkio"))
    assert system.blkio_root() is None


def test_loop_devices_are_known_by_their_image(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number, image in ((0, "/beds/other.img"), (3, "/beds/ours.img"), (4, "/beds/ours.img (deleted)")):
        folder = tmp_path / f"loop{number}" / "loop"
        folder.mkdir(parents=True)
        (folder / "backing_file").write_text(f"{image}\n")
        (folder.parent / "dev").write_text(f"7:{number}\n")
    (tmp_path / "loop5").mkdir()
    monkeypatch.setattr(system, "BLOCK", tmp_path)
    assert system.loops_of(Path("/beds/ours.img")) == [system.Loop(Path("/dev/loop3"), "7:3")]


def test_nobody_is_in_a_cgroup_that_is_not_there(tmp_path: Path) -> None:
    assert system.members(tmp_path / "none") == []
    (tmp_path / "cgroup.procs").write_text("12\n34\n")
    assert system.members(tmp_path) == [12, 34]
