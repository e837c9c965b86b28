"""Plans as documents, and their shares as lines for batch scripts."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from penstock.buffers import size
from penstock.buffers.plan import GIB, directives
from penstock.model import Application, InputError, Platform, Workload
from tests.buffers.instances import applications, workloads
from tests.naive.profiles import examples

# ------------------------------------------------------------------ documents


WORKLOAD = applications(
    [("work", 4.0), ("write", 8.0), ("work", 6.0)], [("work", 5.0), ("write", 8.0), ("work", 4.0), ("read", 8.0)]
)


def test_the_document():
    plan = size(WORKLOAD, "static")
    document = json.loads(json.dumps(plan.to_dict()))
    assert list(document) == [
        *("mode", "status", "capped", "size", "load", "events", "operations", "warnings", "obstacle", "effort"),
        "applications",
    ]
    assert (document["mode"], document["status"], document["capped"]) == ("static", "optimal", False)
    assert document["size"] == plan.size
    assert document["events"] == len(plan.demand.events)
    assert document["operations"] == {"reads": 1, "writes": 2}
    assert document["effort"]["rows"] == plan.effort.rows > 0
    assert document["effort"]["seconds"] == pytest.approx(
        sum(document["effort"][f"{part}_seconds"] for part in ("demand", "build", "solve", "shares", "plan"))
    )
    first, second = document["applications"]
    assert (first["name"], first["release"], first["end"]) == ("a", 0.0, 12.0)
    assert [first["share"], second["share"]] == plan.shares.tolist()
    # A rate holds until the next date: together they make up the volume.
    for entry, volume in ((first["writes"], 8.0), (second["writes"], 8.0), (second["reads"], 8.0), (first["reads"], 0.0)):
        assert len(entry["dates"]) == len(entry["rates"])
        assert entry["rates"][-1] == 0.0
        assert np.dot(np.diff(entry["dates"]), entry["rates"][:-1]) == pytest.approx(volume)
    assert "writes" not in plan.to_dict(rates=False)["applications"][0]
    assert size(WORKLOAD, "dynamic").to_dict()["applications"][0]["share"] is None


def test_a_plan_that_cannot_be_is_a_document_too():
    document = json.loads(json.dumps(size(applications([("read", 8.0)]), "dynamic").to_dict()))
    assert (document["status"], document["size"]) == ("infeasible", None)
    assert document["obstacle"]["application"] == "a"
    assert document["applications"][0] == {"name": "a", "release": 0.0, "end": 2.0, "share": None, "peak": None}


@examples(100)
@given(workloads(), st.sampled_from(["static", "dynamic"]))
def test_rates_and_filling(workload, mode):
    plan = size(workload, mode)
    assume(plan.size is not None)
    write, read = plan.rates()
    seconds, count = np.diff(plan.dates), len(workload.applications)
    assert write.shape == read.shape == (len(seconds), count)
    assert (seconds @ write).tolist() == pytest.approx(plan.demand.writes.total(count).tolist(), abs=1e-6)
    assert (seconds @ read).tolist() == pytest.approx(plan.demand.reads.total(count).tolist(), abs=1e-6)
    assert write.sum(axis=1).max(initial=0.0) <= workload.platform.write_limit * (1.0 + 1e-6)
    filling = plan.filling
    assert filling.size == plan.size == max(filling.before.max(), filling.after.max())
    # The content from the flows themselves.
    asked = [plan.demand.flows(operations) for operations in (plan.demand.writes, plan.demand.reads)]
    content = np.array(
        [
            asked[0][k].at(filling.dates)
            - plan.written[k].at(filling.dates)
            + plan.read[k].at(filling.dates)
            - asked[1][k].at(filling.dates)
            for k in range(count)
        ]
    )
    assert filling.content.tolist() == pytest.approx(content.sum(axis=0).tolist(), abs=1e-6)
    assert plan.peaks.tolist() == pytest.approx(content.max(axis=1).tolist(), abs=1e-6)
    if mode == "dynamic":
        assert filling.before is filling.after is filling.content
    else:
        assert (plan.shares <= plan.peaks + 1e-9).all()


# ------------------------------------------------------------------ lines for batch scripts


JOBS = Workload(Platform(1.0), tuple(Application.of(name, [("write", 1.0)]) for name in ("ocean", "two\nlines", "reader")))


def test_a_line_for_each_job() -> None:
    lines = directives(JOBS, np.array([1.5 * GIB, 3.0 * GIB, 0.0])).splitlines()
    assert lines == [
        "# ocean",
        "#DW jobdw type=scratch access_mode=striped capacity=2GiB",
        "# two lines",
        "#DW jobdw type=scratch access_mode=striped capacity=3GiB",
        "# reader: no burst buffer",
    ]
    assert directives(JOBS, np.array([1.0, 0.0, 0.0]), "bb").splitlines()[1] == "#BB capacity=1GiB"


def test_an_unknown_style() -> None:
    with pytest.raises(InputError, match="style: 'lsf' is unknown; expected dw or bb"):
        directives(JOBS, np.zeros(3), "lsf")
