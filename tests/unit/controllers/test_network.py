"""The network description: what can be built can be read, and what is wrong is named with its place."""

import json

import pytest

from controllers.__main__ import main
from controllers.addresses import parse_loopback
from controllers.network.description import Host, Interface, Link, Network, Switch, SwitchPort
from controllers.network.reading import load, parse_network
from flightpath.errors import UsageError
from flightpath.hosts import endpoint

NETWORK = Network(
    switches=(Switch("s1", 1), Switch("s2", 2)),
    hosts=(
        Host("h1", (Interface("h1-eth0", "02:00:00:00:00:01", ("10.0.0.1", "fd00::1"), "s1", 1),)),
        Host(
            "h2",
            (
                Interface("h2-eth0", "02:00:00:00:00:02", ("10.0.0.2",), "s2", 1),
                Interface("h2-eth1", "02:00:00:00:00:03", (), "s1", 2),
            ),
        ),
    ),
    links=(Link(SwitchPort("s1", 3), SwitchPort("s2", 2)),),
)


@pytest.mark.parametrize("is_trusted", [False, True])
def test_what_is_written_is_read_back(tmp_path, is_trusted):
    path = tmp_path / "network.json"
    path.write_text(NETWORK.to_json())
    assert load(path, is_trusted=is_trusted) == NETWORK


def test_what_is_not_known_of_a_link_may_be_left_out():
    written = json.loads(NETWORK.to_json())
    del written["links"][0]["capacity_bps"], written["links"][0]["delay_us"]
    assert parse_network(json.dumps(written), "network") == NETWORK
    written["links"][0]["capacity_bps"] = 10_000_000
    assert parse_network(json.dumps(written), "network").links[0].capacity_bps == 10_000_000


def test_addresses_are_kept_in_one_form():
    interface = Interface("e0", "02:00:00:00:00:AB", ("FD00:0::1",), "s1", 1)
    assert (interface.mac, interface.addresses) == ("02:00:00:00:00:ab", ("fd00::1",))


H1 = ("hosts", 0, "interfaces", 0)
H2 = ("hosts", 1, "interfaces", 0)


@pytest.mark.parametrize(
    ("path", "value", "place", "reason"),
    [
        (("switches", 0, "dpid"), True, "switches[0].dpid:", "a valid integer"),
        (("switches", 0, "dpid"), 2**64, "switches[0].dpid:", "between 1 and"),
        (("switches", 1, "dpid"), 1, "switches[1].dpid:", "second dpid 1; the first is at switches[0].dpid"),
        (("switches", 1, "name"), "s1", "switches[1].name:", "second name 's1'"),
        (("switches", 1, "name"), "", "switches[1].name:", "not a name"),
        (("hosts", 0, "name"), "s2", "hosts[0].name:", "second name 's2'; the first is at switches[1].name"),
        ((*H1, "mac"), "03:00:00:00:00:01", "hosts[0].interfaces[0].mac:", "cannot be"),
        ((*H2, "mac"), "02:00:00:00:00:01", "hosts[1].interfaces[0].mac:", "first is at hosts[0].interfaces[0].mac"),
        ((*H1, "addresses"), ["10.0.0.1/24"], "hosts[0].interfaces[0].addresses[0]:", "not an IP"),
        ((*H1, "addresses"), ["fe80::1%eth0"], "hosts[0].interfaces[0].addresses[0]:", "cannot be"),
        ((*H2, "addresses"), ["fd00:0::1"], "hosts[1].interfaces[0].addresses[0]:", "second IP address 'fd00::1'"),
        ((*H1, "switch"), "s11", "hosts[0].interfaces[0].switch:", "did you mean 's1'?"),
        ((*H1, "port"), 0, "hosts[0].interfaces[0].port:", "between 1 and 65279"),
        ((*H1, "prot"), 2, "hosts[0].interfaces[0]:", "unknown key 'prot'\n  did you mean 'port'?"),
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
    with pytest.raises(UsageError) as raised:
        parse_network(json.dumps(description), "net.json")
    assert str(raised.value).startswith("net.json")
    assert str(raised.value).removeprefix("net.json").removeprefix(": ").startswith(place)
    assert reason in str(raised.value)


def test_a_missing_key_is_named():
    description = json.loads(NETWORK.to_json())
    del description["hosts"][1]["interfaces"][1]["mac"]
    with pytest.raises(UsageError, match=r"^network: hosts\[1\]\.interfaces\[1\]: the key 'mac' is missing"):
        parse_network(json.dumps(description), "network")


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, '{"switches": 1}', "[]", "null"])
def test_other_texts_than_descriptions_are_errors(text):
    with pytest.raises(UsageError):
        parse_network(text, "network")


@pytest.mark.parametrize("content", [None, b"\xff\xfe", b"not json"])
def test_a_file_that_cannot_be_read_is_named_with_exit_code_2(tmp_path, capsys, monkeypatch, content):
    monkeypatch.setattr("controllers.__main__.end_with_parent", lambda: None)
    path = tmp_path / "network.json"
    if content is not None:
        path.write_bytes(content)
    assert main(["--network", str(path)]) == 2
    output = capsys.readouterr()
    assert output.err.startswith("controllers: ") and str(path) in output.err and output.out == ""


def test_listen_addresses():
    for text, address in (("127.0.0.1:6653", ("127.0.0.1", 6653)), ("[::1]:0", ("::1", 0))):
        assert parse_loopback(text, "--listen") == address
        assert endpoint(*address) == text


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["", "6653", "localhost:6653", "127.0.0.1:http", "127.0.0.1:65536"], "--listen"),
        (["0.0.0.0:6653", "[::]:8653", "10.0.0.1:1", "[2001:db8::1]:80"], "is not a loopback address"),
    ],
)
def test_malformed_and_remote_listen_addresses_are_refused(texts, message):
    for text in texts:
        with pytest.raises(UsageError, match=message):
            parse_loopback(text, "--listen")
