"""The drawing of a network from its certificate: where nodes stand, which links a path crosses."""

import pytest

from flightpath.project import PROJECT
from results.exchange.files import read_export
from results.figures.network import NetworkDrawing, network_drawings
from results.records import Certificate, Verdict
from results.summary.facts import read_facts

LINK = {"emulator": "relay", "a_to_b": "50Mbit, 0", "b_to_a": "50Mbit, 0"}


def networks(*certificates: Certificate) -> list[NetworkDrawing]:
    return network_drawings([read_facts(certificate)[0] for certificate in certificates])


def certified(facts: dict) -> Certificate:
    return Certificate(Verdict.FAITHFUL, (), facts)


def drawn(links, paths=()):
    return networks(certified({"links": dict.fromkeys(links, LINK), "paths_before_load": list(paths)}))


def path(port):
    return {"source": "h1", "target": "h2", "port": port, "rtt_ms": 1.25, "expected_rtt_ms": 1.0}


def test_two_planes_are_two_paths():
    """A real run's."""
    (run,) = read_export(PROJECT / "tests/data/mptcp_load_run.csv.zip").runs
    (network,) = networks(*(certified(cell.found) for cell in run.cells))
    places = {node.name: (node.x, node.y) for node in network.nodes}
    assert {node.name for node in network.nodes if node.is_host} == {"h1", "h2", "h3"}
    assert places["h1"][0] < places["s1"][0] == places["s2"][0] < places["h2"][0] == places["h3"][0]
    assert len(set(places.values())) == 5
    assert {link.name: link.paths for link in network.links} == {
        f"h{host}_{plane}": (number,) for number, plane in enumerate("ab") for host in (1, 2, 3)
    }
    assert [p.name for p in network.paths] == ["interface 0", "interface 1"]
    assert network.paths[1].trips[0].startswith("h1 - s2 - h2: ")
    assert network.common == "50Mbit, 0, queue 1000p" and network.cells == 4


def test_a_path_takes_the_shortest_way_and_shared_links_belong_to_both():
    links = ["h1-eth0:s1-eth1", "h1-eth1:s1-eth2", "s1-eth3:s2-eth1", "s1-eth4:s3-eth1", "s3-eth2:s2-eth2"]
    links += ["h2-eth0:s2-eth3", "h2-eth1:s2-eth4", "h3-eth0:s1-eth9"]
    (network,) = drawn(links, [path(0), path(1)])
    crossed = {link.name: link.paths for link in network.links}
    assert crossed["s1-eth3:s2-eth1"] == (0, 1) and crossed["s3-eth2:s2-eth2"] == ()
    assert crossed["h1-eth1:s1-eth2"] == (1,) and crossed["h3-eth0:s1-eth9"] == ()
    assert network.paths[0].trips == ("h1 - s1 - s2 - h2: 1.25 ms (1 requested)",)
    x = {node.name: node.x for node in network.nodes}
    assert x["h1"] == x["h3"] < x["s1"] < x["s2"] < x["h2"], "hosts on one switch stand side by side"


def test_links_side_by_side_bend_away_from_each_other():
    (network,) = drawn([f"h1-eth{n}:h2-eth{n}" for n in range(3)], [path(n) for n in range(3)])
    assert len({link.line for link in network.links}) == len({link.label for link in network.links}) == 3
    assert [link.paths for link in network.links] == [(0,), (1,), (2,)]


def test_different_networks_are_drawn_separately():
    a, b = drawn(["h1-eth0:h2-eth0"]), drawn(["h1-eth0:s1-eth1", "h2-eth0:s1-eth2"])
    assert len(a) == len(b) == 1 and not a[0].paths
    fast, slow = (certified({"links": {"h1-eth0:h2-eth0": link}}) for link in (LINK, {**LINK, "a_to_b": "1Mbit"}))
    assert [network.cells for network in networks(fast, slow, fast)] == [2, 1]


@pytest.mark.parametrize("links", [3, {}, dict.fromkeys(("a", "a:b:c", ":"), LINK)])
def test_certificates_that_do_not_tell_draw_nothing(links):
    assert networks(certified({}), certified({"links": links})) == []


def test_a_network_that_is_too_large_to_be_seen_is_not_drawn():
    assert drawn([f"h{n}-eth0:s1-eth{n}" for n in range(1000)]) == []


def test_parts_that_are_not_joined_are_all_drawn():
    (network,) = drawn(["h1-eth0:s1-eth1", "h2-eth0:s2-eth1"], [path(0)])
    assert len(network.nodes) == 4 and network.paths[0].trips == ("h1 - h2: 1.25 ms (1 requested)",)
