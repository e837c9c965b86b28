"""The drawing of a schedule: boxes that fit on the nodes, and files that can be read."""

import itertools
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.naive.profiles import examples
from tests.planning.instances import batch, batches, work

from penstock.model import Application, InputError, Platform, Workload
from penstock.planning.batch import schedule
from penstock.planning.strategy import BatchStrategy, comparison
from penstock.report import gantt
from penstock.report.gantt import boxes, draw, printable, write_gantt

BOTH = [("work", 4.0), ("io", 4.0)]
SMALL = batch((1, BOTH), (1, BOTH), (2, work(3.0)), nodes=2)


@examples(60)
@given(batches(), st.sampled_from([*comparison(2), *comparison()]), st.integers(1, 2))
def test_boxes_hold_all_nodes_of_a_job_and_never_overlap(workload, strategy, io_nodes):
    io_nodes = 1 if strategy.mapping == "list" else io_nodes
    found = schedule(workload, strategy, io_nodes=io_nodes, policy="fcfs")
    seen: dict[int, int] = {}
    for io_node in range(io_nodes):
        drawn = list(boxes(found, io_node))
        for box in drawn:
            assert 0 <= box.low < box.high <= found.machine.nodes
            assert (box.start, box.end) == (found.outcome.start[box.job], found.outcome.end[box.job])
            assert found.outcome.io_node[box.job] == io_node
            seen[box.job] = seen.get(box.job, 0) + box.high - box.low
        for one, other in itertools.combinations(drawn, 2):
            apart_in_time = one.end <= other.start or other.end <= one.start
            assert apart_in_time or one.high <= other.low or other.high <= one.low
    assert seen == dict(enumerate(found.jobs.nodes.tolist()))


def test_a_job_is_drawn_in_one_piece_where_it_can_be() -> None:
    # After 2 s nodes 0 and 1 are free (a) and 3 to 5 (c); d needs two and takes the smaller gap, e the larger one.
    jobs = batch((2, work(2.0)), (1, work(9.0)), (3, work(2.0)), (2, work(3.0)), (3, work(3.0)), nodes=6)
    found = schedule(jobs, BatchStrategy("list"))
    assert [(box.job, box.low, box.high) for box in boxes(found, 0)] == [
        (0, 0, 2),
        (1, 2, 3),
        (2, 3, 6),
        (3, 0, 2),
        (4, 3, 6),
    ]


def test_a_job_that_takes_no_time_has_all_its_nodes() -> None:
    # b, with more nodes, is the first pack, and has gone when a starts at the same date.
    found = schedule(batch((1, work(1.0)), (2, work(0.0)), nodes=2))
    assert [(box.job, box.low, box.high) for box in boxes(found, 0)] == [(1, 0, 2), (0, 0, 1)]


@pytest.mark.parametrize("kind", ["svg", "png"])
def test_the_same_schedule_makes_the_same_file(kind: str) -> None:
    found = schedule(SMALL, policy="fcfs", trace=True)
    assert draw(found, "small", kind) == draw(found, "small", kind)


def test_the_drawing_has_names_packs_and_axes() -> None:
    found = schedule(SMALL, policy="fcfs", io_nodes=2, trace=True)
    text = draw(found, "small", "svg").decode()
    root = ElementTree.fromstring(text)
    assert root.tag.endswith("svg")
    # Text is drawn as shapes, with the text itself in a comment.
    for said in (
        "small: pack S=1 max, fcfs: 3 jobs, 2 packs",
        "I/O node 2",
        "time (seconds)",
        "sliding window",
        "<!-- a -->",
    ):
        assert said in text


def test_names_are_only_names() -> None:
    names = ("$\\frac{", "größe-π-🙂", "</svg><script>", "a\nb\x00", "\ud800", "--> x")
    workload = Workload(Platform(1.0, nodes=6), tuple(Application.of(name, BOTH * 3) for name in names))
    found = schedule(workload, BatchStrategy("first-fit"), policy="fcfs", trace=True)
    ElementTree.fromstring(draw(found, "$\\frac{ \ud800", "svg"))
    assert draw(found, "x", "png").startswith(b"\x89PNG")
    assert printable("a\nb\x00\ud800") == "a?b??"


