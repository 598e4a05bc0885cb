"""Networks of each topology: who reaches whom, on which path, and many links that start and change at once."""

import itertools
import socket
import time
from collections.abc import Iterator, Sequence

import pytest
from mininet.net import Mininet
from mininet.topo import Topo

from experiments.files import network
from experiments.files.tables import Network
from flightpath.overrides import override
from flightpath.waiting import wait_until
from tests.support.link_pair import HEAD, PORT, Receiver, socket_in
from tests.support.rings import nightly
from tests.support.steering_tools import download, serving
from topologies.dtn_pair import DtnPair
from topologies.fabric import Fabric
from topologies.fat_tree import FatTree
from topologies.hosts.multihomed import MultihomedHost, plane_addresses
from topologies.links import events
from topologies.links.emulated_link import complete
from topologies.links.observing import EventObserver
from topologies.links.spec import LinkSpec
from topologies.links.veth_link import VethLink
from topologies.multipath_pair import MultipathPair
from topologies.sandbox import kernel_settings
from topologies.testbed.testbed import Testbed
from topologies.web_service import WebService

pytestmark = [pytest.mark.virtual, pytest.mark.in_sandbox]

SIZE = 12_000_000
ROUTED = network.topology(
    Network(
        hosts=("h1", "h2", "h3"),
        routers=("r1", "r2", "r3"),
        switches=("s1", "s2"),
        links=("h1-s1", "s1-s2", "s2-r1", "s1-r2", "r1-r3", "r2-r3", "r3-h2", "r1-h3", "h1-r3"),
    )
)
"""Two routers in one switched segment, a ring of routers, and a host with two interfaces."""
PATH = LinkSpec(bandwidth_bps=20_000_000, delay_s=0.002)


def paths(a: MultihomedHost, b: MultihomedHost) -> Iterator[tuple[str, str]]:
    """An address of each, for every interface number and family that both have."""
    for port in sorted(set(a.addresses) & set(b.addresses)):
        for source, target in itertools.product(a.addresses[port], b.addresses[port]):
            if source.version == target.version:
                yield str(source.ip), str(target.ip)


def ping(host: MultihomedHost, source: str, target: str, *options: str) -> str:
    return host.run(["ping", "-n", "-q", "-W", "10", "-c", "1", "-I", source, *options, target])


def carried(testbed: Testbed) -> list[int]:
    return [sum(way["out_bytes"] for way in link.stats()["directions"].values()) for link in testbed.links]


@pytest.mark.parametrize(
    "topology",
    [
        DtnPair(cross_traffic=1),
        MultipathPair(paths=4),
        Fabric(),
        nightly(Fabric(edges=3, hosts=1, cores=2, multihomed=False)),
        nightly(FatTree()),
        WebService(clients=2),
        ROUTED,
    ],
    ids=["dtn_pair", "multipath_pair", "fabric", "fabric_single_homed", "fat_tree", "web_service", "routed"],
)
def test_every_pair_reaches_each_other_on_each_path(topology):
    with Testbed(topology) as testbed:
        tried = 0
        for a, b in itertools.permutations(testbed.net.hosts, 2):
            for source, target in paths(a, b):
                ping(a, source, target)
                tried += 1
        hosts = len(testbed.net.hosts)
        assert tried >= hosts * (hosts - 1) * 2  # both families
        testbed.check()


@pytest.mark.parametrize("switched", [False, nightly(True)])
def test_what_leaves_from_an_address_crosses_its_own_path(switched):
    with Testbed(MultipathPair(paths=3, switched=switched)) as testbed:
        links = [testbed.links.index(testbed.link("h1", path)) for path in range(3)]
        rules = testbed.host("h2").run(["ip", "-6", "rule"]) + testbed.host("h2").run(["ip", "-4", "rule"])
        assert all(f"from {address} lookup" in rules for address in ("fd00:3::2", "10.0.3.2"))
        for path, number in enumerate(links):
            for source, target in list(paths(testbed.host("h1"), testbed.host("h2")))[2 * path : 2 * path + 2]:
                before = carried(testbed)
                ping(testbed.host("h1"), source, target, "-s", "1400", "-c", "5", "-i", "0.05")
                grown = [after - then for after, then in zip(carried(testbed), before, strict=True)]
                assert grown[number] > 10 * 1400
                assert all(grown[other] < 1400 for other in links if other != number)


