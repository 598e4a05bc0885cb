"""The structure of the topologies: nodes, links, names and addresses; and the catalogue."""

import inspect

import networkx
import pytest

from flightpath.errors import UsageError
from flightpath.project import PROJECT
from tests.support.finished import finished
from topologies import __main__ as command
from topologies.dtn_pair import DtnPair
from topologies.fabric import Fabric
from topologies.fat_tree import FatTree
from topologies.links.spec import LinkSpec
from topologies.mininet import catalogue
from topologies.multipath_pair import MultipathPair
from topologies.web_service import WebService

SLOW, FAST = LinkSpec(bandwidth_bps=10_000_000, delay_s=0.02), LinkSpec(bandwidth_bps=50_000_000, delay_s=0.005)
TEXTS = "bandwidth=10Mbit delay=20ms; bw=50 delay=5ms"
ALL = [
    DtnPair(cross_traffic=99),
    DtnPair(switched=False),
    MultipathPair(paths=8),
    MultipathPair(paths=8, switched=True),
    Fabric(edges=3, hosts=4, cores=3),
    Fabric(multihomed=False, cores=8),
    FatTree(pods=6),
    WebService(clients=3, mptcp=True),
]


def links_of(topology):
    return [info for _a, _b, info in topology.links(sort=True, withInfo=True)]


def spec_between(topology, a, b):
    return [link["spec"] for link in links_of(topology) if {link["node1"], link["node2"]} == {a, b}]


def addresses_of(topology, host):
    return topology.nodeInfo(host)["addresses"]


@pytest.mark.parametrize("topology", ALL, ids=lambda topology: type(topology).__name__)
def test_no_address_port_or_dpid_is_there_twice(topology):
    links = links_of(topology)
    macs = [link[key] for link in links for key in ("addr1", "addr2")]
    ports = [(link[f"node{end}"], link[f"port{end}"]) for link in links for end in (1, 2)]
    ips = [ip for host in topology.hosts() for of_port in addresses_of(topology, host).values() for ip in of_port]
    dpids = [topology.nodeInfo(switch)["dpid"] for switch in topology.switches()]
    names = [f"{node}-eth{port}" for node, port in ports]

    assert macs and ips
    for values in (macs, ports, ips, dpids):
        assert len(set(values)) == len(values)
    assert all(len(name) <= 15 for name in names), "an interface's name is longer than the kernel takes"
    assert not any("cls" in link for link in links), "who starts the network chooses the emulator"


def test_a_transfer_crosses_one_bottleneck_which_cross_traffic_shares_and_which_needs_no_switches():
    topology = DtnPair(link="bw=10000 delay=15ms", cross_traffic=2)

    assert spec_between(topology, "s1", "s2") == [LinkSpec(bandwidth_bps=10**10, delay_s=0.015)]
    assert spec_between(topology, "dtn1", "s1") == spec_between(topology, "y2", "s2") == [LinkSpec()]
    assert sorted(topology.hosts()) == ["dtn1", "dtn2", "x1", "x2", "y1", "y2"]
    assert addresses_of(topology, "dtn2") == {0: ("10.0.0.2/24", "fd00::2/64")}

    direct = DtnPair(link=SLOW, switched="off")

    assert direct.switches() == [] and spec_between(direct, "dtn1", "dtn2") == [SLOW]
    with pytest.raises(UsageError, match="cross_traffic"):
        DtnPair(switched=False, cross_traffic=1)


def test_a_fat_tree_has_as_many_shortest_paths_between_pods_as_core_switches():
    topology = FatTree(pods=4, links="bw=10")
    graph = networkx.Graph((a, b) for a, b in topology.links())

    assert (len(topology.hosts()), len(topology.switches()), len(topology.links())) == (16, 20, 48)
    assert all(len(list(graph[switch])) == 4 for switch in topology.switches())
    assert len(list(networkx.all_shortest_paths(graph, "h1", "h16"))) == 4
    assert spec_between(topology, "edge1", "agg1") == [LinkSpec(bandwidth_bps=10**7)]
    assert spec_between(topology, "h1", "edge1") == [LinkSpec()]
    with pytest.raises(UsageError, match="pods: 5 is odd"):
        FatTree(pods="5")


@pytest.mark.parametrize("links", [(SLOW, FAST), TEXTS])
@pytest.mark.parametrize("switched", [True, False])
def test_each_path_has_its_own_link(links, switched):
    topology = MultipathPair(paths=2, links=links, switched=switched)

    limited = [link["spec"] for link in links_of(topology) if link["spec"] != LinkSpec()]
    assert limited == [SLOW, FAST]
    assert len(topology.switches()) == (2 if switched else 0)


