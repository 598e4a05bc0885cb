"""Topologies as users have them become ones for the testbed."""

import itertools
import pickle

import pytest
from mininet.link import TCLink
from mininet.node import CPULimitedHost, OVSSwitch
from mininet.topo import LinearTopo, Topo

from flightpath.errors import UsageError
from topologies.hosts.multihomed import MultihomedHost
from topologies.links.spec import LinkSpec
from topologies.mininet import catalogue
from topologies.mininet.user_topology import prepared


class Triangle(Topo):
    """A topology of Mininet's own kind, of a class that another process does not know."""

    def build(self, bw=10, host=None):
        core = self.addSwitch("core", cls=OVSSwitch, failMode="standalone")
        self.addSwitch("s3")
        self.addHost("a", cls=host)
        self.addHost("b", ip="10.1.2.3/16")
        self.addHost("c")
        self.addLink("a", core, bw=bw, delay="5ms", loss=1, max_queue_size=20, use_htb=True, cls=TCLink)
        self.addLink("b", core)
        self.addLink("c", "s3", spec=LinkSpec(delay_s=0.001))
        self.addLink(core, "s3")


def test_hosts_get_addresses_as_in_mininet_unless_they_have_one():
    topo = prepared(Triangle, {})
    hosts = {name: topo.nodeInfo(name) for name in topo.hosts()}
    assert {name: info["addresses"] for name, info in hosts.items()} == {
        "a": {0: ("10.0.0.1/8", "fd00::1/64")},
        "b": {0: ("10.1.2.3/16", "fd00::2/64")},
        "c": {0: ("10.0.0.3/8", "fd00::3/64")},
    }
    assert {info["cls"] for info in hosts.values()} == {MultihomedHost}


def test_switches_have_ids_of_their_own():
    topo = prepared(Triangle, {})
    assert {name: topo.nodeInfo(name)["dpid"] for name in topo.switches()} == {"core": f"{1:016x}", "s3": f"{3:016x}"}
    assert len({prepared(LinearTopo(k=4), {}).nodeInfo(f"s{n}")["dpid"] for n in range(1, 5)}) == 4
    alike = Topo()
    for switch in ("s1", "s01", "s0", "s\N{SUPERSCRIPT TWO}"):
        alike.addLink(alike.addHost(f"h-{switch}"), alike.addSwitch(switch))
    made = prepared(alike, {})
    assert sorted(int(made.nodeInfo(name)["dpid"], 16) for name in made.switches()) == [1, 2, 3, 4]


def test_links_keep_their_ends_and_what_tclink_would_make_of_their_options():
    links = {(a, b): info for a, b, info in prepared(Triangle(bw=20), {}).links(sort=True, withInfo=True)}
    assert links["a", "core"]["spec"] == LinkSpec.parse(bandwidth="20Mbit", delay="5ms", loss="1%", queue="20p")
    assert "cls" not in links["a", "core"] and "spec" not in links["b", "core"]
    assert links["c", "s3"]["spec"] == LinkSpec(delay_s=0.001)
    before = {(a, b): info for a, b, info in Triangle().links(withInfo=True)}
    assert links.keys() == before.keys()
    for pair, end in itertools.product(before, ("node1", "node2", "port1", "port2")):
        assert links[pair][end] == before[pair][end]


def test_it_can_be_sent_although_the_class_cannot():
    class Local(Triangle):
        pass

    with pytest.raises((pickle.PicklingError, AttributeError)):
        pickle.dumps(Local())
    assert pickle.loads(pickle.dumps(prepared(Local, {"bw": 5}))).hosts() == ["a", "b", "c"]


@pytest.mark.parametrize("name", catalogue.names())
def test_our_own_networks_stay_as_they_are(name):
    ours, ready = catalogue.topology(name)(), prepared(name, {})
    for node in ours.nodes():
        given, kept = dict(ours.nodeInfo(node)), dict(ready.nodeInfo(node))
        assert {key: value for key, value in given.items() if value is not None} == {
            key: value for key, value in kept.items() if value is not None
        }
    assert len(ours.links()) == len(ready.links())


@pytest.mark.parametrize(
    ("topology", "options", "message"),
    [
        ("dtn_pear", {}, "there is no network 'dtn_pear'\n  did you mean 'dtn_pair'"),
        ("dtn_pair", {"lnk": "bw=1"}, "DtnPair has no option 'lnk'\n  did you mean 'link'"),
        ("dtn_pair", {"link": "bw=fast"}, "bandwidth: cannot read 'fast'"),
        (Triangle(), {"bw": 3}, "bw: the topology is made already"),
        (Triangle, {"bw": "fast"}, "bandwidth: cannot read 'fast'"),
        (Triangle, {"host": CPULimitedHost}, "host a: hosts of the class CPULimitedHost"),
        (Topo, {}, "the topology has no hosts"),
        (7, {}, "7 is no topology"),
    ],
)
def test_what_cannot_be_made_is_refused_with_a_hint(topology, options, message):
    with pytest.raises(UsageError) as error:
        prepared(topology, options)
    assert message in str(error.value)
