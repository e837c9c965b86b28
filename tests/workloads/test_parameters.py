"""Parameters that describe themselves, and generators that make the same from a command line and in a campaign."""

import doctest
import shlex
from dataclasses import MISSING, dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock import read
from penstock.campaign import SOURCES, Cell
from penstock.campaign.sources import source
from penstock.cli.main import main
from penstock.model import InputError, Workload
from penstock.workloads.generators import GENERATORS
from penstock.workloads.parameters import parameter, parameters_of, parse
from tests.workloads import curves
from tests.workloads.traces import line, write

BATCH = {
    "profile": ["binormal", "normal"],
    "fewest": [2, 3],
    "most": [4, 5],
    "shortest": [2, 3],
    "longest": [5, 8],
    "nodes": [64, 4096],
}
VALUES: dict[str, dict[str, list[Any]]] = {
    "demo": {},
    "synthetic": {
        "pressure": [0.5, 1.2],
        "small": [0, 3],
        "sigma": [0, 0.3],
        "noise": [0.0, 0.9],
        "horizon": [3000.0, "1 h"],
        "applications": [5, 30],
        "node_share": [0.25],
        "largest": [8],
    },
    "apex": {"workload": ["trilab"], "machine": ["cielo", "M_3"], "count": [1, 2], "start": ["cut", "fresh"]},
    "bicolored": {
        "case": ["general", "uniform"],
        "noise": [0.0, 0.3],
        "fewest": [1, 2],
        "most": [2, 9],
        "law": ["uniform", "normal", "gamma", "lognormal"],
    },
    "jacobi": {"batches": [0.02, 0.5]},
    "packs": {"load": [0.5, 1], "variance": [0, 0.2], **BATCH},
    "uniform": {"load": [0.5, 1], "variance": [0, 0.2], **BATCH},
    "mira": {"load": [0.3, 0.5], "sigma": [0.05], "bandwidth": [1e12, "2 TB/s"], **BATCH},
    "distributed": {
        "load": [0.1, 0.2],
        "applications": [8, 11],
        "resources": [3, 20],
        "curves": ["io-nodes", "osts", "curves.csv"],
        "statistic": ["mean", "best"],
    },
    "lanl": {
        "load": [0.4, 1],
        "mtbf": [5, 50.0],
        "applications": [2, 4],
        "walltimes": ["printed", "apex"],
        "variability": [0, 0.3],
    },
    "swf": {
        "path": ["trace.swf"],
        "since": ["1 h", "2001-09-09T03:00"],
        "duration": ["2 d", 172_800],
        "release": ["submit", "start"],
        "nodes": [50],
        "cores_per_node": [2],
        "iterations": [1, 7],
        "io_fraction": [0.2],
        "io_sigma": [0, 0.2],
        "io_most": [0.5],
        "bandwidth": ["10 GB/s", 2.0],
        "node_bandwidth": ["1 GB/s"],
    },
}
"""Some values of every parameter of every kind, small enough to be made in no time."""
RANGES = ("fewest", "most", "shortest", "longest")
ALWAYS = {"synthetic": ("horizon",), "lanl": ("applications",), **dict.fromkeys(("packs", "uniform", "mira"), RANGES)}
"""Parameters that are always given, as the defaults take long."""


@st.composite
def chosen(draw: st.DrawFn) -> tuple[str, dict[str, Any], int]:
    """A kind, some of its parameters, and a seed."""
    kind = draw(st.sampled_from(sorted(VALUES)))
    needed = {each.name for each in parameters_of(SOURCES[kind].parameters) if each.required} | set(ALWAYS.get(kind, ()))
    names = [name for name in VALUES[kind] if name in needed or draw(st.booleans())]
    return kind, {name: draw(st.sampled_from(VALUES[kind][name])) for name in names}, draw(st.integers(0, 2**40))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("kinds")
    curves.small(made / "curves.csv")
    write(made / "trace.swf", *(line(number, 5000 * number) for number in range(1, 6)))
    return made


def by_command(kind: str, chosen_parameters: dict[str, Any], seed: int, folder: Path) -> list[Workload]:
    """What ``penstock generate`` writes."""
    options = dict(chosen_parameters)
    words = [options.pop("path")] if "path" in options else []
    words += [f"--{name.replace('_', '-')}={value}" for name, value in options.items()]
    words += [f"--seed={seed}"] if GENERATORS[kind].seeded else []
    several = GENERATORS[kind].several
    output = folder / "windows" if several else folder / "w.parquet"
    assert main(["generate", kind, *words, "-o", str(output)]) == 0
    files = sorted(output.glob("*")) if several else [output]
    workloads = [read(file) for file in files]
    for file in files:
        file.unlink()
    return workloads


def test_there_are_values_for_every_parameter_of_every_kind() -> None:
    assert set(VALUES) == set(GENERATORS)
    assert set(SOURCES) == {*GENERATORS, "file"}
    for kind, values in VALUES.items():
        assert set(values) == {each.name for each in parameters_of(SOURCES[kind].parameters) if not each.hidden}, kind
        assert set(values) == {each.name for each in parameters_of(GENERATORS[kind].parameters)}, kind


