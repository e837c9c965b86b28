"""Output of IOR, as its documentation and its source show it, and plain tables become what was measured."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import penstock
from penstock.cli.main import main
from penstock.model import InputError
from penstock.workloads.importers.bandwidths import Measurement, machine_of, read_measurements

MIB = 2.0**20
Capture = pytest.CaptureFixture[str]

TEXT = """IOR-3.3.0: MPI Coordinated Test of Parallel I/O
Began               : Thu Sep 20 10:15:20 2018
Command line        : ./ior -t 1m -b 16m -s 16 -F -C -e
Machine             : Linux nid00012
TestID              : 0
StartTime           : Thu Sep 20 10:15:20 2018
Path                : /scratch/ior
FS                  : 1.8 TiB   Used FS: 35.2%   Inodes: 17.1 Mi   Used Inodes: 11.4%

Options:
api                 : POSIX
apiVersion          :
test filename       : testFile
access              : file-per-process
type                : independent
segments            : 16
ordering in a file  : sequential
ordering inter file : constant task offset
task offset         : 1
nodes               : 4
tasks               : 64
clients per node    : 16
repetitions         : 2
xfersize            : 1 MiB
blocksize           : 16 MiB
aggregate filesize  : 16 GiB

Results:

access    bw(MiB/s)  block(KiB) xfer(KiB)  open(s)    wr/rd(s)   close(s)   total(s)   iter
------    ---------  ---------- ---------  --------   --------   --------   --------   ----
write     2937.89    16384      1024.00    0.011841   5.56       4.93       5.58       0
read      2712.55    16384      1024.00    0.005214   6.04       5.08       6.04       0
remove    -          -          -          -          -          -          0.037706   0
write     3062.11    16384      1024.00    0.011841   5.33       4.93       5.35       1
read      2687.45    16384      1024.00    0.005214   6.08       5.08       6.10       1
Max Write: 3062.11 MiB/sec (3210.85 MB/sec)
Max Read:  2712.55 MiB/sec (2844.31 MB/sec)

Summary of all tests:
Operation   Max(MiB)   Min(MiB)  Mean(MiB)     StdDev   Max(OPs)   Min(OPs)  Mean(OPs)     StdDev    Mean(s) Test# #Tasks
write        3062.11    2937.89    3000.00      62.11    3062.11    2937.89    3000.00      62.11    5.46500     0     64
read         2712.55    2687.45    2700.00      12.55    2712.55    2687.45    2700.00      12.55    6.07000     0     64
Finished            : Thu Sep 20 10:15:50 2018
"""
OLD_TEXT = """IOR-3.0.1: MPI Coordinated Test of Parallel I/O
Summary:
\tapi                = POSIX
\taccess             = single-shared-file
\tclients            = 32 (8 per node)
\taggregate filesize = 4 GiB

