"""Workload files: nothing is lost, and what is wrong is named."""

import io
import json
import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings

from penstock.model import Application, Curve, InputError, Phases, Platform, Workload
from penstock.model.files import read, replacing, write
from tests.model.strategies import workloads

GOOD = {
    "penstock": 1,
    "platform": {"bandwidth": "200 GiB/s", "node_bandwidth": 1.0, "nodes": 60},
    "window": [0.0, "1 h"],
    "applications": [
        {"name": "a0", "nodes": 2, "release": 0.0, "lead": 7.5, "phases": [["work", "2 min"], ["io", 9.6], ["read", 6]]},
        {"phases": [{"repeat": 2, "phases": [["work", 3], ["write", "1 kB"]]}]},
    ],
}


def write_text(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("suffix", [".json", ".yaml", ".yml", ".parquet"])
@settings(max_examples=40)
@given(workload=workloads())
def test_what_is_written_is_read_without_loss(
    tmp_path_factory: pytest.TempPathFactory, suffix: str, workload: Workload
) -> None:
    path = tmp_path_factory.mktemp("files") / f"workload{suffix}"
    write(workload, path)
    assert read(path) == workload
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


def test_units_repetitions_and_defaults(tmp_path: Path) -> None:
    workload = read(write_text(tmp_path / "w.json", json.dumps(GOOD)))
    assert workload == Workload(
        Platform(200 * 2.0**30, 1.0, 60),
        (
            Application.of("a0", [("work", 120.0), ("io", 9.6), ("read", 6.0)], nodes=2, lead=7.5),
            Application.of("a1", 2 * [("work", 3.0), ("write", 1000.0)]),
        ),
        (0.0, 3600.0),
    )


@pytest.mark.parametrize("suffix", [".json", ".yaml", ".parquet"])
def test_the_nominal_couple_is_kept(tmp_path: Path, suffix: str) -> None:
    noisy = Application.of("noisy", [("work", 9.5), ("io", 2.25)], nominal=(10.0, 2.0))
    workload = Workload(Platform(1.0), (noisy, Application.of("plain", [("io", 1.0)])))
    write(workload, tmp_path / f"w{suffix}")
    again = read(tmp_path / f"w{suffix}")
    assert again == workload
    assert [application.nominal for application in again.applications] == [(10.0, 2.0), None]


def test_the_link_of_a_platform_of_resources_may_be_left_out_where_all_have_curves(tmp_path: Path) -> None:
    curve = {"1": "1 GB/s", "4": "3 GB/s", "8": "2 GB/s"}
    document = {
        "penstock": 1,
        "platform": {"resources": 20},
        "applications": [{"curve": curve, "phases": [["io", 1]]}, {"curve": {"1": 5e8}, "phases": [["io", 1]]}],
    }
    workload = read(write_text(tmp_path / "w.json", json.dumps(document)))
    assert workload.platform == Platform(3.5e9, resources=20)
    assert workload.applications[0].curve == Curve((1, 4, 8), (1e9, 3e9, 2e9))
    del document["applications"][1]["curve"]  # type: ignore[index]
    with pytest.raises(InputError, match="platform: the key 'bandwidth' is missing"):
        read(write_text(tmp_path / "w.json", json.dumps(document)))


def test_a_nominal_couple_may_carry_units(tmp_path: Path) -> None:
    path = write_text(tmp_path / "w.json", changed(("applications", 0, "nominal"), ["2 min", "3 kB"]))
    assert [application.nominal for application in read(path).applications] == [(120.0, 3000.0), None]


def test_yaml_reads_numbers_that_yaml_takes_for_strings(tmp_path: Path) -> None:
    text = "penstock: 1\nplatform: {bandwidth: 1e3}\napplications:\n- phases: [[work, 1e2], [io, 3]]\n"
    workload = read(write_text(tmp_path / "w.yaml", text))
    assert workload.platform.bandwidth == 1000.0
    assert list(workload.applications[0].phases) == [("work", 100.0), ("io", 3.0)]


@pytest.mark.parametrize(
    "text", [json.dumps(GOOD), "penstock: 1\nplatform: {bandwidth: 1}\napplications: [{phases: [[io, 1]]}]"]
)
def test_standard_input_may_be_json_or_yaml(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(text))
    assert read("-").applications


def changed(path: tuple[str | int, ...], value: object) -> str:
    """The good document with one value set, or removed where the value is ..."""
    document = json.loads(json.dumps(GOOD))
    place = document
    for key in path[:-1]:
        place = place[key]
    if value is ...:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    return json.dumps(document)


WRONG = [
    (changed(("applications", 0, "phases", 1), ["io", -3]), "applications[0].phases[1]: -3 is negative"),
    (changed(("applications", 0, "phases", 0, 1), "3 TB"), "applications[0].phases[0]: '3 TB' has the unknown unit 'TB'"),
    (changed(("applications", 1, "phases", 0, "phases", 1), 5), "applications[1].phases[0].phases[1]: 5 is not a phase"),
    (changed(("applications", 0, "phases"), ...), "applications[0]: the key 'phases' is missing"),
    (changed(("applications", 0, "phases"), "x"), "applications[0].phases: 'x' is not a list"),
    (changed(("applications", 0, "colour"), 1), "applications[0]: unknown key 'colour'; expected name, nodes, release"),
    (changed(("applications", 0, "nominal"), [1]), "applications[0].nominal: [1] is no couple; expected [seconds of work,"),
    (changed(("applications", 0, "nominal"), [1, -2]), "applications[0].nominal[1]: -2 is negative"),
    (changed(("applications", 0, "name"), "a1"), "applications[1].name: 'a1' is also applications[0]"),
    (changed(("applications", 0), 7), "applications[0]: 7 is not an object"),
    (changed(("applications",), {}), "applications: {} is not a list"),
    (changed(("applications",), []), "applications: the workload is empty"),
    (changed(("platform", "bandwidth"), 0), "platform.bandwidth: 0 is not a bandwidth"),
    (changed(("platform", "bandwidth"), ...), "platform: the key 'bandwidth' is missing"),
    (changed(("platform",), ...), "the key 'platform' is missing"),
    (changed(("platform", "resources"), 0), "platform.resources: 0 is not a number of I/O resources"),
    (changed(("platform", "buffer"), {"size": "-1 TB"}), "platform.buffer.size: '-1 TB' is negative"),
    (
        changed(("platform", "buffer"), {"bytes": 1}),
        "platform.buffer: {'bytes': 1} is not a buffer; expected an object with",
    ),
    (changed(("platform", "buffer"), 5), "platform.buffer: 5 is not a buffer"),
    (changed(("platform", "degradation"), [0.9]), "platform.degradation: [0.9] is no degradation; expected {"),
    (changed(("platform", "degradation"), {"1": 0.9}), "platform.degradation: the counts [1] do not ascend from 2 on"),
    (
        changed(("platform", "degradation"), {"2": 1.5}),
        "platform.degradation.2: 1.5 is no part of the bandwidth; expected a",
    ),
    (changed(("platform", "degradation"), {"2": "x"}), "platform.degradation.2: 'x' is no part of the bandwidth"),
    (changed(("platform", "degradation"), {"two": 1}), "platform.degradation.two: 'two' is not a number of transfers"),
    (changed(("platform", "degradation"), {"2": 1, "02": 1}), "platform.degradation: a count stands twice in ['2', '02']"),
    (changed(("applications", 0, "rounds"), 0), "applications[0].rounds: 0 is not a number of rounds"),
    (changed(("applications", 0, "rounds"), 2.5), "applications[0].rounds: 2.5 is not a number of rounds"),
    (changed(("platform", "write_bandwidth"), 0), "platform.write_bandwidth: 0 is not a bandwidth"),
    (changed(("applications", 0, "read_bandwidth"), "fast"), "applications[0].read_bandwidth: 'fast' is not an amount"),
    (changed(("applications", 0, "curve"), {}), "applications[0].curve: the counts [] lack 1"),
    (
        changed(("applications", 0, "curve"), {"2": 1}),
        "applications[0].curve: the counts [2] lack 1; expected the bandwidth",
    ),
    (
        changed(("applications", 0, "curve"), {"0": 1, "1": 1}),
        "applications[0].curve.0: direct access without I/O resources",
    ),
    (changed(("applications", 0, "curve"), {"1": 5, "2": 0}), "applications[0].curve.2: 0 is not a bandwidth"),
    (changed(("applications", 0, "curve"), {"1": 5, "01": 6}), "applications[0].curve: a count stands twice in ['1', '01']"),
    (
        changed(("applications", 0, "curve"), {"1": 5, "x": 6}),
        "applications[0].curve.x: 'x' is not a number of I/O resources",
    ),
    (changed(("applications", 0, "curve"), [1, 2]), "applications[0].curve: [1, 2] is not a curve; expected {"),
    (changed(("applications", 0, "best_count"), 0), "applications[0].best_count: 0 is not a number of I/O resources"),
    (changed(("applications", 0, "directory"), ""), "applications[0].directory: '' is not a directory"),
    (
        changed(("applications", 0, "placement"), [0, 0]),
        "applications[0].placement: [0, 0] are no I/O resources; expected a",
    ),
    (changed(("applications", 0, "placement"), []), "applications[0].placement: [] are no I/O resources"),
    (changed(("applications", 0, "placement"), [-1]), "applications[0].placement: [-1] are no I/O resources"),
    (changed(("applications", 0, "placement"), [0.0]), "applications[0].placement: [0.0] are no I/O resources"),
    (changed(("applications", 0, "placement"), 3), "applications[0].placement: 3 are no I/O resources"),
    (
        changed(("applications", 0, "placement"), [1, 4]).replace('"nodes": 60', '"resources": 4'),
        "applications[0].placement: [1, 4] on a platform of 4 I/O resources; expected numbers from 0 to 3",
    ),
    (
        changed(("applications", 0, "placement"), [1]),
        "applications[0].placement: [1] on a platform without I/O resources; expected platform.resources, or leave it out",
    ),
    (changed(("applications", 0, "user"), 7), "applications[0].user: 7 is not a user; expected a name as a string"),
    (changed(("applications", 0, "group"), ""), "applications[0].group: '' is not a group; expected a name"),
    (changed(("applications", 0, "source"), 3), "applications[0].source: 3 is not a source; expected a name as a string"),
    (changed(("applications", 0, "submit"), "soon"), "applications[0].submit: 'soon' is not an amount"),
    (changed(("applications", 0, "requested"), 0), "applications[0].requested: 0 s of wall time; expected seconds above 0"),
    (changed(("applications", 0, "weight"), 0), "applications[0].weight: 0 is no weight; expected a number above 0"),
    (changed(("applications", 0, "weight"), -1), "applications[0].weight: -1 is negative"),
    (changed(("applications", 0, "share"), "-1 B"), "applications[0].share: '-1 B' is negative"),
    (
        changed(("applications", 0, "share"), 1),
        "applications[0].share: 1.0 bytes of a buffer without a size; expected platf",
    ),
    (
        changed(("platform", "buffer"), {"size": 1, "resources": [0, 2]}).replace('"nodes": 60', '"resources": 3'),
        "platform.buffer.resources: [0, 2] are not the 3 I/O resources of the platform: some bypass the buffer",
    ),
    (
        changed(("platform", "buffer"), {"size": 1, "resources": [0, 1, 2]}).replace('"nodes": 60', '"resources": 2'),
        "platform.buffer.resources: [0, 1, 2] are not the 2 I/O resources of the platform",
    ),
    (
        changed(("platform", "buffer"), {"size": 1, "resources": [0]}),
        "platform.buffer.resources: [0] on a platform without I/O resources; expected it to be left out",
    ),
    (changed(("platform", "buffer"), {"resources": "all"}), "platform.buffer.resources: 'all' are no I/O resources"),
    (changed(("penstock",), 2), "penstock: format 2 is unknown; expected 1"),
    (changed(("penstock",), ...), "the key 'penstock' is missing"),
    (changed(("window",), [5, 4]), "window: the end 4.0 is not after the start 5.0"),
    (changed(("window",), [5]), "window: [5] is not a window"),
    (changed(("extra",), 1), "unknown key 'extra'; expected penstock, platform, window, applications"),
    (json.dumps(GOOD).replace("9.6", "NaN"), "applications[0].phases[1]: nan is not finite"),
    (json.dumps(GOOD).replace("9.6", "1e999"), "applications[0].phases[1]: inf is not finite"),
    (json.dumps(GOOD)[:-40], "the file is not JSON or ends too early"),
    ('{"penstock": 1, "penstock": 1}', "the key 'penstock' stands twice in one object"),
    ("", "the file is not JSON or ends too early"),
    ("[" * 100_000, "nested too deeply"),
    ("[1, 2]", "[1, 2] is not an object"),
]


@pytest.mark.parametrize(("text", "message"), WRONG)
def test_a_wrong_file_is_refused_in_one_line_with_the_place(tmp_path: Path, text: str, message: str) -> None:
    path = write_text(tmp_path / "w.json", text)
    with pytest.raises(InputError) as caught:
        read(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("penstock: [1", "the file is not YAML or ends too early"),
        ("penstock: 1\npenstock: 1\n", "the key 'penstock' stands twice"),
        ("penstock: !!python/object/apply:os.system ['true']", "the file is not YAML"),
        ("a: &a [*a]", "unknown key 'a'"),
        ("? [1, 2]\n: 3\n", "found unhashable key"),
    ],
)
def test_a_wrong_yaml_file(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        read(write_text(tmp_path / "w.yaml", text))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_files_that_are_none(tmp_path: Path) -> None:
    binary = tmp_path / "w.json"
    binary.write_bytes(b"\xff\xfe\x00")
    large = tmp_path / "large.json"
    with large.open("wb") as file:
        file.truncate(2 * 2**30)
    for path, message in [
        (tmp_path / "missing.json", "cannot be read: No such file or directory; expected a workload file"),
        (tmp_path / "missing.parquet", "cannot be read: No such file or directory"),
        (tmp_path, "is a directory; expected a workload file"),
        (binary, "byte 0 is not UTF-8 text; expected JSON or YAML"),
        (large, "2,048 MiB are too much for a text file; expected at most 512 MiB, or Parquet"),
        (write_text(tmp_path / "w.txt", "{}"), "cannot tell the format from '.txt'; expected a name ending in .json"),
        (write_text(tmp_path / "w.parquet", "not Parquet at all"), "the file is not Parquet or ends too early"),
    ]:
        with pytest.raises(InputError) as caught:
            read(path)
        assert message in str(caught.value)
        assert "\n" not in str(caught.value)


def test_a_truncated_parquet_file(tmp_path: Path) -> None:
    path = tmp_path / "w.parquet"
    write(Workload(Platform(1.0), (Application.of("a", [("io", 1)]),)), path)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(InputError, match="the file is not Parquet or ends too early"):
        read(path)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (
            {"application": pa.array([0, 0], pa.int32()), "kind": pa.array([0, 1], pa.uint8())},
            "amount: the column is missing",
        ),
        (
            {
                "application": pa.array([1, 0], pa.int32()),
                "kind": pa.array([0, 1], pa.uint8()),
                "amount": pa.array([1.0, 2.0]),
            },
            "application: the column is not ascending from 0 to 1",
        ),
        (
            {
                "application": pa.array([0, 1], pa.int32()),
                "kind": pa.array([0, 1], pa.uint8()),
                "amount": pa.array([1.0, -2.0]),
            },
            "applications[1].phases[0]: amount -2.0 is negative",
        ),
        (
            {
                "application": pa.array([0, 0], pa.int32()),
                "kind": pa.array([0, 1], pa.uint8()),
                "amount": pa.array([1.0, 2.0]),
            },
            "applications[1].phases: the chain is empty",
        ),
        (
            {
                "application": pa.array([0, 1], pa.int32()),
                "kind": pa.array([0, 1], pa.uint8()),
                "amount": pa.array([1.0, None]),
            },
            "amount: the column is double or has gaps",
        ),
    ],
)
def test_a_parquet_file_with_wrong_columns(tmp_path: Path, columns: dict[str, pa.Array], message: str) -> None:
    document = {"penstock": 1, "platform": {"bandwidth": 1.0}, "applications": [{"name": "a"}, {"name": "b"}]}
    path = tmp_path / "w.parquet"
    pq.write_table(pa.table(columns).replace_schema_metadata({"penstock": json.dumps(document)}), path)
    with pytest.raises(InputError) as caught:
        read(path)
    assert message in str(caught.value)


