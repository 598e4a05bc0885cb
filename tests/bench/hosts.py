"""Two hosts and the links between them, and transfers over these."""

import json
import select
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from mininet.link import Link
from mininet.net import Mininet

from flightpath.waiting import wait_until
from tests.bench.processes import QUIET, program
from tests.support.killed import killed_at_end
from topologies.hosts import congestion_control
from topologies.hosts.multihomed import LARGE_TCP_BUFFERS, Endpoint, MultihomedHost
from topologies.links.emulated_link import EmulatedLink
from topologies.links.relay import RelayLink
from topologies.links.spec import LinkSpec

PORT = 5201


@dataclass(frozen=True)
class Pair:
    """Two hosts with one link, or several, each a network of its own."""

    source: MultihomedHost
    target: MultihomedHost
    links: Sequence[Link]


def relay_cpu_s(links: Sequence[RelayLink]) -> float:
    """Processor time that links have used so far."""
    return sum(way["cpu_ns"] for link in links for way in link.stats()["directions"].values()) / 1e9


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
def pair(
    *specs: LinkSpec | None,
    mptcp: bool = False,
    link: Callable[..., EmulatedLink] = RelayLink,
    congestion_control: str = "cubic",
) -> Iterator[Pair]:
    """Two hosts joined by a link for each specification; None is Mininet's own, a bare veth pair."""
    ports = range(len(specs))
    with plain_network() as net:
        hosts = [
            net.addHost(
                f"h{number}",
                addresses={port: (f"10.0.{port}.{number}/24", f"fd00:{port}::{number}/64") for port in ports},
                endpoints=[Endpoint(f"10.0.{port}.2") for port in ports] if mptcp and number == 2 else (),
                subflows=len(specs) - 1 if mptcp else 0,
                accepted_addresses=len(specs) - 1 if mptcp and number == 1 else 0,
                congestion_control=congestion_control,
                sysctls=LARGE_TCP_BUFFERS,
            )
            for number in (1, 2)
        ]
        links = [
            net.addLink(*hosts, port1=port, port2=port, cls=Link)
            if spec is None
            else net.addLink(*hosts, port1=port, port2=port, cls=link, spec=spec)
            for port, spec in enumerate(specs)
        ]
        net.start()
        yield Pair(*hosts, links)


@contextmanager
def iperf_server(host: MultihomedHost, *wrapper: str) -> Iterator[None]:
    """iperf3 listens in the host."""
    with killed_at_end(host.popen([*wrapper, "iperf3", "-s"], **QUIET)):
        wait_until(lambda: f":{PORT} " in host.run(["ss", "-Htln"]), "iperf3 to listen", 10)
        congestion_control.set_on_listeners(host)
        yield


def goodput_bps(
    network: Pair,
    seconds: float,
    *,
    warm_up: float = 1,
    mptcp: bool = False,
    address: str | None = None,
    flows: int = 1,
) -> float:
    """Payload per second of a transfer, as its receiver counts it.

    Args:
        network, seconds: where and how long.
        warm_up: not counted, in seconds.
        mptcp: instead of TCP.
        address: of the target; None: that of its first link.
        flows: at the same time.
    """
    wrapper = ["mptcpize", "run"] if mptcp else []
    target = address or network.target.address()
    client = ["iperf3", "-c", target, "-t", str(seconds), "-O", str(warm_up), "-P", str(flows), "-J"]
    with iperf_server(network.target, *wrapper):
        report = json.loads(network.source.run([*wrapper, *client], timeout_s=seconds + 30))
    return report["end"]["sum_received"]["bits_per_second"]


@contextmanager
def running_transfer(network: Pair, *options: str) -> Iterator[None]:
    """A transfer goes on from source to target during the block."""
    client = ["iperf3", "-c", network.target.address(), "-t", "600", *options]
    with iperf_server(network.target), killed_at_end(network.source.popen(client, **QUIET)):
        yield


@contextmanager
def counted_transfer(network: Pair) -> Iterator[Callable[[], tuple[int, int]]]:
    """A transfer goes on during the block, which may ask when its receiver last read (ns) and what it had."""
    with killed_at_end(network.target.popen(program("sink", PORT), stdout=subprocess.PIPE, text=True)) as sink:
        wait_until(lambda: sink.stdout.readline() == "listening\n", "the sink to listen", 10)
        congestion_control.set_on_listeners(network.target)
        source = network.source.popen(program("source", network.target.address(), PORT), stderr=subprocess.DEVNULL)
        with killed_at_end(source):
            yield lambda: _newest_count(sink)


def _newest_count(sink: subprocess.Popen[str]) -> tuple[int, int]:
    """The sink's last line; waits for the next if there is no new one."""
    line = sink.stdout.readline()
    while select.select([sink.stdout], [], [], 0)[0]:
        line = sink.stdout.readline()
    at_ns, received = line.split()
    return int(at_ns), int(received)
