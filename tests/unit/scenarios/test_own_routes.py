"""Routes and families of addresses of an experiment file: what they become, and what is refused."""

import pytest

from experiments.files import network
from experiments.files.keys import InvalidKey, read_table
from experiments.files.tables import Network

SQUARE = {
    "hosts": ["h1", "h2"],
    "routers": ["r1", "r2", "r3"],
    "links": ["h1-r1", "r1-r2", "r1-r3", "r3-r2", "r2-h2"],
}


def routes_of(node: str, **keys: object) -> dict[str, str]:
    """The gateways of a node's routes, by their networks."""
    topo = network.topology(read_table(Network, {**SQUARE, **keys}))
    return {route.network: route.gateway for route in topo.nodeInfo(node)["routes"]}


def test_a_route_takes_the_place_of_the_shortest_and_leaves_all_others():
    shortest, own = routes_of("r1"), routes_of("r1", routes=["r1 h2 via r3"])
    assert (shortest["10.0.5.0/24"], own["10.0.5.0/24"]) == ("10.0.2.2", "10.0.3.2")
    assert own["fd00:5::/64"] == "fd00:3::2"
    to_h2 = {"10.0.5.0/24", "fd00:5::/64", "fd00:5::0/64"}
    assert {network: own.get(network) for network in shortest if network not in to_h2} == {
        network: gateway for network, gateway in shortest.items() if network not in to_h2
    }
    assert len(own) == len(shortest)


def test_a_route_leads_to_a_prefix_an_interface_or_everywhere():
    routes = routes_of("r1", routes=["r1 10.9.0.0/16 via r3", "r1 default via r2-eth0", "r1 r3-eth1 via r2"])
    assert routes["10.9.0.0/16"] == "10.0.3.2"
    assert (routes["0.0.0.0/0"], routes["::/0"]) == ("10.0.2.2", "fd00:2::2")
    assert (routes["10.0.4.0/24"], routes["fd00:4::/64"]) == ("10.0.2.2", "fd00:2::2")


def test_of_several_routes_that_fit_the_longest_prefix_is_the_way_of_the_testbed_too():
    topo = network.topology(read_table(Network, {**SQUARE, "routes": ["h1 default via r1", "r1 10.0.0.0/8 via r3"]}))
    metrics = {route.network: route.metric for route in topo.nodeInfo("r1")["routes"]}
    assert metrics["10.0.5.0/24"] < metrics["10.0.0.0/8"]
    metrics = {route.network: route.metric for route in topo.nodeInfo("h1")["routes"]}
    assert metrics["10.0.5.0/24"] < metrics["0.0.0.0/0"]


@pytest.mark.parametrize(("family", "has", "has_not"), [("ipv4", ".", ":"), ("ipv6", ":", ".")])
def test_one_family_leaves_nothing_of_the_other(family, has, has_not):
    topo = network.topology(read_table(Network, {**SQUARE, "family": family, "routes": ["r1 h2 via r3"]}))
    for node in topo.hosts():
        info = topo.nodeInfo(node)
        texts = [text for texts in info["addresses"].values() for text in texts]
        texts += [text for route in info["routes"] for text in (route.network, route.gateway)]
        assert texts and all(has in text and has_not not in text for text in texts)
    assert has in network.addresses(topo)["h2"]


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"routes": ["r1 to h2"]}, "routes: 'r1 to h2': cannot read it"),
        ({"routes": ["r9 h2 via r3"]}, "there is no host or router 'r9'"),
        ({"routes": ["r1 h9 via r3"]}, "there is no host or router 'h9'"),
        ({"routes": ["r1 h2-eth3 via r3"]}, "there is no interface 'h2-eth3'"),
        ({"routes": ["r1 10.0.5.1/24 via r3"]}, "has host bits set"),
        ({"routes": ["h1 h2 via r3"]}, "r3 is not next to h1"),
        ({"routes": ["r1 h2 via r1"]}, "r1 is not next to r1"),
        ({"routes": ["r1 h1 via r3"]}, "r1 has an interface in 10.0.1.0/24, and needs no route to it"),
        ({"routes": ["r1 h2 via r3", "r1 10.0.5.0/24 via r2"]}, "r1 has two routes to 10.0.5.0/24"),
        ({"routes": ["r1 10.9.0.0/16 via r3"], "family": "ipv6"}, "r3 has no address of that family"),
        ({"family": "ipv5"}, "family: there is no 'ipv5'"),
    ],
)
def test_what_makes_no_sense_is_refused_in_a_sentence(keys, said):
    with pytest.raises(InvalidKey, match=said) as refused:
        routes_of("r1", **keys)
    assert "\n" not in str(refused.value.args[0])


def test_a_topology_by_name_has_its_own_addresses_and_routes():
    for keys in ({"routes": ["dtn1 dtn2 via s1"]}, {"family": "ipv6"}):
        with pytest.raises(InvalidKey, match="dtn_pair has its own addresses and routes"):
            read_table(Network, {"topology": "dtn_pair", **keys})
