"""The demo workload as a file."""

from pathlib import Path

import pytest

from penstock.cli.main import main


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("demo") / "demo.json"
    assert main(["generate", "demo", "-o", str(path)]) == 0
    return path
