"""Each topology starts, every pair reaches each other on each path, MPTCP uses all paths, events are on time."""

import contextlib
import itertools
import subprocess
import time
from collections.abc import Iterator

import pytest

from flightpath.waiting import wait_until
from topologies.dtn_pair import DtnPair
from topologies.fabric import Fabric
from topologies.hosts.multihomed import MultihomedHost
from topologies.links import events
from topologies.links.events import LinkEvent
from topologies.links.spec import LinkSpec
from topologies.multipath_pair import MultipathPair
from topologies.testbed.testbed import Testbed

pytestmark = pytest.mark.virtual

SIZE = 12_000_000
PATH = LinkSpec(bandwidth_bps=20_000_000, delay_s=0.002)
SERVER = """
import socket, sys
family = socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET
listener = socket.create_server(("", 5001), family=family)
connection, _ = listener.accept()
connection.sendall(bytes(int(sys.argv[2])))
connection.shutdown(socket.SHUT_WR)
connection.recv(1)
"""
CLIENT = """
import socket, sys
connection = socket.create_connection((sys.argv[1], 5001))
got = 0
while chunk := connection.recv(1 << 16):
    got += len(chunk)
print(got)
connection.close()
"""


def paths(a: MultihomedHost, b: MultihomedHost) -> Iterator[tuple[str, str]]:
    """An address of each, for every interface number and family that both have."""
    for port in sorted(set(a.addresses) & set(b.addresses)):
        for source, target in itertools.product(a.addresses[port], b.addresses[port]):
            if source.version == target.version:
                yield str(source.ip), str(target.ip)


def ping(host: MultihomedHost, source: str, target: str, *options: str) -> str:
    return host.run(["ping", "-n", "-q", "-W", "10", "-c", "1", "-I", source, *options, target])


def carried(testbed: Testbed) -> list[int]:
    directions = [link.stats()["directions"] for link in testbed.links]
    return [sum(directions[n][way]["out_bytes"] for way in ("a_to_b", "b_to_a")) for n in range(len(directions))]


@pytest.mark.parametrize(
    "topology",
    [
        DtnPair(cross_traffic=1),
        DtnPair(switched=False),
        MultipathPair(paths=4),
        MultipathPair(paths=2, switched=True),
        Fabric(),
        Fabric(edges=3, hosts=1, cores=2, multihomed=False),
    ],
    ids=["dtn_pair", "dtn_pair_direct", "multipath_pair", "multipath_pair_switched", "fabric", "fabric_single_homed"],
)
def test_every_pair_reaches_each_other_on_each_path(sandboxed, topology):
    def body() -> None:
        with Testbed(topology) as testbed:
            tried = 0
            for a, b in itertools.permutations(testbed.net.hosts, 2):
                for source, target in paths(a, b):
                    ping(a, source, target)
                    tried += 1
            hosts = len(testbed.net.hosts)
            assert tried >= hosts * (hosts - 1) * 2  # both families
            testbed.check()

    sandboxed(body)


@pytest.mark.parametrize("switched", [False, True])
def test_what_leaves_from_an_address_crosses_its_own_path(sandboxed, switched):
    def body() -> None:
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

    sandboxed(body)


def test_planes_of_a_fabric_cross_their_own_core_switch(sandboxed):
    def body() -> None:
        with Testbed(Fabric(cores=3, hosts=1, links=[PATH, None, None])) as testbed:
            for plane, (source, target) in enumerate(paths(testbed.host("h1"), testbed.host("h2"))):
                before = carried(testbed)
                ping(testbed.host("h1"), source, target, "-s", "1400", "-c", "5", "-i", "0.05")
                grown = [after - then for after, then in zip(carried(testbed), before, strict=True)]
                used = {link.name for link, more in zip(testbed.links, grown, strict=True) if more > 10 * 1400}
                core, host_port = plane // 2 + 1, plane // 2  # two families on each plane
                assert {name for name in used if "core" in name} == {
                    f"edge{edge}-eth{core}:core{core}-eth{edge}" for edge in (1, 2)
                }
                assert {name.split(":")[0] for name in used if name.startswith("h")} == {
                    f"h{host}-eth{host_port}" for host in (1, 2)
                }

    sandboxed(body)


@contextlib.contextmanager
def serving(host: MultihomedHost, address: str) -> Iterator[None]:
    argv = ["mptcpize", "run", "python3", "-c", SERVER, address, str(SIZE)]
    server = host.popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_until(lambda: ":5001 " in host.run(["ss", "-Htln"]), f"a server on {host.name}", 30)
        yield
    finally:
        server.kill()
        server.wait()


def fetch(testbed: Testbed, client: str, server: str, address: str) -> None:
    with serving(testbed.host(server), address):
        got = testbed.host(client).run(["mptcpize", "run", "python3", "-c", CLIENT, address])
    assert int(got) == SIZE


