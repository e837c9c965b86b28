"""Settings: the command line over the environment over a file, and every wrong value in one line."""

from __future__ import annotations

import math
import re

import pytest

from penstock.cli import serve
from penstock.live.server.settings import AUTO, NAMES, ServerSettings, load
from penstock.model import InputError


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "penstock.toml"
    path.write_text('bandwidth = "2 GB/s"\npolicy = "fcfs"\nlease = "30 s"\nmax_applications = 5\n')
    return str(path)


def test_the_command_line_wins_over_the_environment_over_the_file(file):
    found = load({"policy": "set-10", "lease": None}, {"PENSTOCK_POLICY": "greedy-yield", "PENSTOCK_LEASE": "1 min"}, file)
    assert (found.policy, found.lease, found.bandwidth, found.max_applications) == ("set-10", 60.0, 2e9, 5)
    assert dict(found.origins) == {
        "policy": "command line",
        "lease": "environment",
        "bandwidth": file,
        "max_applications": file,
    }


def test_the_file_can_be_named_by_the_environment(file):
    assert load({}, {"PENSTOCK_CONFIG": file}, None).bandwidth == 2e9


def test_defaults(tmp_path):
    found = load({}, {"XDG_STATE_HOME": str(tmp_path)}, None)
    assert found.journal == str(tmp_path / "penstock" / "journal.sqlite")
    assert (found.listen, found.http, found.node_bandwidth) == ("", "", math.inf)
    assert load({}, {"STATE_DIRECTORY": "/var/lib/penstock:/other"}, None).journal == "/var/lib/penstock/journal.sqlite"


def test_what_is_printed_gives_the_same_again(file, tmp_path):
    found = load({"socket": "here.sock"}, {"XDG_STATE_HOME": str(tmp_path)}, file)
    assert 'policy = "fcfs"  # ' + file in found.as_toml()
    again = tmp_path / "again.toml"
    again.write_text(found.as_toml())
    assert load({}, {}, str(again)) == found
    assert "# bandwidth = not set" in ServerSettings().as_toml()


@pytest.mark.parametrize(
    ("options", "environment", "message"),
    [
        ({"bandwidth": "fast"}, {}, "--bandwidth: 'fast' is not an amount; expected bytes/s"),
        ({"lease": "0"}, {}, "--lease: '0' is too short; expected seconds above 0"),
        ({"max_applications": "none"}, {}, "--max-applications: 'none' is not a number of these"),
        ({"addresses": "/b/socket, host:no"}, {}, "--addresses: address 'host:no' has no port; expected host:port"),
        ({"observe": "maybe"}, {}, "--observe: 'maybe' is neither; expected yes or no"),
        ({"degradation": "1.5"}, {}, "--degradation: 2: 1.5 is no part of the bandwidth; expected a number above 0"),
        ({"degradation": "{2: 0.5}"}, {}, "--degradation: is not JSON: Expecting property name"),
        ({"degradation": "/nowhere.json"}, {}, "--degradation: /nowhere.json cannot be read: No such file or directory"),
        ({}, {"PENSTOCK_KEEP": "-3 s"}, "PENSTOCK_KEEP: '-3 s' is negative"),
        ({}, {"PENSTOCK_CONFIG": "/nowhere.toml"}, "/nowhere.toml: cannot be read: No such file or directory"),
    ],
)
def test_wrong_values(options, environment, message):
    with pytest.raises(InputError) as caught:
        load(options, environment, None)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("bandwith = 3", "unknown setting 'bandwith'; expected one of bandwidth, "),
        ("bandwidth = ", "is not TOML: "),
        ("policy = 3", "policy: 3 is not text; expected a string"),
    ],
)
def test_wrong_files(tmp_path, text, message):
    path = tmp_path / "wrong.toml"
    path.write_text(text)
    with pytest.raises(InputError, match=message) as caught:
        load({}, {}, str(path))
    assert str(caught.value).startswith(str(path))


def test_every_setting_is_an_option():
    assert tuple(serve.OPTIONS) == NAMES


