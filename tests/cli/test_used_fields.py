"""Every field of a workload file: a command uses it, refuses it, or says in one line that it does not use it."""

import copy
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from penstock.cli.main import main
from penstock.cli.used_fields import _COMMANDS, _FIELDS, Case, note_unused
from penstock.model import Application, InputError, Platform, Workload
from penstock.model.files import APPLICATION_KEYS, PLATFORM_KEYS, fields, from_document
from penstock.policies import find

Capture = pytest.CaptureFixture[str]
Document = dict[str, Any]

CHAINS = (
    [["work", 5], ["read", 8], ["work", 3], ["write", 12], ["io", 6]],
    [["read", 4], ["work", 4], ["write", 9], ["work", 2], ["io", 7]],
    [["work", 2], ["io", 10], ["read", 6], ["work", 6], ["write", 5]],
)
CURVES = ({"1": 2.0, "2": 3.0, "3": 3.5}, {"1": 1.5, "2": 2.5}, {"1": 1.0, "2": 1.8, "3": 2.0})


def link() -> Document:
    applications = [{"name": name, "nodes": 2 + index, "phases": CHAINS[index]} for index, name in enumerate("abc")]
    return {"penstock": 1, "platform": {"bandwidth": 4.0, "nodes": 20}, "applications": applications}


def buffered() -> Document:
    return with_value(link(), "platform.buffer", {"size": 6.0, "bandwidth": 3.0})


def resources() -> Document:
    document = with_value(link(), "platform.resources", 3)
    for application, curve in zip(document["applications"], CURVES, strict=True):
        application["curve"] = curve
    return document


def buffered_resources() -> Document:
    return with_value(resources(), "platform.buffer", {"size": 6.0, "bandwidth": 3.0})


def counted() -> Document:
    """I/O resources, and no more known than how many are best."""
    return with_each(with_value(link(), "platform.resources", 3), "best_count", (1, 2, 3))


SITUATIONS: dict[str, Callable[[], Document]] = {
    made.__name__: made for made in (link, buffered, resources, buffered_resources, counted)
}


def with_value(document: Document, path: str, value: object) -> Document:
    changed = copy.deepcopy(document)
    *way, last = path.split(".")
    place = changed
    for key in way:
        place = place.setdefault(key, {})
    place[last] = value
    return changed


def with_each(document: Document, name: str, values: object) -> Document:
    """One value for all applications, or a tuple with one for each."""
    changed = copy.deepcopy(document)
    for index, application in enumerate(changed["applications"]):
        application[name] = values[index] if isinstance(values, tuple) else values
    return changed


def platform(name: str, one: object, other: object) -> Callable[[Document], tuple[Document, ...]]:
    return lambda document: tuple(with_value(document, f"platform.{name}", value) for value in (one, other))


def each(name: str, one: object, other: object, **also: object) -> Callable[[Document], tuple[Document, ...]]:
    def change(document: Document) -> tuple[Document, ...]:
        common = {**document, "window": [0, 30]} if also.get("window") else document
        if "release" in also:
            common = with_each(common, "release", also["release"])
        return tuple(with_each(common, name, value) for value in (one, other))

    return change


def windows(document: Document) -> tuple[Document, ...]:
    later = with_each(document, "release", (0, 2, 4))
    return {**later, "window": [0, 18]}, {**later, "window": [1, 20]}


def ends_of_windows(document: Document) -> tuple[Document, ...]:
    later = with_each(document, "release", (0, 2, 4))
    return {**later, "window": [0, 18]}, {**later, "window": [0, 12]}


