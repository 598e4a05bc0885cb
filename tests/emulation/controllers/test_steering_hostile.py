"""A host that means harm: it floods, forges and talks nonsense, and costs nobody else anything."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from flightpath.waiting import wait_until
from tests.support.steering_tools import Transfer, carried_by_core, download, path_of, serving, subflows
from topologies.fabric import Fabric
from topologies.links.spec import LinkSpec
from topologies.testbed.testbed import Testbed

pytestmark = [pytest.mark.virtual, pytest.mark.in_sandbox]

SIZE = 2_000_000
PATH = LinkSpec(bandwidth_bps=20_000_000, delay_s=0.002)

FORGE = """
import socket, struct, sys, random, time

def checksum(data):
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF

def segment(mac, source, target, sport, dport, flags):
    head = struct.pack("!HHLLBBHHH", sport, dport, 1, 1, 5 << 4, flags, 8192, 0, 0)
    pseudo = socket.inet_aton(source) + socket.inet_aton(target) + struct.pack("!HH", 6, len(head))
    tcp = bytearray(head)
    struct.pack_into("!H", tcp, 16, checksum(pseudo + bytes(tcp)))
    ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(tcp), 1, 0, 64, 6, 0, *map(socket.inet_aton, (source, target)))
    ip = ip[:10] + struct.pack("!H", checksum(ip)) + ip[12:]
    return bytes.fromhex(mac.replace(":", "")) + own + b"\\x08\\x00" + ip + bytes(tcp)

device, what, *arguments = sys.argv[1:]
raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
raw.bind((device, 0))
own = raw.getsockname()[4]
if what == "flood":
    mac, source, target = arguments
    while True:  # some thousand a second: many for a controller, little for the links
        for _ in range(5):
            raw.send(segment(mac, source, target, random.randrange(1024, 65536), random.randrange(1, 65536), 2))
        time.sleep(0.001)
elif what == "send":
    mac, source, target, sport, dport, flags = arguments
    raw.send(segment(mac, source, target, int(sport), int(dport), int(flags)))
"""


def fabric():
    return Fabric(hosts=2, cores=2, links=PATH, multihomed=False, congestion_control="cubic")


def mac_of(testbed: Testbed, host: str) -> str:
    return testbed.host(host).intfs[0].MAC()


def forge(testbed: Testbed, host: str, *arguments: str) -> subprocess.Popen[str]:
    argv = ["python3", "-c", FORGE, f"{host}-eth0", *arguments]
    return testbed.host(host).popen(argv, stdout=subprocess.PIPE, text=True)


@contextmanager
def flood(testbed: Testbed, host: str, target: str, address: str) -> Iterator[None]:
    process = forge(testbed, host, "flood", mac_of(testbed, target), testbed.host(host).address(), address)
    try:
        yield
    finally:
        process.kill()
        process.communicate()


def test_a_flood_of_syns_costs_other_hosts_no_connection_and_the_controller_no_memory():
    with Testbed(fabric(), policy="disjoint") as testbed, serving(testbed.host("h3"), "10.0.1.3", mptcp=False):
        with flood(testbed, "h2", "h4", "10.0.1.4"):
            view = testbed.controller.view
            wait_until(lambda: view.metrics()["ports_quietened_total"] >= 1, "the flood to be noticed", 30)
            slowest = max(download(testbed.host("h1"), "10.0.1.3", 1000, mptcp=False).connect_s for _ in range(20))
            assert slowest < 3, "a SYN was lost twice"
            assert len(subflows(testbed)) <= 300
            wait_until(lambda: view.metrics()["ports_quietened_total"] >= 2, "it to be noticed again", 30)
            assert len(subflows(testbed)) <= 300
            steered = view.metrics()['syns_total{outcome="steered"}']
            download(testbed.host("h1"), "10.0.1.3", 1000, mptcp=False)
            assert view.metrics()['syns_total{outcome="steered"}'] > steered
        assert view.health()["ready"]
        assert view.topology()["moves"] == [], "links looked dead to a busy controller"
        testbed.check()


def test_a_hosts_frame_with_a_label_goes_nowhere():
    def received(testbed: Testbed, host: str) -> str:
        return testbed.host(host).run(["nstat", "-asz", "TcpExtTCPACKSkippedChallenge", "TcpOutRsts"])

    def dropped_labels() -> int:
        argv = ["ovs-ofctl", "-O", "OpenFlow13", "dump-flows", "edge1", "table=0"]
        output = subprocess.run(argv, capture_output=True, text=True, check=True).stdout
        (line,) = [line for line in output.splitlines() if "priority=90" in line]
        return int(line.partition("n_packets=")[2].partition(",")[0])

    with Testbed(fabric(), policy="disjoint") as testbed, serving(testbed.host("h3"), "10.0.1.3", mptcp=False):
        download(testbed.host("h1"), "10.0.1.3", 1000, mptcp=False)
        transfer = Transfer(testbed.host("h1"), "10.0.1.3", 20 * SIZE, mptcp=False)
        transfer.wait_begun()
        ((_, subflow),) = subflows(testbed).items()
        before = received(testbed, "h3")
        forge(testbed, "h2", "send", subflow["label"], "10.0.1.2", "10.0.1.3", "4242", "4242", "16").wait()
        wait_until(lambda: dropped_labels() >= 1, "the guard to drop it", 30)
        assert "4242" not in received(testbed, "h3")[len(before) :]
        assert path_of(subflow) in carried_by_core(testbed)
        transfer.kill()
