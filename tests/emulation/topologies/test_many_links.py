"""Many links: all pass packets when they are up, and change on time at the same moments."""

import json
import socket
import sys
import time
from collections.abc import Sequence

import pytest
from mininet.net import Mininet
from mininet.topo import Topo

from flightpath.overrides import override
from tests.support.rings import nightly
from topologies.hosts.multihomed import MultihomedHost, plane_addresses
from topologies.links import events
from topologies.links.emulated_link import complete
from topologies.links.observing import EventObserver
from topologies.links.spec import LinkSpec
from topologies.links.veth_link import VethLink
from topologies.sandbox import kernel_settings
from topologies.testbed.testbed import Testbed

pytestmark = [pytest.mark.virtual, pytest.mark.in_sandbox]

LINKS, CHANGES, PERIOD_S = 60, 10, 0.1
# A packet is sent so long after each change, on each link; sending all of them takes less than another ms.
AFTER_S = 0.001
# By the relay, whose program needs some clock readings for a packet.
SLACK_S = 50e-6

_SENDER = """
import json, socket, sys, time
addresses, times_ns = json.loads(sys.argv[1])
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for number, at_ns in enumerate(times_ns):
    time.sleep(max(0, at_ns - time.monotonic_ns()) / 1e9)
    for link, address in enumerate(addresses):
        sender.sendto(json.dumps((number, link, time.monotonic_ns())).encode(), (address, 5000))
"""
_RECEIVER = """
import json, socket, sys, time
receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
receiver.bind(("", 5000))
print("ready", flush=True)
for _ in range(int(sys.argv[1])):
    data = receiver.recv(100)
    print(data.decode(), time.monotonic_ns(), sep="|")
"""


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
    count = len(times_ns) * LINKS
    receiver = there.popen([sys.executable, "-c", _RECEIVER, str(count)], stdout=-1, text=True)
    assert receiver.stdout is not None and receiver.stdout.readline() == "ready\n"
    addresses = [there.address(port) for port in range(LINKS)]
    here.run([sys.executable, "-c", _SENDER, json.dumps((addresses, times_ns))])
    found = []
    for line in receiver.communicate(timeout=60)[0].splitlines():
        sent, received_ns = line.split("|")
        number, link, sent_ns = json.loads(sent)
        found.append((number, link, (int(received_ns) - sent_ns) / 1e9))
    return found


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

        assert {(number, link) for number, link, _ in found} == {(n, k) for n in range(CHANGES) for k in range(LINKS)}
        late = [(number, link, took_s) for number, link, took_s in found if not 0 <= took_s - delay_s(number) < SLACK_S]
        assert late == []
        on_record = [seen_s - event.at_s for event, seen_s in observer.seen_s.items()]
        assert len(on_record) == len(texts) and 0 <= min(on_record) <= max(on_record) < 0.005
        testbed.check()
