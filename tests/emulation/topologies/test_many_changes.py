"""Changes of many links at the same moments: none is late in virtual time, by its packets and on record."""

import json
import sys
import time
from collections.abc import Sequence

import pytest
from mininet.topo import Topo

from flightpath.overrides import override
from tests.support.rings import nightly
from topologies.hosts.multihomed import MultihomedHost, plane_addresses
from topologies.links import events
from topologies.links.observing import EventObserver
from topologies.links.spec import LinkSpec
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
