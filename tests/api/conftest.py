"""Workloads as files, for the functions and for the commands."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import penstock
from penstock.cli.main import main
from penstock.workloads import demo as demo_workload
from tests.cli import test_buffer, test_pack, test_place

Printed = Callable[..., dict[str, Any]]


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("demo") / "demo.json"
    penstock.write(demo_workload(), path)
    return path


@pytest.fixture
def jobs(tmp_path: Path) -> str:
    return test_pack.written(tmp_path / "jobs.json")


@pytest.fixture
def curved(tmp_path: Path) -> str:
    return test_place.written(tmp_path / "curved.json", directory="/scratch/a")


@pytest.fixture
def writers(tmp_path: Path) -> str:
    return test_buffer.written(tmp_path / "writers.json")


@pytest.fixture
def printed(capsys: pytest.CaptureFixture[str]) -> Printed:
    """What a command prints with --json."""

    def run(*arguments: object, code: int = 0) -> dict[str, Any]:
        assert main([*map(str, arguments), "--json"]) == code
        return dict(json.loads(capsys.readouterr().out))

    return run