def test_a_parquet_file_of_something_else(tmp_path: Path) -> None:
    path = tmp_path / "w.parquet"
    pq.write_table(pa.table({"x": [1]}), path)
    with pytest.raises(InputError, match="the Parquet file holds no workload; expected one that Penstock wrote"):
        read(path)


def test_a_large_parquet_file_is_read_as_views_of_one_array(tmp_path: Path) -> None:
    kinds, amounts = np.tile(np.array([0, 1], np.uint8), 50_000), np.ones(100_000)
    path = tmp_path / "w.parquet"
    write(Workload(Platform(1.0), tuple(Application(f"a{i}", Phases(kinds, amounts)) for i in range(3))), path)
    first, second, _ = read(path).applications
    assert first.phases.amounts.base is second.phases.amounts.base is not None


def test_nothing_half_written_is_left(tmp_path: Path) -> None:
    path = write_text(tmp_path / "out.json", "before")

    def fail_midway() -> None:
        with replacing(path) as temporary:
            temporary.write_text("half")
            raise KeyError

    with pytest.raises(KeyError):
        fail_midway()
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]


def test_what_cannot_be_written_is_said(tmp_path: Path) -> None:
    workload = Workload(Platform(1.0), (Application.of("a", [("io", 1)]),))
    for path, message in [
        (tmp_path / "missing" / "w.json", "cannot be written: No such file or directory"),
        (tmp_path, "cannot tell the format"),
        (tmp_path / "w.csv", "cannot tell the format from '.csv'; expected a name ending in .json, .yaml"),
    ]:
        with pytest.raises(InputError) as caught:
            write(workload, path)
        assert message in str(caught.value)
    (tmp_path / "folder.json").mkdir()
    with pytest.raises(InputError, match="is a directory; expected the name of a file to write"):
        write(workload, tmp_path / "folder.json")


def test_a_pipe_is_written_to_and_stays(tmp_path: Path) -> None:
    """As /dev/stdout and /dev/null: by the superuser they were replaced by a file."""
    pipe, link = tmp_path / "pipe", tmp_path / "link"
    os.mkfifo(pipe)
    link.symlink_to(pipe)
    with ThreadPoolExecutor() as pool:
        for path in (pipe, link):
            read_back = pool.submit(pipe.read_bytes)
            with replacing(path) as temporary:
                temporary.write_text("content", encoding="utf-8")
            assert read_back.result() == b"content"
    assert pipe.is_fifo()
    assert link.is_symlink()
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.skipif(os.getuid() != 0, reason="needs root, to make a device")
def test_a_device_that_takes_nothing(tmp_path: Path) -> None:
    full = tmp_path / "full"
    os.mknod(full, 0o666 | stat.S_IFCHR, os.makedev(1, 7))
    with pytest.raises(InputError, match="full: cannot be written: No space left on device"), replacing(full) as temporary:
        temporary.write_text("content", encoding="utf-8")
    assert full.is_char_device()
