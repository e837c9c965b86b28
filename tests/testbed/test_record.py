"""What was made is written down."""

import threading
from pathlib import Path

import pytest

from penstock.model import InputError
from penstock.testbed import system
from penstock.testbed.system import BedRecord

ONE = BedRecord("penstock-1", "/mnt/one", 1000, 2000, "/beds/penstock-1.img", "/groups/penstock-1")


def test_a_state_is_read_as_it_was_written(tmp_path: Path) -> None:
    begun = ONE.begun("image").begun("loop")
    system.write_record(tmp_path, begun)
    assert system.read_record(tmp_path, Path("/mnt/one")) == begun
    assert begun.steps == ("image", "loop")
    assert system.read_records(tmp_path) == [begun]
    assert system.read_record(tmp_path, Path("/mnt/two")) is None


def test_the_last_one_that_is_forgotten_takes_the_folder_along(tmp_path: Path) -> None:
    folder = tmp_path / "beds"
    folder.mkdir()
    other = BedRecord("penstock-2", "/mnt/two", 1, 2, "i", "g")
    for known in (ONE, other):
        system.write_record(folder, known)
    system.forget_record(folder, ONE)
    assert system.read_records(folder) == [other]
    system.forget_record(folder, other)
    assert not folder.exists()


@pytest.mark.parametrize("text", ["", "{", "[]", '{"steps": []}', '{"name": "x"}'])
def test_a_file_that_is_no_state_is_refused(text: str, tmp_path: Path) -> None:
    path = system.path_of_record(tmp_path, Path("/mnt/one"))
    path.write_text(text)
    with pytest.raises(InputError, match="is not the state of a test bed"):
        system.read_record(tmp_path, Path("/mnt/one"))


def test_one_at_a_time_also_where_the_folder_comes_and_goes(tmp_path: Path) -> None:
    folder = tmp_path / "beds"
    inside, most = [0], []

    def enter() -> None:
        for _ in range(50):
            with system.locked(folder):
                inside[0] += 1
                most.append(inside[0])
                assert folder.is_dir()
                inside[0] -= 1

    threads = [threading.Thread(target=enter) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1] * 200
    assert not folder.exists()


def test_a_folder_that_cannot_be(tmp_path: Path) -> None:
    (tmp_path / "beds").touch()
    with pytest.raises(InputError, match="cannot be used: Not a directory"), system.locked(tmp_path / "beds"):
        pass