@pytest.mark.parametrize(
    ("family", "address", "switched"), [(4, "10.0.1.2", False), (6, "fd00:1::2", False), (4, "10.0.3.2", True)]
)
def test_mptcp_uses_all_four_paths(sandboxed, family, address, switched):
    def body() -> None:
        topology = MultipathPair(paths=4, links=PATH, family=family, switched=switched, congestion_control="cubic")
        with Testbed(topology) as testbed:
            fetch(testbed, "h1", "h2", address)
            used = [testbed.link("h1", path).stats()["directions"]["b_to_a"]["out_bytes"] for path in range(4)]
            assert min(used) > SIZE / 20, used
            assert sum(used) > SIZE

    sandboxed(body)


def test_mptcp_uses_both_paths_of_a_fabric(sandboxed):
    def body() -> None:
        with Testbed(Fabric(hosts=1, links=PATH, mptcp=True, congestion_control="cubic")) as testbed:
            fetch(testbed, "h1", "h2", "10.0.1.2")
            by_name = {link.name: link for link in testbed.links}
            for core in (1, 2):
                link = by_name[f"edge1-eth{core}:core{core}-eth1"]
                assert link.stats()["directions"]["b_to_a"]["out_bytes"] > SIZE / 10
            testbed.check()  # also that no switch dropped anything

    sandboxed(body)


def test_a_transfer_shares_the_bottleneck_with_cross_traffic(sandboxed):
    def body() -> None:
        with Testbed(DtnPair(link=PATH, cross_traffic=1)) as testbed:
            before = testbed.links[[link.name for link in testbed.links].index("s1-eth250:s2-eth250")].stats()
            ping(testbed.host("x1"), "10.0.0.11", "10.0.0.111", "-s", "1400", "-c", "5", "-i", "0.05")
            after = testbed.links[[link.name for link in testbed.links].index("s1-eth250:s2-eth250")].stats()
            grown = [stats["directions"]["a_to_b"]["out_bytes"] for stats in (before, after)]
            assert grown[1] - grown[0] > 5 * 1400

    sandboxed(body)


def test_buffers_of_data_transfer_nodes_are_in_force(sandboxed):
    def body() -> None:
        with Testbed(DtnPair(switched=False)) as testbed:
            for name in ("tcp_rmem", "tcp_wmem"):
                told = testbed.host("dtn2").run(["sysctl", "-n", f"net.ipv4.{name}"])
                assert int(told.split()[2]) == 256 << 20

    sandboxed(body)


def test_events_happen_on_time_and_never_before(sandboxed):
    """The time of each reading is that before it for what must have happened, and after it for what must not have."""

    def body() -> None:
        with Testbed(MultipathPair(paths=1, links=PATH)) as testbed:
            link = testbed.link("h1", 0)
            pings = testbed.host("h1").popen(["ping", "-q", "-i", "0.005", "10.0.1.2"], stdout=subprocess.DEVNULL)
            try:
                wait_until(lambda: sum(carried(testbed)) > 5000, "pings on the link", 30)
                start_ns = time.monotonic_ns()
                texts = [
                    "500ms h1->h2 blackhole=on",
                    "1s h1-h2 bw=5",
                    "1s h1->h2 blackhole=off",
                    "1500ms h1-h2 delay=9ms",
                ]
                events.schedule(map(LinkEvent.parse, texts), testbed.links, start_ns)
                readings = []
                while not readings or readings[-1][0] < 3:
                    begun_s = (time.monotonic_ns() - start_ns) / 1e9
                    direction = link.stats()["directions"]["a_to_b"]
                    readings.append((begun_s, (time.monotonic_ns() - start_ns) / 1e9, direction))
                    time.sleep(0.01)
            finally:
                pings.kill()
                pings.wait()
        spec = PATH.bandwidth_bps, round(PATH.delay_s * 1e9)
        for begun_s, ended_s, direction in readings:
            lost, now = direction["drops"]["blackhole"], (direction["spec"]["rate_bps"], direction["spec"]["delay_ns"])
            if ended_s < 0.5:
                assert lost == 0
            if begun_s > 1.0:
                assert lost > 0
            if ended_s < 1.0:
                assert now == spec
            if begun_s > 1.5 + 0.25:
                assert now == (5_000_000, 9_000_000)
            elif begun_s > 1.0 + 0.25 and ended_s < 1.5:
                assert now == (5_000_000, spec[1])
        lost_after = {direction["drops"]["blackhole"] for begun_s, _, direction in readings if begun_s > 1.0 + 0.5}
        assert len(lost_after) == 1, "the black hole did not end"
        assert sum(ended_s < 0.5 for _, ended_s, _ in readings) > 0

    sandboxed(body)


def test_links_of_one_specification_have_losses_of_their_own_and_the_same_ones_each_time(sandboxed):
    def seeds() -> list[int]:
        lossy = LinkSpec(bandwidth_bps=10_000_000, loss=0.1)
        with Testbed(MultipathPair(paths=3, links=lossy), emulator="relay") as testbed:
            return [link.seed for link in testbed.links]

    def body() -> None:
        found = seeds()
        assert len(set(found)) == len(found) >= 3
        assert seeds() == found

    sandboxed(body)