def test_a_degradation_is_a_part_a_mapping_or_a_file(tmp_path):
    file = tmp_path / "loss.json"
    file.write_text('{"2": 0.9, "4": 0.8}')
    config = tmp_path / "penstock.toml"
    config.write_text("[degradation]\n2 = 0.9\n4 = 0.8\n")
    assert load({"degradation": "0.9"}, {}, None).degradation == '{"2": 0.9}'
    expected = '{"2": 0.9, "4": 0.8}'
    assert load({"degradation": str(file)}, {}, None).degradation == expected
    assert load({"degradation": expected}, {}, None).degradation == expected
    assert load({}, {}, str(config)).degradation == expected


def test_weights_are_a_mapping_or_a_file_and_users_are_known_by_name_or_uid(tmp_path):
    file, config = tmp_path / "weights.json", tmp_path / "penstock.toml"
    given = '{"root": 2, "1007": 0.5}'
    file.write_text(given)
    config.write_text("[weights]\nroot = 2\n1007 = 0.5\n")
    for found in (load({"weights": given}, {}, None), load({"weights": str(file)}, {}, None), load({}, {}, str(config))):
        assert found.weights == given
        assert found.limits.weights == {0: 2.0, 1007: 0.5}
    again = tmp_path / "again.toml"
    again.write_text(load({"weights": given}, {}, None).as_toml())
    assert load({}, {}, str(again)).weights == given
    assert load({}, {}, None).limits.weights == {}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ('{"root": 0}', "--weights: root: 0 is no weight; expected a finite number above 0"),
        ('{"root": "2"}', "--weights: root: '2' is no weight"),
        ("{root: 2}", "--weights: is not JSON: Expecting property name"),
        ("/nowhere.json", "--weights: /nowhere.json cannot be read: No such file or directory; expected"),
    ],
)
def test_wrong_weights(given, message):
    with pytest.raises(InputError, match=re.escape(message)):
        load({"weights": given}, {}, None)


def test_a_weight_of_nobody_is_refused():
    with pytest.raises(InputError, match="weights: 'nobody here' is no user here; expected a name or a uid"):
        _ = load({"weights": '{"nobody here": 2}'}, {}, None).limits


def test_weights_of_groups_are_known_by_name_or_gid(tmp_path):
    config, given = tmp_path / "penstock.toml", '{"root": 2, "54321": 0.5}'
    config.write_text("[group_weights]\nroot = 2\n54321 = 0.5\n")
    for found in (load({"group_weights": given}, {}, None), load({}, {}, str(config))):
        assert found.limits.group_weights == {0: 2.0, 54321: 0.5}
        assert found.limits.group_names == {"root": 0, "54321": 54321}
    assert load({"group_weights": '{"0": 2}'}, {}, None).limits.group_names == {"root": 0, "0": 0}
    assert load({}, {}, None).limits.group_weights == {}
    with pytest.raises(InputError, match="group_weights: 'nobody here' is no group here; expected a name or a gid"):
        _ = load({"group_weights": '{"nobody here": 2}'}, {}, None).limits
    with pytest.raises(InputError, match="--group-weights: root: 0 is no weight; expected a finite number above 0"):
        load({"group_weights": '{"root": 0}'}, {}, None)
    with pytest.raises(InputError, match=r"--group-weights: is not JSON: .* by group or gid"):
        load({"group_weights": "{root"}, {}, None)


def test_what_is_measured_and_observed_is_printed_and_read_again(tmp_path):
    found = load({"bandwidth": "auto", "observe": "yes", "degradation": "0.5", "first_bandwidth": "1 GB/s"}, {}, None)
    assert (found.bandwidth, found.observe, found.first_bandwidth) == (AUTO, True, 1e9)
    again = tmp_path / "again.toml"
    again.write_text(found.as_toml())
    assert 'bandwidth = "auto"  # command line' in found.as_toml()
    assert load({}, {}, str(again)) == found


def test_addresses_are_those_that_clients_read(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = load({"addresses": " second.sock, io1:7411,[::1]:7411 ,"}, {}, None)
    assert found.addresses == f"{tmp_path}/second.sock,io1:7411,[::1]:7411"
    assert load({"addresses": ""}, {}, None).addresses == ""