def test_planes_of_a_fabric_cross_their_own_core_switch():
    with Testbed(Fabric(cores=3, hosts=1, links=[PATH, None, None])) as testbed:
        for plane, (source, target) in enumerate(paths(testbed.host("h1"), testbed.host("h2"))):
            before = carried(testbed)
            ping(testbed.host("h1"), source, target, "-s", "1400", "-c", "5", "-i", "0.05")
            grown = [after - then for after, then in zip(carried(testbed), before, strict=True)]
            used = {link.name for link, more in zip(testbed.links, grown, strict=True) if more > 10 * 1400}
            number = plane // 2  # two families on each plane
            uplinks = {f"edge{edge}-eth{number + 1}:core{number + 1}-eth{edge}" for edge in (1, 2)}
            assert {name for name in used if "core" in name} == uplinks
            assert {name.split(":")[0] for name in used - uplinks} == {f"h1-eth{number}", f"h2-eth{number}"}


@pytest.mark.parametrize(("family", "address", "switched"), [(6, "fd00:1::2", False), nightly(4, "10.0.3.2", True)])
def test_mptcp_uses_all_four_paths(family, address, switched):
    topology = MultipathPair(paths=4, links=PATH, family=family, switched=switched, congestion_control="cubic")
    with Testbed(topology) as testbed:
        with serving(testbed.host("h2"), address):
            download(testbed.host("h1"), address, SIZE)
        used = [testbed.link("h1", path).stats()["directions"]["b_to_a"]["out_bytes"] for path in range(4)]
        assert min(used) > SIZE / 20, used
        assert sum(used) > SIZE


def test_routers_and_hosts_ask_for_neighbours_from_the_start():
    # A router's question comes from its link-local address: while that was tentative, up to 3 s, packets were lost.
    with Testbed(ROUTED) as testbed:
        for host in testbed.net.hosts:
            link_local = host.run(["ip", "-6", "address", "show", "scope", "link"])
            assert link_local.count("inet6 fe80:") == len(host.addresses)
            assert host.run(["ip", "-6", "address", "show", "tentative"]) == ""


def test_buffers_of_data_transfer_nodes_are_in_force():
    with Testbed(DtnPair(switched=False)) as testbed:
        for name in ("tcp_rmem", "tcp_wmem"):
            output = testbed.host("dtn2").run(["sysctl", "-n", f"net.ipv4.{name}"])
            assert int(output.split()[2]) == 256 << 20


def test_links_of_one_specification_have_losses_of_their_own_and_the_same_ones_each_time():
    def seeds() -> list[int]:
        lossy = LinkSpec(bandwidth_bps=10_000_000, loss=0.1)
        with Testbed(MultipathPair(paths=3, links=lossy), emulator="relay") as testbed:
            return [link.seed for link in testbed.links]

    first = seeds()
    assert len(set(first)) == len(first) >= 3
    assert seeds() == first


LINKS, CHANGES, PERIOD_S = 60, 10, 0.1
# A packet is sent so long after each change, on each link; sending all of them takes less than another ms.
AFTER_S = 0.001
# By the relay, whose program needs some clock readings for a packet.
SLACK_S = 50e-6
# Seconds since 1970 as floating-point numbers are 0.24 us apart.
CLOCK_S = 0.5e-6

_KIND = 0x88B5
"""EtherType for experiments (IEEE 802)."""

