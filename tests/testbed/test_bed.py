"""Test beds that come up, do not come up, and are gone afterwards."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from penstock.cli.main import main
from penstock.model import InputError
from penstock.testbed import bed, system
from penstock.testbed.system import BedRecord

MIB = 2**20
Capture = pytest.CaptureFixture[str]


def left(folder: Path, directory: Path, token: str) -> list[object]:
    """What is left of a test bed: loop devices, mounts, cgroups, files."""
    loops = [path.read_text() for path in system.BLOCK.glob("loop*/loop/backing_file") if str(folder) in path.read_text()]
    mounts = [mount for mount in system.mounts() if mount.at == str(directory)]
    root = system.blkio_root()
    groups = list(root.glob(f"*{token}*")) if root is not None else []
    return [*loops, *mounts, *groups, *[path for path in (folder, directory) if path.exists()]]


@pytest.fixture
def anywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if this machine could have test beds."""
    monkeypatch.setattr(bed.os, "geteuid", lambda: 0)
    monkeypatch.setattr(bed.shutil, "which", lambda name: f"/sbin/{name}")
    monkeypatch.setattr(bed.system, "LOOP_CONTROL", Path("/dev/null"))
    monkeypatch.setattr(bed.system, "blkio_root", lambda: Path("/nowhere"))


def refused(directory: Path, bandwidth: object = "40 MiB/s", size: object = "64 MiB") -> str:
    def never(command: object) -> str:
        raise AssertionError(f"{command} was run")

    with pytest.raises(InputError) as caught:
        bed.up(directory, bandwidth, size, never)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.usefixtures("anywhere")