CHANGES: dict[str, Callable[[Document], tuple[Document, ...]]] = {
    "platform.bandwidth": platform("bandwidth", 4.0, 3.0),
    "platform.node_bandwidth": platform("node_bandwidth", 0.5, 0.75),
    "platform.nodes": platform("nodes", 20, 3),
    "platform.resources": platform("resources", 3, 2),
    "platform.read_bandwidth": platform("read_bandwidth", 0.5, 0.75),
    "platform.write_bandwidth": platform("write_bandwidth", 0.5, 0.75),
    "platform.buffer": platform("buffer", {"bandwidth": 0.5}, {"bandwidth": 0.75}),
    "platform.buffer.size": platform("buffer.size", 0.5, 0.1),
    "platform.buffer.bandwidth": platform("buffer", {"size": 6.0, "bandwidth": 0.5}, {"size": 6.0, "bandwidth": 0.75}),
    "platform.buffer.resources": platform("buffer", {"size": 6.0, "resources": [0, 1, 2]}, {"size": 6.0, "resources": [1]}),
    "platform.degradation": platform("degradation", {"2": 0.5}, {"2": 0.8}),
    "window": windows,
    "window[1]": ends_of_windows,
    "applications[].nodes": each("nodes", (2, 3, 4), (14, 2, 1)),
    "applications[].release": each("release", (0, 1, 3), (0, 2, 5)),
    "applications[].lead": each("lead", (0, 1, 3), (2, 1, 0)),
    "applications[].bandwidth": each("bandwidth", 0.5, 0.75),
    "applications[].progress": each("progress", (1, 4, 2), (5, 1, 0), window=True, release=-6),
    "applications[].nominal": each("nominal", ([1, 9], [5, 5], [9, 1]), ([9, 1], [5, 5], [1, 9])),
    "applications[].read_bandwidth": each("read_bandwidth", 0.5, 0.75),
    "applications[].write_bandwidth": each("write_bandwidth", 0.5, 0.75),
    "applications[].curve": each("curve", CURVES, CURVES[::-1]),
    "applications[].best_count": each("best_count", (1, 2, 3), (3, 1, 1)),
    "applications[].directory": each("directory", "/scratch/a", "/scratch/b"),
    "applications[].rounds": each("rounds", 1, 4),
    "applications[].placement": each("placement", ([0], [1], [2]), ([0, 1], [1, 2], [0])),
    "applications[].share": each("share", (1.0, 2.0, 3.0), (0.0, 0.5, 0.2)),
    "applications[].user": each("user", "ann", ("ann", "bob", "ann")),
    "applications[].group": each("group", "physics", ("physics", "biology", "physics")),
    "applications[].submit": each("submit", (0, 1, 3), (2, 0, 1)),
    "applications[].requested": each("requested", 100, (200, 50, 100)),
    "applications[].weight": each("weight", 1, (2, 1, 4)),
    "applications[].past": each("past", ([9, 1], [9, 1000], [9, 10]), ([9, 10], [9, 1], [9, 1000])),
}
POLICY = {"applications[].rounds": "interrupting", "platform.degradation": "fair-share", "applications[].nominal": "johnson"}
POLICY["applications[].past"] = "set-10"
"""Under which a field tells; the others do under greedy-yield."""
COMMANDS = {
    "simulate": ["simulate", "{}", "--policy", "{policy}", "--json"],
    "compare": ["compare", "{}", "--policy", "{policy}", "fcfs", "--json"],
    "bound": ["bound", "{}", "--json"],
    "pack": ["pack", "{}", "--policy", "{policy}", "--sensibility", "inf", "--json"],
    "place": ["place", "{}", "--policy", "{policy}", "--horizon", "60", "--json"],
    "buffer": ["buffer", "{}", "--json"],
    "machine": ["machine", "{}", "--policy", "{policy}", "--json"],
    "groups": ["groups", "{}", "{kind}", "{policy}", "--json"],
    "place --setstripe": ["place", "{}", "--policy", "{policy}", "--horizon", "60", "--setstripe", "-"],
}
CHECKED = ("platform.nodes", "platform.buffer.resources")
"""What these say is whether the file can be right, which every command looks at."""
SHOWN = (("buffer", "applications[].nodes"), ("groups", "applications[].requested"))
"""What a table shows and the JSON does not; and what counts where jobs wait for nodes, and here all fit."""


def test_the_table_has_every_field_of_the_format() -> None:
    buffer = {"platform.buffer.size", "platform.buffer.bandwidth", "platform.buffer.resources"}
    known = {f"platform.{key}" for key in PLATFORM_KEYS} | {f"applications[].{key}" for key in APPLICATION_KEYS}
    marks = {"applications[].name", "applications[].source", "applications[].recorded"}
    assert set(_FIELDS) == (known | buffer | {"window", "window[1]"}) - marks
    assert set(CHANGES) == set(_FIELDS)


def outcome(arguments: list[str], document: Document, path: Path, capsys: Capture) -> tuple[tuple[int, str], str]:
    """The exit code and what was printed, but how long that took; and what was said."""
    path.write_text(json.dumps(document))
    code = main([argument.format(path) for argument in arguments])
    captured = capsys.readouterr()
    return (code, re.sub(r'seconds": [-+.e\d]+', "", captured.out)), captured.err


def named(said: str) -> list[str]:
    """The fields that are said not to be used, in one line."""
    lines = [line for line in said.splitlines() if " does not use " in line]
    assert len(lines) <= 1
    return re.sub(r" \(.*?\)", "", lines[0].split(" does not use ")[1]).split(", ") if lines else []