@pytest.mark.parametrize("policy", ["fcfs", "fair-share"])
@pytest.mark.parametrize("shapes", [1, 4_000])
def test_many_shapes_are_drawn_coarsely(monkeypatch: pytest.MonkeyPatch, policy: str, shapes: int) -> None:
    monkeypatch.setattr(gantt, "MOST_SHAPES", shapes)
    found = schedule(SMALL, BatchStrategy("first-fit"), policy=policy, trace=True)
    text = draw(found, "small", "svg").decode()
    assert ("<image" in text) == (shapes == 1)


def test_without_a_trace_the_bandwidth_is_a_line() -> None:
    found = schedule(SMALL, policy="fcfs")
    assert "<!-- bandwidth used -->" in draw(found, "small", "svg").decode()
    assert "<!-- bandwidth used -->" not in draw(schedule(SMALL, trace=True), "small", "svg").decode()


def test_more_io_nodes_than_panels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gantt, "MOST_IO_NODES", 2)
    found = schedule(SMALL, io_nodes=5, trace=True)
    assert "(I/O nodes 1 to 2, 3 more not shown)" in draw(found, "small", "svg").decode()


def test_a_schedule_that_takes_no_time_can_be_drawn() -> None:
    for trace in (False, True):
        found = schedule(batch((1, work(0.0))), trace=trace)
        assert ElementTree.fromstring(draw(found, "nothing", "svg")).tag.endswith("svg")


def test_transfers_that_overlap_are_piled() -> None:
    # a and b share the link from 4 on: each has half of it until both are done at 12.
    found = schedule(batch((1, BOTH), (1, BOTH), nodes=2), policy="fair-share", trace=True)
    assert found.trace is not None
    piles = list(gantt._stacked(found.trace, 1.0))
    assert piles == [(0, 4.0, 12.0, 0.0, 0.5), (1, 4.0, 12.0, 0.5, 1.0)]
    # Where no gap is wide enough, a transfer is drawn over others and not beyond the link.
    trace = found.trace._replace(
        application=found.trace.application[[0, 0, 0]] + [0, 1, 2],
        begin=found.trace.begin[[0, 0, 0]] + [0.0, 0.0, 1.0],
        end=found.trace.end[[0, 0, 0]] + [-7.0, 0.0, 0.0],
        rate=found.trace.rate[[0, 0, 0]] + [-0.25, -0.25, 0.25],
    )
    assert [pile[3:] for pile in gantt._stacked(trace, 1.0)] == [(0.0, 0.25), (0.25, 0.5), (0.25, 1.0)]


def test_an_unknown_suffix_is_refused(tmp_path: Path) -> None:
    found = schedule(SMALL)
    with pytest.raises(InputError, match=r"cannot tell the format from '.gif'; expected one of .svg, .png, .html"):
        write_gantt(tmp_path / "x.gif", found, "x")
    assert not list(tmp_path.iterdir())


def test_a_drawing_leaves_the_settings_alone() -> None:
    import matplotlib as mpl

    before = dict(mpl.rcParams)
    draw(schedule(SMALL), "x", "svg")
    assert dict(mpl.rcParams) == before


def test_hatched_jobs_were_backfilled() -> None:
    jobs = batch((2, work(10.0)), (4, work(5.0)), (2, work(10.0)))
    filled = schedule(jobs, BatchStrategy("list", backfill=True))
    plain = replace(filled, outcome=replace(filled.outcome, backfilled=filled.outcome.backfilled & False))
    assert "pattern" in draw(filled, "x", "svg").decode()
    assert "pattern" not in draw(plain, "x", "svg").decode()