class TestRefusals:
    """Each in one line, before anything is made."""

    def test_no_root(self, tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(bed.os, "geteuid", lambda: 1000)
        assert "only root can mount" in refused(tmp_path / "store")
        for order in (bed.down, bed.find):
            with pytest.raises(InputError, match="only root can mount"):
                order(tmp_path)
        assert list(tmp_path.iterdir()) == []

    def test_programs_are_missing(self, tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(bed.shutil, "which", lambda name: None if name in ("losetup", "mkfs.ext4") else name)
        assert refused(tmp_path / "store").startswith("testbed: losetup, mkfs.ext4 not found")
        assert list(tmp_path.iterdir()) == []

    def test_no_loop_devices(self, tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(bed.system, "LOOP_CONTROL", tmp_path / "loop-control")
        assert "no loop devices" in refused(tmp_path / "store")
        assert list(tmp_path.iterdir()) == []

    def test_no_cgroup_v1(self, tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(bed.system, "blkio_root", lambda: None)
        assert "no blkio controller of cgroup v1 is mounted" in refused(tmp_path / "store")
        assert list(tmp_path.iterdir()) == []

    def test_amounts(self, tmp_path: Path, folder: Path) -> None:
        place = tmp_path / "store"
        assert "'1 kB/s' is too slow" in refused(place, bandwidth="1 kB/s")
        assert "'1 MB' is too small" in refused(place, size="1 MB")
        assert "do not fit into" in refused(place, size="900 PB")
        assert "'fast' is not an amount" in refused(place, bandwidth="fast")
        assert list(tmp_path.iterdir()) == []

    def test_the_directory(self, tmp_path: Path, folder: Path) -> None:
        full = tmp_path / "full"
        full.mkdir()
        (full / "file").touch()
        assert "is not an empty directory" in refused(full)
        assert "is not an empty directory" in refused(full / "file")
        assert "is not an empty directory" in refused(Path("/proc/self/net"))
        assert "is not a directory; expected one to make it in" in refused(tmp_path / "none" / "store")
        assert list(tmp_path.iterdir()) == [full]

    def test_another_test_bed(self, tmp_path: Path, folder: Path) -> None:
        folder.mkdir()
        known = BedRecord("penstock-x", str(tmp_path / "store"), 1, 2, "image", "group")
        system.write_record(folder, known)
        assert "not finished" in refused(tmp_path / "store")
        system.write_record(folder, BedRecord(**{**vars(known), "complete": True}))
        assert "there is a test bed; expected penstock testbed down" in refused(tmp_path / "store")
        assert "is inside the test bed at" in refused(tmp_path / "store" / "deep")
        assert system.read_record(folder, tmp_path / "store") is not None


STEPS = ["directory", "image", "loop", "file system", "group", "mount"]


@pytest.mark.usefixtures("machine")
class TestReal:
    """With real devices."""

    def test_up_and_down(self, tmp_path: Path, folder: Path, token: str, capsys: Capture) -> None:
        place = tmp_path / "store"
        assert main(["testbed", "up", str(place), "--bandwidth", "8 MiB/s", "--size", "32 MiB"]) == 0
        assert "carries 8.39 MB/s (/dev/loop" in capsys.readouterr().err
        known = system.read_record(folder, place)
        assert known is not None
        assert list(known.steps) == STEPS
        assert bed.condition(known) == "up"
        made = bed.find(place)
        assert system.device_of(place) == made.device.device
        assert 24 * MIB < made.free < 32 * MIB
        group = Path(known.group)
        for limit in bed.LIMITS:
            assert (group / limit).read_text().split() == [made.device.device, str(8 * MIB)]
        done = subprocess.run(made.inside(["cat", "/proc/self/cgroup"]), capture_output=True, text=True, check=True)
        assert f"blkio:/{known.name}\n" in done.stdout
        command = [sys.executable, "-m", "penstock", "testbed", "run", str(place), "--", "cat", "/proc/self/cgroup"]
        assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == done.stdout
        assert main(["testbed", "run", str(place), "--"]) == 2
        assert capsys.readouterr().err == "penstock: testbed run: no command; expected one after --\n"
        assert main(["testbed", "up", str(place)]) == 2
        assert "there is a test bed; expected penstock testbed down" in capsys.readouterr().err
        assert main(["testbed", "status", str(place), "--json"]) == 0
        (document,) = json.loads(capsys.readouterr().out)
        assert (document["condition"], document["bandwidth"], document["processes"]) == ("up", 8 * MIB, [])
        assert main(["testbed", "status", str(tmp_path)]) == 0
        assert capsys.readouterr().out == "no test bed\n"
        assert main(["testbed", "status"]) == 0
        assert f"{place.name} │ up" in capsys.readouterr().out.replace("\n", "")[-200:]
        assert main(["testbed", "down", str(place)]) == 0
        assert left(folder, place, token) == []
        assert main(["testbed", "down", str(place)]) == 0
        assert "there is none at" in capsys.readouterr().err

    def test_a_directory_that_was_there_stays(self, tmp_path: Path, folder: Path, token: str) -> None:
        place = tmp_path / "store"
        place.mkdir()
        bed.up(place, "8 MiB/s", "16 MiB")
        assert bed.down(place)
        assert left(folder, place, token) == [place]

    def test_by_way_of_links(self, tmp_path: Path, token: str, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "real").mkdir()
        (tmp_path / "link").symlink_to(tmp_path / "real")
        monkeypatch.setenv(system.VARIABLE, str(tmp_path / "link" / "beds"))
        bed.up(tmp_path / "link" / "store", "8 MiB/s", "16 MiB")
        assert bed.find(tmp_path / "real" / "store").directory == tmp_path / "real" / "store"
        assert bed.down(tmp_path / "link" / "store")
        assert left(tmp_path / "real" / "beds", tmp_path / "real" / "store", token) == []

    @pytest.mark.parametrize("program", ["losetup", "mkfs.ext4", "mount"])
    def test_a_program_that_fails(
        self, program: str, tmp_path: Path, folder: Path, token: str, monkeypatch: pytest.MonkeyPatch, capsys: Capture
    ) -> None:
        script = tmp_path / "bin" / program
        script.parent.mkdir()
        script.write_text("#!/bin/sh\necho first >&2\necho it is broken >&2\nexit 3\n")
        script.chmod(0o755)
        with monkeypatch.context() as patch:
            patch.setenv("PATH", f"{script.parent}{os.pathsep}{os.environ['PATH']}")
            place = tmp_path / "store"
            # Undoing needs the real losetup and umount: the broken one is gone by then.
            script.write_text(script.read_text().replace("exit 3", f"rm {script}\nexit 3"))
            assert main(["testbed", "up", str(place), "--size", "16 MiB"]) == 2
        assert capsys.readouterr().err == f"penstock: {program}: it is broken\n"
        assert left(folder, place, token) == []

    def test_what_cannot_be_undone_is_kept_for_later(self, tmp_path: Path, folder: Path, token: str) -> None:
        def stubborn(command: Sequence[str]) -> str:
            if command[0] == "mount" or "--detach" in command:
                raise InputError(command[0], "will not")
            return system.run(command)

        place = tmp_path / "store"
        with pytest.raises(InputError) as caught:
            bed.up(place, "8 MiB/s", "16 MiB", stubborn)
        assert str(caught.value) == (
            f"{place}: mount: will not; it could not be undone (losetup: will not): try penstock testbed down"
        )
        assert bed.down(place)
        assert left(folder, place, token) == []

    @pytest.mark.parametrize("last", STEPS)
    def test_interrupted_after_any_step(
        self, last: str, tmp_path: Path, folder: Path, token: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Ctrl-C undoes what was done."""
        stop_after(last, monkeypatch, KeyboardInterrupt())
        with pytest.raises(KeyboardInterrupt):
            bed.up(tmp_path / "store", "8 MiB/s", "16 MiB")
        assert left(folder, tmp_path / "store", token) == []

    @pytest.mark.parametrize("last", STEPS)
    def test_crashed_after_any_step(
        self, last: str, tmp_path: Path, folder: Path, token: str, monkeypatch: pytest.MonkeyPatch, capsys: Capture
    ) -> None:
        """After a crash nothing is undone, and `down` finds all of it."""
        place = tmp_path / "store"
        with monkeypatch.context() as patch:
            stop_after(last, patch, RuntimeError("crashed"))
            patch.setattr(bed, "_roll_back", lambda *_: None)
            with pytest.raises(RuntimeError):
                bed.up(place, "8 MiB/s", "16 MiB")
        known = system.read_record(folder, place)
        assert known is not None
        assert list(known.steps) == STEPS[: STEPS.index(last) + 1]
        assert bed.condition(known) == "unfinished"
        assert len(left(folder, place, token)) > 1
        if place.exists():
            with pytest.raises(InputError, match="its test bed is not whole"):
                bed.find(place)
        assert main(["testbed", "up", str(place)]) == 2
        assert "was not finished" in capsys.readouterr().err
        assert bed.down(place)
        assert left(folder, place, token) == []

    def test_killed_half_way(self, tmp_path: Path, folder: Path, token: str) -> None:
        """The process that makes it is killed by a mkfs.ext4 of ours."""
        script = tmp_path / "bin" / "mkfs.ext4"
        script.parent.mkdir()
        script.write_text("#!/bin/sh\nkill -9 $PPID\n")
        script.chmod(0o755)
        environment = os.environ | {"PATH": f"{script.parent}{os.pathsep}{os.environ['PATH']}"}
        place = tmp_path / "store"
        command = [sys.executable, "-m", "penstock", "testbed", "up", str(place), "--size", "16 MiB"]
        assert subprocess.run(command, env=environment, timeout=60).returncode == -signal.SIGKILL
        known = system.read_record(folder, place)
        assert known is not None
        assert system.loops_of(Path(known.image))
        assert bed.down(place)
        assert left(folder, place, known.name) == []

    def test_what_is_not_ours_stays(self, tmp_path: Path, folder: Path, token: str) -> None:
        """Another file system over ours is not unmounted; once it is gone the rest of ours is removed."""
        place = tmp_path / "store"
        bed.up(place, "8 MiB/s", "16 MiB")
        system.run(["mount", "-t", "tmpfs", "tmpfs", str(place)])
        try:
            with pytest.raises(InputError, match=r"is mounted at .* too, or under another"):
                bed.down(place)
            assert [mount.kind for mount in system.mounts() if mount.at == str(place)] == ["ext4", "tmpfs"]
            with pytest.raises(InputError, match="is on another device than its test bed"):
                bed.find(place)
        finally:
            system.run(["umount", str(place)])
        assert bed.down(place)
        assert left(folder, place, token) == []

    def test_after_a_restart_of_the_machine(self, tmp_path: Path, folder: Path, token: str) -> None:
        """Mount, loop device and cgroup are gone; what is mounted there by now is not ours."""
        place = tmp_path / "store"
        made = bed.up(place, "8 MiB/s", "16 MiB")
        system.run(["umount", str(place)])
        system.run(["losetup", "--detach", str(made.device.path)])
        Path(made.state.group).rmdir()
        assert bed.condition(made.state) == "gone"
        system.run(["mount", "-t", "tmpfs", "tmpfs", str(place)])
        try:
            assert bed.down(place)
            assert [mount.kind for mount in system.mounts() if mount.at == str(place)] == ["tmpfs"]
        finally:
            system.run(["umount", str(place)])
        place.rmdir()
        assert left(folder, place, token) == []

    def test_in_use(self, tmp_path: Path, folder: Path, token: str) -> None:
        place = tmp_path / "store"
        made = bed.up(place, "8 MiB/s", "16 MiB")
        with subprocess.Popen(made.inside(["sleep", "60"])) as member:
            try:
                while not system.members(Path(made.state.group)):
                    pass
                with pytest.raises(InputError, match=rf"processes run in its cgroup \({member.pid}\)"):
                    bed.down(place)
            finally:
                member.kill()
        with (place / "file").open("w"), pytest.raises(InputError, match=r"umount: .*target is busy"):
            bed.down(place)
        assert bed.down(place)
        assert left(folder, place, token) == []


def stop_after(last: str, patch: pytest.MonkeyPatch, error: BaseException) -> None:
    """Have `up` raise when a step is done."""
    steps = bed._steps

    def stop() -> None:
        raise error

    def and_stop(action: object) -> object:
        return lambda: (action(), stop())  # type: ignore[operator]

    def replaced(made: BedRecord, run: system.Runner) -> list[tuple[str, object]]:
        return [(step, and_stop(action) if step == last else action) for step, action in steps(made, run)]

    patch.setattr(bed, "_steps", replaced)