@pytest.mark.parametrize("field", CHANGES)
@pytest.mark.parametrize("situation", SITUATIONS)
def test_a_field_makes_a_difference_or_is_named(situation: str, field: str, tmp_path: Path, capsys: Capture) -> None:
    documents = CHANGES[field](SITUATIONS[situation]())
    if not says(field, documents[0]):
        return
    for name, words in COMMANDS.items():
        policy = POLICY.get(field, "greedy-yield")
        kind = "--exclusive" if find(policy).one_at_a_time else "--shared"
        arguments = [word.replace("{policy}", policy).replace("{kind}", kind) for word in words]
        (one, said), (other, _) = (outcome(arguments, document, tmp_path / "w.json", capsys) for document in documents)
        if one[0] == 2:  # such as `place` on a link
            assert said.count("\n") == 1, said
            continue
        told = field in CHECKED or (name, field) in SHOWN
        assert (one != other) != (field in named(said)) or told, f"{name}: {said}"


def says(field: str, document: Document) -> bool:
    """Whether the field says something there; a buffer cannot be before the resources of a link."""
    try:
        return field in fields(from_document(document))
    except InputError:
        return False


def test_a_nominal_iteration_is_of_use_to_some_policies_only(tmp_path: Path, capsys: Capture) -> None:
    one, _ = CHANGES["applications[].nominal"](link())
    for policies, expected in ((["fcfs"], True), (["johnson"], False), (["fcfs", "johnson"], False)):
        _, said = outcome(["compare", "{}", "--policy", *policies, "--json"], one, tmp_path / "w.json", capsys)
        assert ("applications[].nominal" in named(said)) == expected


def test_only_what_the_file_says_is_named() -> None:
    plain = Workload(Platform(1.0), (Application.of("a", [("io", 1.0)]),))
    assert fields(plain) == ["platform.bandwidth"]
    curve = Workload(Platform(2.0, resources=2), (Application.of("a", [("io", 1.0)], curve={1: 2.0}),))
    assert fields(curve) == ["platform.resources", "applications[].curve"]  # the bandwidth is what the curves can use


def test_a_buffer_without_a_size_is_said_to_be_useless(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "w.json"
    path.write_text(json.dumps(with_value(link(), "platform.buffer", {"bandwidth": 3.0})))
    for command in ("simulate", "compare", "bound"):
        assert main([command, str(path), "--json"]) == 0
        captured = capsys.readouterr()
        assert json.loads(captured.out)
        unsized = f"note: {command} does not use platform.buffer (it has no size; penstock buffer finds one)"
        assert unsized in captured.err.splitlines()


def test_one_line_for_several_files(capsys: Capture) -> None:
    def case(**options: object) -> Case:
        return Case(Workload(Platform(1.0), (Application.of("a", [("io", 1.0)], **options),)))

    note_unused("campaign", case(directory="/a"), case(), case(best_count=2, directory="/b"))
    assert capsys.readouterr().err == "note: campaign does not use applications[].directory, applications[].best_count\n"
    note_unused("campaign", case())
    assert capsys.readouterr().err == ""


def test_a_field_that_some_files_make_use_of_is_named_with_the_others(capsys: Capture) -> None:
    curve = Application.of("a", [("io", 1.0)], curve={1: 2.0})
    link, resources = Platform(1.0, node_bandwidth=1.0), Platform(1.0, node_bandwidth=1.0, resources=2)
    used = Case(Workload(link, (Application.of("a", [("io", 1.0)], directory="/d"),)), file="link.json")
    others = [Case(Workload(resources, (curve,)), file=f"{name}.json") for name in "abcde"]
    note_unused("campaign", others[0], used)
    platform = "platform.bandwidth (in a.json), platform.node_bandwidth (in a.json)"
    assert capsys.readouterr().err == f"note: campaign does not use {platform}, applications[].directory\n"
    note_unused("campaign", used, *others)
    where = "(in a.json, b.json, c.json and 2 more)"
    assert f"platform.node_bandwidth {where}" in capsys.readouterr().err
    note_unused("campaign", *others)
    assert capsys.readouterr().err == "note: campaign does not use platform.bandwidth, platform.node_bandwidth\n"


def test_what_part_of_the_io_rests_on_a_model(capsys: Capture) -> None:
    sources = {"a": "dxt", "b": "model", "c": None, "d": "drawn"}
    made = tuple(Application.of(name, [("work", 1.0), ("io", 4.0)], source=source) for name, source in sources.items())
    note_unused("campaign", Case(Workload(Platform(1.0), made), file="w.json"))
    remark = "50% of the I/O rests on a model, that of 2 of 4 applications; no log or counter has shown it"
    assert capsys.readouterr().err == f"note: w.json: {remark}\n"
    note_unused("campaign", Case(Workload(Platform(1.0), made[:1])))
    assert capsys.readouterr().err == ""


def test_every_command_that_reads_a_workload_has_its_column() -> None:
    columns = {len(rules) for rules in _FIELDS.values()}
    assert columns == {1 + max(_COMMANDS.values())}
