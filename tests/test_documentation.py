"""What the documentation says of the code is so."""

import ast
import json
import re
from pathlib import Path
from typing import Any

import pytest

from penstock.engine import simulate
from penstock.model.files import from_document
from penstock.policies import REGISTRY, View, find
from tests.workloads.curves import small

ROOT = Path(__file__).parents[1]


def code(page: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.parametrize("name", REGISTRY)
def test_every_policy_has_its_line(name: str) -> None:
    assert f"\n| `{name}` |" in (ROOT / "docs/policies.md").read_text(encoding="utf-8")


def test_the_workload_shown_can_be_run() -> None:
    (text,) = code("docs/workloads.md", "json")
    result = simulate(from_document(json.loads(text)), "fair-share", check=True)
    assert 0.0 < result.min_yield <= 1.0


def test_the_curves_shown_can_be_drawn_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (text,) = code("docs/workloads.md", "python")
    small(tmp_path / "results.csv")
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    exec(text, names)
    assert len(names["workload"].applications) == 40
    assert names["belief"].bandwidths[0] == pytest.approx(names["workload"].applications[0].curve.bandwidths[0])
    assert "stand-in" in names["stand_in"].label


def test_the_pair_shown_can_be_run() -> None:
    names: dict[str, Any] = {}
    exec("\n".join(code("docs/delta.md", "python")), names)
    # B posts in the middle of A's second file and is served from its end on: half a second, and one to write.
    assert names["times"] == pytest.approx((5.0, 1.5))
    assert names["graph"].changes["coordinating"]


def test_the_policy_shown_can_be_run(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text("\n".join(code("docs/own-policy.md", "python")))
    (workload,) = (from_document(json.loads(text)) for text in code("docs/workloads.md", "json"))
    plain = simulate(workload, find(f"{file}:smallest_first"))
    assert simulate(workload, find(f"{file}:SMALLEST_FIRST")).yields.tolist() == plain.yields.tolist()


def test_every_field_of_the_view_is_explained() -> None:
    page = (ROOT / "docs/own-policy.md").read_text(encoding="utf-8")
    assert not [field for field in View._fields if f"`{field}`" not in page]


def defined() -> dict[str, set[str]]:
    """The public classes and what their bodies define."""
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in (ROOT / "src/penstock").rglob("*.py")]
    found: dict[str, set[str]] = {}
    for node in (node for tree in trees for node in tree.body if isinstance(node, ast.ClassDef)):
        fields = {
            item.target.id for item in node.body if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name)
        }
        found.setdefault(node.name, set()).update(
            fields, {item.name for item in node.body if isinstance(item, ast.FunctionDef)}
        )
    return found


def test_the_glossary_names_classes_and_attributes_that_exist() -> None:
    page = (ROOT / "docs/glossary.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`([A-Z]\w+)(?:\.(\w+))?`", page))
    assert len(named) > 30
    classes = defined()
    assert [(name, part) for name, part in sorted(named) if name not in classes or part not in classes[name] | {""}] == []