@settings(max_examples=60, deadline=None)
@given(chosen())
def test_a_command_and_a_campaign_make_the_same(folder: Path, example: tuple[str, dict[str, Any], int]) -> None:
    kind, given_parameters, seed = example
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        cell = Cell(kind, given_parameters, seed, "fcfs")
        made = source(kind).make(source(kind).parse(cell.parameters), seed)
        assert by_command(kind, given_parameters, seed, folder) == list(made)
        # The command that a campaign prints for the cell makes it too.
        command, file = source(kind).recipe(source(kind).parse(cell.parameters), seed, 0)
        assert main(shlex.split(command)[1:]) == 0
        assert read(file) == made[0]
        for written in Path("w").glob("*") if GENERATORS[kind].several else [Path(file)]:
            written.unlink()


def test_thirty_applications_are_ten_of_each_size() -> None:
    (workload,) = source("synthetic").make(source("synthetic").parse({"applications": 30, "horizon": 3000.0}), 1)
    names = [application.name.partition("-")[0] for application in workload.applications]
    assert names == ["small"] * 10 + ["medium"] * 10 + ["big"] * 10


def test_the_key_of_a_cell_is_that_of_the_number_spelled_out() -> None:
    assert (
        Cell("synthetic", {"applications": 30}, 1, "fcfs").key
        == Cell("synthetic", {"applications": 30, "small": 10, "pressure": 1.0}, 1, "fcfs").key
    )


@pytest.mark.parametrize("kind", GENERATORS)
def test_the_help_shows_every_parameter_with_its_default(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["generate", kind, "--help"])
    text = " ".join(capsys.readouterr().out.split())
    for each in parameters_of(GENERATORS[kind].parameters):
        if each.name == "path":
            assert each.help in text
            continue
        assert " ".join(each.text.split()) in text
        assert all(option in text for option in each.options)


def reference(kind: str) -> str:
    """The section of the reference about the kind, as it must be."""
    generator = GENERATORS[kind]
    lines = [f"### {kind}", "", generator.description]
    rows = [
        f"| `{each.name}` | {', '.join(f'`{option}`' for option in each.options) if each.name != 'path' else 'TRACE'} "
        f"| {each.meaning} | {'required' if each.required else each.default_text} |"
        for each in parameters_of(generator.parameters)
    ]
    if rows:
        lines += ["", "| parameter | option | meaning | default |", "|---|---|---|---|", *rows]
    return "\n".join([*lines, ""])


@pytest.mark.parametrize("kind", GENERATORS)
def test_the_reference_is_what_the_parameters_say(kind: str) -> None:
    page = (Path(__file__).parents[2] / "docs/reference/workloads.md").read_text(encoding="utf-8")
    assert f"\n{reference(kind)}" in page


@dataclass(frozen=True)
class Base:
    """A class to try `parameter` on."""

    length: float = parameter("how long", unit="seconds", symbol="h", aliases=("span",))
    count: int | None = parameter("how many", None, default_text="all")
    rate: float = parameter("how fast", 240e9, unit="bytes/s")
    name: str = parameter("which", "any", added_later=True, hidden=True)


@dataclass(frozen=True)
class Other(Base):
    """Another default, with the same description."""

    rate: float = 2e6


def test_what_a_parameter_says() -> None:
    length, count, rate, name = parameters_of(Base)
    assert length.required
    assert length.default is MISSING
    assert length.options == ("--length", "--span")
    assert length.text == "h: how long, in seconds (required)"
    assert (count.type, count.text) == (int, "how many (default: all)")
    assert rate.text == "how fast, in bytes/s (default: 240 GB/s)"
    assert (name.added_later, name.hidden) == (True, True)
    assert [each.text for each in parameters_of(Other)][2] == "how fast, in bytes/s (default: 2 MB/s)"


def test_values_with_units() -> None:
    assert parse(Base, {"length": "2 min", "count": 3, "rate": "1 GB/s"}) == Base(120.0, 3, 1e9)
    length, count, _, _ = parameters_of(Base)
    assert length.convert_text("2 min") == 120.0
    assert count.convert_text("3") == 3


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({}, "length: is missing; expected a value"),
        ({"lenght": 1}, "lenght: unknown; expected one of length, count, rate; did you mean length?"),
        ({"x": 1}, "x: unknown; expected one of length, count, rate"),
        ({"length": "2 moons"}, "length: '2 moons' has the unknown unit 'moons'; expected one of ns, us"),
        ({"length": 1, "count": 2.5}, "count: 2.5 is not a whole number; expected one"),
        ({"length": 1, "name": 2}, "name: 2 is not a text; expected one"),
    ],
)
def test_wrong_values(document: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        parse(Base, document)
    assert str(caught.value).startswith(message)


def test_a_field_without_a_description_is_a_mistake() -> None:
    @dataclass(frozen=True)
    class Bare:
        """A class that forgot to describe its field."""

        length: float = 1.0

    with pytest.raises(TypeError, match=r"Bare\.length has no description; expected a field made by parameter\(\)"):
        parameters_of(Bare)


@pytest.mark.parametrize(
    "name",
    [
        "model.parse_units",
        "model.errors",
        "report.format_units",
        "workloads.parameters",
        "workloads.synthetic",
    ],
)
def test_the_examples_are_true(name: str) -> None:
    tried = doctest.testmod(import_module(f"penstock.{name}"))
    assert tried.attempted > 0
    assert tried.failed == 0