_FRAME = bytes.fromhex("ffffffffffff 020000000001") + _KIND.to_bytes(2, "big") + bytes(46)


class ManyLinks(Topo):
    """Two hosts with 60 links between them."""

    @override
    def build(self) -> None:
        for number, name in enumerate(("h1", "h2"), start=1):
            addresses = {port: plane_addresses(port + 1, number) for port in range(LINKS)}
            self.addHost(name, cls=MultihomedHost, addresses=addresses)
        for port in range(LINKS):
            self.addLink("h1", "h2", port1=port, port2=port, spec=LinkSpec(bandwidth_bps=10**9, delay_s=0.0005))


def delay_s(number: int) -> float:
    return 0.002 + 0.001 * number


def sent_over_each(testbed: Testbed, times_ns: Sequence[int]) -> list[tuple[int, int, float]]:
    """Sends a packet over each link at each time; returns the number of the time, that of the link, and the delay."""
    here, there = testbed.net.hosts
    receiver = Receiver(socket_in(there, socket.SOCK_DGRAM))
    with socket_in(here, socket.SOCK_DGRAM) as sender:
        for number, at_ns in enumerate(times_ns):
            time.sleep(max(0, at_ns - time.monotonic_ns()) / 1e9)
            for link in range(LINKS):
                datagram = HEAD.pack(number * LINKS + link, link, time.time_ns())
                sender.sendto(datagram, (there.address(link), PORT))
        wait_until(lambda: len(receiver.arrivals) == len(times_ns) * LINKS, "all packets to arrive", 60)
    receiver.stop()
    return [(*divmod(arrival.number, LINKS), arrival.delay_s) for arrival in receiver.arrivals]


def test_all_links_pass_packets_once_they_are_up():
    """On its own, the kernel lets a hundred interfaces a second send, or two hundred at once."""
    Mininet.inited = True
    net = Mininet(controller=None, host=MultihomedHost, build=False)
    a, b = (net.addHost(name) for name in ("h1", "h2"))
    links = [net.addLink(a, b, cls=VethLink, wait=False) for _ in range(220)]
    with kernel_settings.inside(b):
        receiver = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(_KIND))
    with kernel_settings.inside(a):
        sender = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    with sender, receiver:
        complete(links)
        for link in links:
            sender.sendto(_FRAME, (link.intf1.name, 0))
        receiver.settimeout(1)
        arrived = {receiver.recvfrom(100)[1][0] for _ in links}
    assert arrived == {link.intf2.name for link in links}


@pytest.mark.parametrize("emulator", [nightly("relay"), "netem"], indirect=True)
def test_changes_of_many_links_are_on_time(emulator):
    with Testbed(ManyLinks(), emulator=emulator) as testbed:
        sent_over_each(testbed, [0])  # so that neighbours are known
        start_ns = time.monotonic_ns() + 2_000_000_000
        texts = [
            f"{number * PERIOD_S}s h1-eth{port} delay={1000 * delay_s(number):g}ms bandwidth={100 + number}Mbit"
            for number in range(CHANGES)
            for port in range(LINKS)
        ]
        observer = EventObserver()
        observer.follow(events.schedule(events.parse_events(texts), testbed.links, start_ns), start_ns)
        moments_ns = [start_ns + round((number * PERIOD_S + AFTER_S) * 1e9) for number in range(CHANGES)]
        found = sent_over_each(testbed, moments_ns)
        observer.stop()

        late_s = {(number, link): took_s - delay_s(number) for number, link, took_s in found}
        assert late_s.keys() == {*itertools.product(range(CHANGES), range(LINKS))}
        assert {place: late for place, late in late_s.items() if not -CLOCK_S <= late < SLACK_S} == {}
        on_record = [seen_s - event.at_s for event, seen_s in observer.seen_s.items()]
        assert len(on_record) == len(texts) and 0 <= min(on_record) <= max(on_record) < 0.005
        testbed.check()
