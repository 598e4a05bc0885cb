"""Two hosts and the links between them, and transfers over these."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from probes.transfers.iperf3 import Iperf3
from services.iperf3 import Iperf3Server
from topologies.hosts import congestion_control
from topologies.hosts.multihomed import MultihomedHost
from topologies.links.emulated_link import EmulatedLink
from topologies.links.relay import RelayLink
from topologies.links.spec import LinkSpec
from topologies.multipath_pair import CLIENT, SERVER, MultipathPair
from topologies.sandbox.sandbox import TEMPORARY
from topologies.testbed.testbed import Testbed


@dataclass(frozen=True)
class Pair:
    """Two hosts with one link, or several, each a network of its own."""

    source: MultihomedHost
    target: MultihomedHost
    links: Sequence[EmulatedLink]


def relay_cpu_s(links: Sequence[RelayLink]) -> float:
    return sum(way["cpu_ns"] for link in links for way in link.stats()["directions"].values()) / 1e9


@contextmanager
def pair(*specs: LinkSpec | None, mptcp: bool = False, congestion_control: str = "cubic") -> Iterator[Pair]:
    """Two hosts joined by a relay for each specification; None is a bare veth pair."""
    topology = MultipathPair(paths=len(specs), links=specs, mptcp=mptcp, congestion_control=congestion_control)
    with Testbed(topology, emulator="auto" if None in specs else "relay") as testbed:
        yield Pair(testbed.host(CLIENT), testbed.host(SERVER), testbed.links)


def iperf_server(host: MultihomedHost, *, mptcp: bool = False) -> Iperf3Server:
    """iperf3, to listen in the host with its congestion control."""
    return Iperf3Server(host, TEMPORARY, mptcp=mptcp, on_listening=congestion_control.set_on_listeners)


def goodput_bps(
    network: Pair, seconds: float, *, warm_up: float = 1, mptcp: bool = False, address: str = "", flows: int = 1
) -> float:
    """Payload per second that the target receives after the warm-up, by default at its first address."""
    probe = Iperf3(seconds=seconds, warm_up_s=warm_up, mptcp=mptcp, streams=flows)
    with iperf_server(network.target, mptcp=mptcp):
        return probe.run(network.source, address or network.target.address()).metrics["goodput"].value
