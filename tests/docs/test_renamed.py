"""The page of old and new names has all of `penstock.renamed` and nothing else."""

import re
from importlib import import_module
from pathlib import Path

import pytest

from penstock.renamed import MODULES, NAMES, new_place


def rows(site: Path) -> list[tuple[str, str]]:
    page = (site / "renamed.html").read_text(encoding="utf-8")
    return re.findall(r"<td><code>penstock\.([\w.]+)</code></td>\s*<td><code>penstock\.([\w.]+)</code></td>", page)


def test_the_page_lists_what_was_renamed(site: Path) -> None:
    modules = list(MODULES.items())
    names = [(f"{old}.{name}", new_place(old, name)) for old, renamed in NAMES.items() for name in renamed]
    found = rows(site)
    assert set(modules + names) <= set(found)
    assert len(found) == len(set(found))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_every_row_of_the_page_is_true(site: Path) -> None:
    """Also those that a module says of its own old names."""
    for old, new in rows(site):
        if old in MODULES:
            assert import_module(f"penstock.{new}").__name__ == f"penstock.{new}"
        else:
            (module, _, name), (old_module, _, old_name) = new.rpartition("."), old.rpartition(".")
            old_home = import_module(f"penstock.{old_module}")
            assert getattr(old_home, old_name) is getattr(import_module(f"penstock.{module}"), name)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("workloads.apex.Job", "ApexJob"),
        ("workloads.apex.Schedule", "ApexSchedule"),
        ("workloads.swf.Trace", "SwfTrace"),
        ("engine.result.Measured", "RunMeasures"),
        ("planning.placement.planner.Plan", "PlacementPlan"),
        ("planning.partition.Part", "BandwidthPart"),
        ("planning.strategy.Strategy", "BatchStrategy"),
    ],
)
def test_classes_that_stayed_in_their_modules_have_their_old_names(old: str, new: str) -> None:
    module, _, name = old.rpartition(".")
    home = import_module(f"penstock.{module}")
    with pytest.warns(DeprecationWarning, match=f"{name} is now penstock.{module}.{new}; the old name goes with 0.3"):
        assert getattr(home, name) is getattr(home, new)
