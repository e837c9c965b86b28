"""Where the coordinator is, and its token."""

import os
from pathlib import Path

import pytest

from penstock.live.client import AddressError, environment
from penstock.live.client.environment import Tcp, Unix, check_owner, default_socket, find_token, read_token
from penstock.live.client.environment import find_address as find
from penstock.live.client.environment import parse_address as parse


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/run/p.sock", Unix(Path("/run/p.sock"))),
        ("p.sock", Unix(Path("p.sock").absolute())),
        ("./a:1", Unix(Path("a:1").absolute())),
        ("login1:7000", Tcp("login1", 7000)),
        ("[::1]:7000", Tcp("::1", 7000)),
    ],
)
def test_parse(text: str, expected: Unix | Tcp) -> None:
    assert parse(text) == expected
    assert parse(str(expected)) == expected


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "no address"),
        ("a\0b", "no address"),
        ("host:", "no port"),
        ("host:0", "no port"),
        ("host:65536", "no port"),
        ("host:http", "no port"),
        (":80", "no host"),
        ("::1:80", "no host"),
        ("/" + 107 * "x", "too long"),
    ],
)
def test_what_is_no_address_is_refused_in_one_line(text: str, says: str) -> None:
    with pytest.raises(AddressError, match=says) as caught:
        parse(text)
    assert "\n" not in str(caught.value)
    assert "expected" in str(caught.value)


def test_argument_over_environment_over_default(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(environment, "MACHINE_SOCKET", tmp_path / "machine.sock")
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    monkeypatch.delenv("PENSTOCK_SOCKET", raising=False)
    assert default_socket() == Path(f"/tmp/penstock-{os.getuid()}/penstock.sock")
    (tmp_path / "machine.sock").touch()
    assert find() == Unix(tmp_path / "machine.sock")
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    assert find() == Unix(tmp_path / "machine.sock")  # the user runs none
    assert environment.own_socket() == tmp_path / "penstock.sock"
    (tmp_path / "penstock.sock").touch()
    assert find() == Unix(tmp_path / "penstock.sock")
    (tmp_path / "penstock.sock").unlink()
    (tmp_path / "machine.sock").unlink()
    assert find() == Unix(tmp_path / "penstock.sock")
    monkeypatch.setenv("PENSTOCK_SOCKET", "login1:7000")
    assert find() == Tcp("login1", 7000)
    assert find("/a") == find(Path("/a")) == find(Unix(Path("/a"))) == Unix(Path("/a"))


def test_a_folder_of_ones_own_must_be_ones_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(environment, "own_folder", lambda: tmp_path)
    check_owner(Unix(tmp_path / "penstock.sock"))
    monkeypatch.setattr(os, "getuid", lambda: tmp_path.stat().st_uid + 1)
    with pytest.raises(PermissionError, match="belongs to another user"):
        check_owner(Unix(tmp_path / "penstock.sock"))
    check_owner(Unix(tmp_path / "told" / "penstock.sock"))
    check_owner(Tcp("a", 1))


def test_a_folder_that_another_user_made_keeps_nobody_from_the_machines_coordinator(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(environment, "MACHINE_SOCKET", tmp_path / "machine.sock")
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    monkeypatch.delenv("PENSTOCK_SOCKET", raising=False)
    taken = tmp_path / "taken"
    taken.mkdir()
    (taken / "penstock.sock").touch()
    monkeypatch.setattr(environment, "own_folder", lambda: taken)
    assert find() == Unix(taken / "penstock.sock")
    assert caplog.text == ""
    monkeypatch.setattr(os, "getuid", lambda: tmp_path.stat().st_uid + 1)
    assert find() == Unix(tmp_path / "machine.sock")
    assert f"{taken} belongs to another user, so no coordinator of yours is looked for there" in caplog.text
    assert "if you run one, set PENSTOCK_SOCKET" in caplog.text


def test_a_link_in_place_of_ones_folder_is_not_followed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    monkeypatch.setattr(environment, "own_folder", lambda: tmp_path / "link")
    with pytest.raises(PermissionError, match="belongs to another user"):
        check_owner(Unix(tmp_path / "link" / "penstock.sock"))


def test_a_socket_that_is_not_ones_own_leaves_the_machines(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    machine, folder = tmp_path / "machine.sock", tmp_path / "own"
    folder.mkdir()
    (folder / "penstock.sock").touch()
    machine.touch()
    monkeypatch.setattr(environment, "MACHINE_SOCKET", machine)
    monkeypatch.setattr(environment, "own_folder", lambda: folder)
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    assert default_socket() == folder / "penstock.sock"
    with monkeypatch.context() as other:
        other.setattr(os, "getuid", lambda: folder.stat().st_uid + 1)
        assert default_socket() == machine
    machine.touch()
    monkeypatch.setenv("XDG_RUNTIME_DIR", "/" + 300 * "x")  # as a folder of another user: it cannot be looked into
    assert default_socket() == machine


def test_a_token_is_read_from_a_file_of_ones_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "token"
    file.write_text("secret\n")
    file.chmod(0o600)
    assert read_token(file) == "secret"
    assert find_token(file, Unix(Path("/a"))) == ""
    monkeypatch.delenv("PENSTOCK_TOKEN_FILE", raising=False)
    assert find_token(None, Tcp("a", 1)) == ""
    monkeypatch.setenv("PENSTOCK_TOKEN_FILE", str(file))
    assert find_token(None, Tcp("a", 1)) == "secret"


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660])
def test_a_token_others_can_read_is_refused(tmp_path: Path, mode: int) -> None:
    file = tmp_path / "token"
    file.write_text("secret")
    file.chmod(mode)
    with pytest.raises(AddressError, match=f"others may use it \\(mode {mode:04o}\\); expected mode 0600$"):
        read_token(file)


@pytest.mark.parametrize(
    ("content", "says"), [(b"\n", "0 characters"), (513 * b"x", "513 characters"), (b"\xff", "not UTF-8")]
)
def test_a_token_that_is_none_is_refused(tmp_path: Path, content: bytes, says: str) -> None:
    file = tmp_path / "token"
    file.write_bytes(content)
    file.chmod(0o600)
    with pytest.raises(AddressError, match=says):
        read_token(file)
    with pytest.raises(AddressError, match="No such file"):
        read_token(tmp_path / "none")
