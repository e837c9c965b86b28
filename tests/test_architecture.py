"""The shape of the code: the map in the documentation, imports without cycles, class names, the mirrored tests."""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src"
SAME_KIND = {"client", "mpi"}
"""Packages that only name what another one holds; its tests are theirs."""


def name_of(path: Path) -> str:
    return ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")


@cache
def modules() -> dict[str, ast.Module]:
    """Every module and package by its full name."""
    paths = sorted((SOURCE / "penstock").rglob("*.py"))
    return {name_of(path): ast.parse(path.read_text(encoding="utf-8")) for path in paths}


def packages() -> set[str]:
    return {name_of(path) for path in SOURCE.rglob("__init__.py")}


def plain_modules() -> set[str]:
    return set(modules()) - packages()


def first_line(module: str) -> str:
    return (ast.get_docstring(modules()[module]) or "").partition("\n")[0]


def test_the_map_lists_every_module_and_nothing_else() -> None:
    page = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    listed = Counter(re.findall(r"^\| `([\w.]+)` \| \S", page, re.MULTILINE))
    there = {module.removeprefix("penstock.") for module in plain_modules()}
    missing = [f"| `{module}` | {first_line('penstock.' + module)} |" for module in sorted(there - set(listed))]
    assert not missing, "add to docs/architecture.md:\n" + "\n".join(missing)
    assert sorted(set(listed) - there) == []
    assert max(listed.values()) == 1


@pytest.mark.parametrize("flow", ["simulation", "campaign", "live"])
def test_the_flows_name_modules_that_exist(flow: str) -> None:
    drawn = (ROOT / f"docs/images/flow-{flow}.svg").read_text(encoding="utf-8")
    named = set(re.findall(r">([a-z_]+(?:\.[a-z_]+)+)<", drawn))
    assert len(named) > 4
    assert [name for name in sorted(named) if f"penstock.{name}" not in modules()] == []


def test_every_module_is_on_one_page_of_the_reference() -> None:
    pages = defaultdict(list)
    for page in sorted((ROOT / "docs/reference").glob("*.md")):
        for module in re.findall(r"^::: (\S+)", page.read_text(encoding="utf-8"), re.MULTILINE):
            pages[module].append(page.name)
    assert {module: found for module, found in pages.items() if len(found) > 1} == {}
    missing = plain_modules() - set(pages) - {"penstock.__main__"}
    assert not missing, "add to docs/reference:\n" + "\n".join(f"::: {module}" for module in sorted(missing))
    assert sorted(set(pages) - set(modules())) == []


def test_every_page_is_in_the_navigation() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    pages = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")}
    assert [page for page in sorted(pages) if f": {page}\n" not in navigation] == []


def top_level(tree: ast.Module) -> Iterator[ast.Import | ast.ImportFrom]:
    """The imports that run when the module is imported: not those in functions, nor for type checkers alone."""
    waiting: list[ast.stmt] = list(tree.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        elif isinstance(node, ast.If) and "TYPE_CHECKING" not in ast.unparse(node.test):
            waiting += node.body + node.orelse
        elif isinstance(node, ast.Try):
            waiting += node.body + node.orelse + node.finalbody


def targets(node: ast.Import | ast.ImportFrom) -> Iterator[str]:
    """The modules that an import names: ``from a import b`` names a.b if that is a module, else a."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    else:
        for alias in node.names:
            inside = f"{node.module}.{alias.name}"
            yield inside if inside in modules() else str(node.module)


def with_parents(module: str) -> set[str]:
    parts = module.split(".")
    return {".".join(parts[:end]) for end in range(1, len(parts) + 1)}


def imported(module: str) -> set[str]:
    """What the import of a module makes run: its targets, and the ``__init__`` of the packages around them.

    The packages around the module itself have begun to run before it, so they count only where it names them.
    """
    named = {target for node in top_level(modules()[module]) for target in targets(node)}
    implied = {parent for target in named for parent in with_parents(target)} - with_parents(module)
    return (named | implied) & set(modules()) - {module}


def test_no_modules_import_each_other() -> None:
    """Not through the ``__init__`` of a package either."""
    try:
        TopologicalSorter({module: imported(module) for module in modules()}).prepare()
    except CycleError as error:
        raise AssertionError(" → ".join(error.args[1])) from None


def test_no_two_public_classes_share_a_name() -> None:
    homes = defaultdict(list)
    for module, tree in modules().items():
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes[node.name].append(module)
    assert {name: found for name, found in homes.items() if len(found) > 1} == {}


def test_every_folder_has_its_folder_of_tests() -> None:
    """``src/penstock/x`` has ``tests/x``; each paper, a folder there, has a module ``tests/papers/test_<paper>.py``."""
    folders = {package.removeprefix("penstock").lstrip(".").replace(".", "/") for package in packages()} - SAME_KIND - {""}
    without = [folder for folder in sorted(folders) if not list((ROOT / "tests" / folder).rglob("test_*.py"))]
    papers = [f"papers/{path.stem.removeprefix('test_')}" for path in (ROOT / "tests/papers").glob("test_*.py")]
    assert [folder for folder in without if folder not in papers] == []


def test_every_folder_of_tests_has_its_folder() -> None:
    others = {"docs", "native"}  # of the documentation; of the C library, which is in native
    folders = {path.parent.relative_to(ROOT / "tests").as_posix() for path in (ROOT / "tests").rglob("test_*.py")} - {"."}
    assert [folder for folder in sorted(folders - others) if not (SOURCE / "penstock" / folder).is_dir()] == []
