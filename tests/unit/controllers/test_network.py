"""The network description: what can be built can be read, and what is wrong is named with its place."""

import json

import pytest

from controllers.__main__ import main
from controllers.network.description import Host, Interface, Link, Network, Switch, SwitchPort
from controllers.network.reading import load, parse_network
from flightpath.errors import UsageError

NETWORK = Network(
    switches=(Switch("s1", 1), Switch("s2", 2)),
    hosts=(
        Host("h1", (Interface("h1-eth0", "02:00:00:00:00:0a", ("10.0.0.1", "fd00::1"), "s1", 1),)),
        Host(
            "h2",
            (
                Interface("h2-eth0", "02:00:00:00:00:02", ("10.0.0.2",), "s2", 1),
                Interface("h2-eth1", "02:00:00:00:00:03", (), "s1", 2),
            ),
        ),
    ),
    links=(Link(SwitchPort("s1", 3), SwitchPort("s2", 2), capacity_bps=10_000_000),),
)


@pytest.mark.parametrize("is_trusted", [False, True])
def test_what_is_written_is_read_back(tmp_path, is_trusted):
    path = tmp_path / "network.json"
    path.write_text(NETWORK.to_json())
    assert load(path, is_trusted=is_trusted) == NETWORK


def test_what_is_not_known_of_a_link_may_be_left_out():
    written = json.loads(NETWORK.to_json())
    del written["links"][0]["delay_us"]
    assert parse_network(json.dumps(written), "network") == NETWORK


H1 = ("hosts", 0, "interfaces", 0)
H2 = ("hosts", 1, "interfaces", 0)
MISSING = object()


@pytest.mark.parametrize(
    ("path", "value", "place", "reason"),
    [
        (("switches", 0, "dpid"), True, "switches[0].dpid:", "a valid integer"),
        (("switches", 0, "dpid"), 2**64, "switches[0].dpid:", "between 1 and"),
        (("switches", 1, "dpid"), 1, "switches[1].dpid:", "second dpid 1; the first is at switches[0].dpid"),
        (("switches", 1, "name"), "", "switches[1].name:", "not a name"),
        (("hosts", 0, "name"), "s2", "hosts[0].name:", "second name 's2'; the first is at switches[1].name"),
        ((*H1, "mac"), "03:00:00:00:00:01", "hosts[0].interfaces[0].mac:", "cannot be"),
        ((*H2, "mac"), "02:00:00:00:00:0A", "hosts[1].interfaces[0].mac:", "first is at hosts[0].interfaces[0].mac"),
        ((*H1, "addresses"), ["10.0.0.1/24"], "hosts[0].interfaces[0].addresses[0]:", "not an IP"),
        ((*H1, "addresses"), ["fe80::1%eth0"], "hosts[0].interfaces[0].addresses[0]:", "cannot be"),
        ((*H2, "addresses"), ["fd00:0::1"], "hosts[1].interfaces[0].addresses[0]:", "second IP address 'fd00::1'"),
        ((*H1, "switch"), "s11", "hosts[0].interfaces[0].switch:", "did you mean 's1'?"),
        ((*H1, "port"), 0, "hosts[0].interfaces[0].port:", "between 1 and 65279"),
        ((*H1, "prot"), 2, "hosts[0].interfaces[0]:", "unknown key 'prot'\n  did you mean 'port'?"),
        ((*H2, "mac"), MISSING, "hosts[1].interfaces[0]:", "the key 'mac' is missing"),
        (("hosts", 1, "interfaces", 1, "name"), "h2-eth0", "hosts[1].interfaces[1].name:", "second interface"),
        (("links", 0, "a", "switch"), "x", "links[0].a.switch:", "no switch 'x'"),
        (("links", 0, "b", "port"), 1, "links[0].b.port:", "second use of port 1 of s2"),
        (("links", 0, "b", "switch"), "s1", "links[0].b.switch:", "both ends"),
        (("link",), [], "unknown key 'link'", "did you mean 'links'?"),
    ],
)
def test_an_error_names_file_place_and_reason(path, value, place, reason):
    description = json.loads(NETWORK.to_json())
    target = description
    for step in path[:-1]:
        target = target[step]
    target[path[-1]] = value
    if value is MISSING:
        del target[path[-1]]
    with pytest.raises(UsageError) as raised:
        parse_network(json.dumps(description), "net.json")
    assert str(raised.value).startswith(f"net.json: {place}")
    assert reason in str(raised.value)


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, '{"switches": 1}', "[]", "null", b"\xff\xfe"])
def test_other_texts_than_descriptions_are_errors(text):
    with pytest.raises(UsageError):
        parse_network(text, "network")


def test_a_file_that_cannot_be_read_is_named_with_exit_code_2(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("controllers.__main__.end_with_parent", lambda: None)
    path = str(tmp_path / "network.json")
    assert main(["--network", path]) == 2
    output = capsys.readouterr()
    assert output.err.startswith("controllers: ") and path in output.err and output.out == ""
