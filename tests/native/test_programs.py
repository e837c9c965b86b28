"""Programs into which nothing can be preloaded are recognised, and others are not accused."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from penstock.native.launch import unseen_because

HELLO = "int main(void) { return 0; }\n"
needs_compiler = pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")


@pytest.mark.parametrize("program", ["sh", "cat", sys.executable, "/usr/bin/env"])
def test_common_programs_are_seen(program: str) -> None:
    assert unseen_because(program) is None


def test_a_program_that_is_not_there() -> None:
    assert unseen_because("no-such-program-anywhere") is None


@needs_compiler
def test_a_static_program_and_a_script_for_it(tmp_path: Path) -> None:
    source, program, script = tmp_path / "hello.c", tmp_path / "hello", tmp_path / "script"
    source.write_text(HELLO)
    subprocess.run(["gcc", "-static", "-o", program, source], check=True)
    assert unseen_because(str(program)) == f"{program} is linked statically, so nothing can be preloaded into it"
    script.write_text(f"#!{program}\n")
    script.chmod(0o755)
    assert unseen_because(str(script)) == f"{program} is linked statically, so nothing can be preloaded into it"


def test_a_script_by_env(tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text("#!/usr/bin/env -S VALUE=1 sh\necho\n")
    script.chmod(0o755)
    assert unseen_because(str(script)) is None


@pytest.mark.skipif(os.getuid() != 0, reason="needs root, to give a program the rights of another user")
def test_the_rights_of_another_user(tmp_path: Path) -> None:
    program = tmp_path / "cat"
    shutil.copy("/bin/cat", program)
    os.chown(program, 65534, 65534)
    program.chmod(0o755 | stat.S_ISUID)
    reason = unseen_because(str(program))
    assert reason == f"{program} runs with the rights of another user, so the system preloads nothing into it"


def test_a_go_program(tmp_path: Path) -> None:
    """The head of a dynamic ELF program with Go's build note, which Go's linker puts near the beginning."""
    program = tmp_path / "go"
    head = bytearray(Path(shutil.which("cat") or "/bin/cat").read_bytes()[:4096])
    head[2048:2059] = b"Go build ID"
    program.write_bytes(bytes(head))
    program.chmod(0o755)
    assert unseen_because(str(program)) == f"{program} is a Go program, which calls the kernel without the C library"
