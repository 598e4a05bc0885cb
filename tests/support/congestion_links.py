"""Two hosts and a link for each flow, without switches: what congestion controls are put to the test on."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace

from mininet.net import Mininet

from probes.transfers.tcp_flow import FlowTrace, TcpFlow
from services.stream import StreamSink
from topologies.hosts.multihomed import LARGE_TCP_BUFFERS, MultihomedHost
from topologies.links.relay import RelayLink
from topologies.links.spec import LinkSpec
from topologies.sandbox.sandbox import TEMPORARY

_FIRST_TABLE = 101
_SYSCTLS = {**LARGE_TCP_BUFFERS, "net.ipv6.conf.all.disable_ipv6": "1"}  # whose packets come when they want


@contextmanager
def plain_network() -> Iterator[Mininet]:
    """A network without switches or a controller, to which hosts and links are added."""
    Mininet.inited = True
    net = Mininet(controller=None, host=MultihomedHost, build=False)
    try:
        yield net
    finally:
        net.stop()


@contextmanager
def hosts(specs: Sequence[LinkSpec], seed: int = 1) -> Iterator[tuple[MultihomedHost, MultihomedHost, list[RelayLink]]]:
    """Two hosts in this sandbox, joined by a link for each specification; the second acknowledges every segment.

    What is random is the same on every link: a seed loses the same packets, by their number.
    """
    with plain_network() as net:
        # Segmented early, or an ACK would be for as many segments as a GSO packet had.
        settings = {"congestion_control": "cubic", "sysctls": _SYSCTLS, "segment_early": True}
        both = []
        for number in (1, 2):
            addresses = {port: (f"10.0.{port + 1}.{number}/24",) for port in range(len(specs))}
            both.append(net.addHost(f"h{number}", addresses=addresses, **settings))
        links = [
            net.addLink(*both, port1=i, port2=i, cls=RelayLink, spec=spec, seed=seed) for i, spec in enumerate(specs)
        ]
        net.start()
        for port in range(len(specs)):
            _acknowledge_every_segment(both[1], port)
        yield both[0], both[1], links


def run(algorithms: Sequence[str], spec: LinkSpec, seconds: float, seed: int) -> Mapping[str, FlowTrace]:
    """A flow of each algorithm, all at once, each on a link of its own, in this sandbox.

    Only the flow's data is lost: neither its ACKs nor what the hosts say to find each other, in an order of chance.
    """
    without_loss = replace(spec, loss=0)
    with hosts([without_loss] * len(algorithms), seed) as (source, target, links), StreamSink(target, TEMPORARY):
        running = []
        for port, algorithm in enumerate(algorithms):
            source.run(["ping", "-c", "1", "-W", "5", target.address(port)])
            links[port].apply("a_to_b", spec)
            flow = TcpFlow(source=source.address(port), congestion_control=algorithm, seconds=seconds, interval_s=0.002)
            running.append(flow.start(source, target.address(port)))
        return {flow.algorithm: flow.finish() for flow in running}


def link(megabits: int, rtt_ms: int, queue: int) -> LinkSpec:
    """Slow enough that every segment is seen by itself; the queue in packets."""
    return LinkSpec(bandwidth_bps=megabits * 1_000_000, delay_s=rtt_ms / 2e3, queue=f"{queue}p")


def _acknowledge_every_segment(host: MultihomedHost, port: int) -> None:
    """Without delayed ACKs a window has one course only."""
    interface = host.addresses[port][0]
    route = [str(interface.network), "dev", host.intfs[port].name, "src", str(interface.ip), "quickack", "1"]
    for table in ("main", str(_FIRST_TABLE + port)):
        host.run(["ip", "route", "replace", *route, "congctl", "cubic", "table", table])