access    bw(MiB/s)  block(KiB) xfer(KiB)  open(s)    wr/rd(s)   close(s)   total(s)   iter
------    ---------  ---------- ---------  --------   --------   --------   --------   ----
write     427.36     16384      1024.00    0.107961   9.58       9.48       9.58       0
"""
JSON = {
    "Version": "3.3.0",
    "Began": "Thu Sep 20 10:15:20 2018",
    "Command line": "./ior -O summaryFormat=JSON",
    "tests": [
        {
            "TestID": 0,
            "Parameters": {"testID": 0, "api": "POSIX", "nodes": 4, "tasksPerNode": 16},
            "Options": {"api": "POSIX", "tasks": 64, "clients per node": 16, "stripe count": "8"},
            "Results": [
                [
                    {"access": "write", "bwMiB": 2937.89, "blockKiB": 16384.0, "totalTime": 5.58},
                    {"access": "read", "bwMiB": 2712.55, "blockKiB": 16384.0, "totalTime": 6.04},
                    {"access": "remove", "totalTime": 0.0377},
                ]
            ],
        }
    ],
    "summary": [{"operation": "write", "TestID": 0, "numTasks": 64, "tasksPerNode": 16, "bwMaxMIB": 2937.89}],
    "Finished": "Thu Sep 20 10:15:50 2018",
}
CSV = """access,bw(MiB/s),IOPS,Latency,block(KiB),xfer(KiB),open(s),wr/rd(s),close(s),total(s),numTasks,iter
write,30.3120,30.3795,1.5543,131072.0000,1024.0000,15.0489,202.2413,35.0600,202.6921,48,0
read,2012.0224,2026.8185,0.0158,131072.0000,1024.0000,0.4558,3.0314,1.0307,3.0536,48,0
"""


def file(folder: Path, text: str) -> str:
    path = folder / "measured"
    path.write_text(text)
    return str(path)


def test_the_text_of_ior(tmp_path: Path) -> None:
    writes = [
        Measurement(rate * MIB, "write", 4, 64, None, 1, lasted) for rate, lasted in ((2937.89, 5.58), (3062.11, 5.35))
    ]
    reads = [Measurement(rate * MIB, "read", 4, 64, None, 1, lasted) for rate, lasted in ((2712.55, 6.04), (2687.45, 6.10))]
    assert read_measurements(file(tmp_path, TEXT)) == [writes[0], reads[0], writes[1], reads[1]]
    assert read_measurements(file(tmp_path, OLD_TEXT)) == [Measurement(427.36 * MIB, "write", 4, 32, None, 1, 9.58)]


def test_the_json_of_ior(tmp_path: Path) -> None:
    known = [
        Measurement(2937.89 * MIB, "write", 4, 64, 8, 1, 5.58),
        Measurement(2712.55 * MIB, "read", 4, 64, 8, 1, 6.04),
    ]
    text = json.dumps(JSON, indent=1)
    assert read_measurements(file(tmp_path, text)) == known
    assert read_measurements(file(tmp_path, f"IOR-3.3.0: MPI Coordinated Test of Parallel I/O\n{text}\n")) == known


def test_the_csv_of_ior(tmp_path: Path) -> None:
    path = file(tmp_path, CSV)
    assert read_measurements(path) == [
        Measurement(30.312 * MIB, "write", None, 48, None, 1, 202.6921),
        Measurement(2012.0224 * MIB, "read", None, 48, None, 1, 3.0536),
    ]
    assert [one.nodes for one in read_measurements(path, ranks_per_node=20)] == [3, 3]


@pytest.mark.parametrize(
    ("header", "factor"), [("MB/s", 1e6), ("bandwidth (GB/s)", 1e9), ("MiB/s", MIB), ("bandwidth", 1e6), ("Write MB/s", 1e6)]
)
@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_a_plain_table(tmp_path: Path, header: str, factor: float, separator: str) -> None:
    lines = (["Nodes", "processes", "OSTs", header], ["2", "64", "4", "1.5"], ["", "32", "", "2"])
    text = "# measured in March\n\n" + "\n".join(separator.join(line) for line in lines) + "\n"
    assert read_measurements(file(tmp_path, text)) == [
        Measurement(1.5 * factor, "io", 2, 64, 4),
        Measurement(2.0 * factor, "io", None, 32, None),
    ]


def test_a_table_as_spreadsheets_write_it(tmp_path: Path) -> None:
    """With a byte order mark and empty fields at the end."""
    (one,) = read_measurements(file(tmp_path, "\ufeffnodes,MB/s\r\n2,500,,\r\n"))
    assert (one.nodes, one.bandwidth) == (2, 500e6)


def test_the_platform_is_what_was_reached(tmp_path: Path) -> None:
    made = penstock.import_ior(file(tmp_path, TEXT)).workload
    platform = made.platform
    assert (platform.write_bandwidth, platform.read_bandwidth) == (pytest.approx(3000.0 * MIB), pytest.approx(2700.0 * MIB))
    assert (platform.bandwidth, platform.node_bandwidth) == (platform.write_bandwidth, pytest.approx(750.0 * MIB))
    (application,) = made.applications
    assert (application.name, application.nodes) == ("run-4-nodes-64-processes", 4)
    assert dict(application.phases) == {"read": pytest.approx(2700 * MIB * 6.07), "write": pytest.approx(3000 * MIB * 5.465)}
    assert penstock.simulate(made, "fair-share").makespan == pytest.approx(6.07 + 5.465)
    best = penstock.import_ior(file(tmp_path, TEXT), statistic="best", machine_nodes=96).workload.platform
    assert (best.bandwidth, best.nodes) == (3062.11 * MIB, 96)


def test_a_node_has_what_few_nodes_reach() -> None:
    rows = {1: 1e9, 2: 2e9, 4: 3.6e9, 8: 5e9, 16: 5e9}
    made, _ = machine_of([Measurement(value, nodes=nodes) for nodes, value in rows.items()])
    assert (made.platform.bandwidth, made.platform.node_bandwidth) == (5e9, 1e9)
    assert [one.nodes for one in made.applications] == list(rows)
    result = penstock.simulate(made, "fcfs")  # one after the other, each as fast as it was measured
    assert result.yields.tolist() == pytest.approx([1.0] * 5)


def test_curves_come_from_the_number_of_osts() -> None:
    rows = [
        Measurement(value * 1e9, nodes=nodes, osts=osts)
        for nodes, osts, value in ((2, 1, 1), (2, 4, 3), (8, 1, 1.2), (8, 4, 4))
    ]
    made, notes = machine_of(rows)
    assert made.platform.resources == 4
    assert [one.curve.document() for one in made.applications if one.curve] == [{"1": 1e9, "4": 3e9}, {"1": 1.2e9, "4": 4e9}]
    assert made.on_resources
    assert notes == []
    made, notes = machine_of(rows[1:])
    assert made.platform.resources is None
    assert notes == ["1 of 2 sizes of runs: not measured with 1 OST, which a curve needs"]


def test_runs_at_one_time_give_the_degradation() -> None:
    rows = [
        Measurement(10e9, nodes=8, applications=1),
        Measurement(9e9, nodes=8, applications=2),
        Measurement(6e9, nodes=8, applications=4),
    ]
    made, _ = machine_of(rows)
    assert made.platform.degradation is not None
    assert made.platform.degradation.document() == {"2": 0.9, "4": 0.6}
    # Of reads and writes the smaller part counts; more than alone is no degradation.
    more = [
        Measurement(5e9, "read", applications=1),
        Measurement(6e9, "read", applications=2),
        Measurement(2e9, "write"),
        Measurement(1.6e9, "write", applications=2),
    ]
    made, _ = machine_of(more)
    assert made.platform.degradation is not None
    assert made.platform.degradation.document() == {"2": 0.8}


def test_what_many_nodes_lose_can_be_a_degradation() -> None:
    rows = [Measurement(value, nodes=nodes) for nodes, value in ((1, 1e9), (4, 4e9), (16, 3e9), (64, 2e9))]
    made, notes = machine_of(rows)
    assert made.platform.degradation is None
    assert notes == ["io: 64 nodes reach 50% of the largest bandwidth; --nodes-per-transfer N makes a degradation of it"]
    made, notes = machine_of(rows, nodes_per_transfer=4)
    assert made.platform.degradation is not None
    assert (made.platform.degradation.document(), notes) == ({"4": 0.75, "16": 0.5}, [])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "it holds no measured bandwidth"),
        ("some words\n", "line 1: no column of ['some words'] is a bandwidth"),
        ("nodes,MB/s\n1\n", "line 2: has 1 fields; expected 2"),
        ("nodes,MB/s\n1,500,5\n", "line 2: has 3 fields; expected 2"),  # a decimal comma
        ("nodes,MB/s\n1,fast\n", "line 2, mb/s: 'fast' is out of range; expected a number above 0"),
        ("nodes,MB/s\n1,-3\n", "line 2, mb/s: '-3' is out of range"),
        ("nodes,MB/s\n0,3\n", "line 2, nodes: '0' is not a number of them; expected 1 or more"),
        ('{"Version": 1,', "line 1: is not JSON"),
        ('{"Version": "1"}', "the key 'tests' is missing; expected the JSON of IOR"),
        ("nodes,MB/s\n", "it holds no measured bandwidth"),
    ],
)
def test_what_is_no_measurement_is_refused_in_a_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError) as refused:
        read_measurements(file(tmp_path, text))
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)


def test_the_command_and_what_reads_its_file(tmp_path: Path, capsys: Capture) -> None:
    out = tmp_path / "machine.json"
    assert main(["import", "ior", file(tmp_path, TEXT), "-o", str(out)]) == 0
    lines = capsys.readouterr().err.splitlines()
    assert lines == ["1 file, 4 measurements", "  sizes of runs: 1", "platform: 3.15 GB/s, 786 MB/s a node"]
    assert penstock.read(out) == penstock.import_ior(tmp_path / "measured").workload
    assert main(["compare", str(out), "--policy", "fcfs"]) == 0
    capsys.readouterr()
    assert main(["import", "ior", file(tmp_path, TEXT), "-o", str(out), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["platform"]["write_bandwidth"] == pytest.approx(3000.0 * MIB)
    for words, message in (
        ([str(tmp_path / "none")], "none: cannot be read: No such file"),
        (
            [str(tmp_path / "measured"), "--statistic", "men"],
            "statistic: 'men' is unknown; expected one of mean, median, best; did you mean mean?",
        ),
        ([str(tmp_path / "measured"), "--ranks-per-node", "0"], "ranks_per_node: 0 is out of range"),
        ([str(tmp_path / "measured"), "--nodes-per-transfer", "0"], "nodes_per_transfer: 0 is out of range"),
        ([str(tmp_path / "measured"), "--machine-nodes", "0"], "nodes: 0 is not a number of nodes"),
    ):
        assert main(["import", "ior", *words, "-o", str(out)]) == 2
        assert message in capsys.readouterr().err