def test_paths_of_a_fabric_are_disjoint_and_hosts_have_an_address_for_each_or_one():
    topology = Fabric(edges=2, cores=3, links=(SLOW, FAST, SLOW))
    graph = networkx.Graph((link["node1"], link["node2"]) for link in links_of(topology))

    paths = list(networkx.edge_disjoint_paths(graph, "edge1", "edge2"))
    assert sorted(path[1] for path in paths) == ["core1", "core2", "core3"]
    assert spec_between(topology, "edge2", "core2") == [FAST]
    assert spec_between(topology, "edge1", "core3") == [SLOW]
    first, second = ("10.0.1.3/24", "fd00:1::3/64"), ("10.0.2.3/24", "fd00:2::3/64")
    assert addresses_of(Fabric(cores=2), "h3") == {0: first, 1: second}
    assert addresses_of(Fabric(cores=2, multihomed=0), "h3") == {0: first}


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: MultipathPair(paths=9), "paths"),
        (lambda: MultipathPair(paths="many"), "paths"),
        (lambda: MultipathPair(family=5), "family"),
        (lambda: MultipathPair(paths=3, links=TEXTS), "links: 2 links for 3 paths"),
        (lambda: MultipathPair(switched="perhaps"), "switched"),
        (lambda: DtnPair(link="bandwith=10Mbit"), "did you mean 'bandwidth'"),
        (lambda: Fabric(edges=10, hosts=26), "hosts"),
        (lambda: WebService(planes="bw=1;bw=2;bw=3"), "planes"),
    ],
)
def test_parameters_that_make_no_sense_are_refused_by_name(build, message):
    with pytest.raises(UsageError, match=message):
        build()


def test_a_module_that_is_added_is_found_and_one_that_holds_no_network_is_named(tmp_path, monkeypatch):
    (tmp_path / "ring.py").write_text('"""In a ring."""\nfrom mininet.topo import Topo\nclass Ring(Topo): pass\n')
    (tmp_path / "empty.py").write_text("from mininet.topo import Topo\n")
    monkeypatch.setattr(catalogue.topologies, "__path__", [str(tmp_path)])

    assert catalogue.names() == ["empty", "ring"]
    assert catalogue.summary("ring") == "In a ring."
    assert catalogue.topology("ring").__name__ == "Ring"
    with pytest.raises(TypeError, match=r"empty\.py must define one Topo class"):
        catalogue.topology("empty")


def test_mininet_s_own_python_finds_the_same_networks():
    """Debian's Python, which `mn` uses, has Mininet but none of the environment's libraries."""
    code = "from topologies.mininet import catalogue as it; print(*(it.topology(name).__name__ for name in it.names()))"
    done = finished(["/usr/bin/python3", "-c", code], timeout=60)
    assert done.stdout.split() == ["DtnPair", "Fabric", "FatTree", "MultipathPair", "WebService"], done.stderr


@pytest.mark.parametrize("name", catalogue.names())
def test_help_and_document_say_of_each_network_what_its_module_says_which_explains_its_parameters(name, capsys):
    summary = catalogue.summary(name)
    with pytest.raises(SystemExit):
        command.main(["--help"])

    assert f"| `{name}` | {summary} |" in (PROJECT / "docs" / "mininet.md").read_text()
    assert " ".join(f"{name} {summary}".split()) in " ".join(capsys.readouterr().out.split())
    network = catalogue.topology(name)
    explained = network.__doc__.partition("Args:")[2]
    for parameter in list(inspect.signature(network.build).parameters)[1:]:
        assert f" {parameter}:" in explained


def test_several_clients_talk_to_each_other_beside_the_planes():
    topology = WebService("bw=10; bw=20", clients=3, mptcp=True)
    assert sorted(topology.hosts()) == ["h1", "h2", "h3", "h4", "h5"]
    assert {name for name in topology.hosts() if 2 in addresses_of(topology, name)} == {"h1", "h4", "h5"}
    for client in ("h1", "h4", "h5"):
        assert not topology.nodeInfo(client)["endpoints"]
        assert [spec.bandwidth_bps for spec in spec_between(topology, client, "s2")] == [20_000_000]
        assert [spec.bandwidth_bps for spec in spec_between(topology, client, "s3")] == [1_000_000_000]
    assert WebService().switches() == ["s1", "s2"]
