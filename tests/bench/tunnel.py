"""Speed of the tunnel: beside TCP on one path, beside MPTCP on the same paths, and beside what paths can carry."""

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from congestion import provision
from flightpath.processes import is_machine_root
from flightpath.units import format_bandwidth
from scenarios.vegas_thresholds import FILES
from tests.bench.figures import Figure
from tests.bench.hosts import goodput_bps, pair
from tests.bench.processes import busy_s
from topologies.links.spec import LinkSpec
from topologies.testbed.tunnel import Tunnel, TunnelSpec

SECTION = "MPT-GRE tunnel, one TCP flow (cubic) unless said"
GIGABIT = 1_000_000_000
TEN = LinkSpec(bandwidth_bps=10 * GIGABIT, delay_s=0.000_5, queue="10ms")
FOUR, TWO = (replace(TEN, bandwidth_bps=rate * GIGABIT) for rate in (4, 2))
FAST_ETHERNET = LinkSpec(bandwidth_bps=100_000_000, delay_s=0.001, queue="20ms")
NEAR, FAR = (replace(FAST_ETHERNET, delay_s=delay_s, queue="100ms") for delay_s in (0.005, 0.05))
IP_BYTES = {4: 20, 6: 40}
UDP_AND_GRE_BYTES, TCP_BYTES = 16, 32


@dataclass(frozen=True)
class Transfer:
    """A transfer by `tcp` over the first link, by `mptcp` over all, or through the `tunnel`.

    The family is that of the tunnel's paths and of what it carries; a congestion control is a name, or a file.
    """

    links: tuple[LinkSpec, ...]
    by: str = "tunnel"
    family: int = 4
    congestion_control: str = "cubic"
    flows: int = 1
    warm_up_s: float = 1
    seconds: float = 3

    @property
    def payload_limit_gbps(self) -> float:
        """TCP payload that the links can carry, in full-size packets."""
        headers = IP_BYTES[self.family] + TCP_BYTES
        if self.by == "tunnel":
            headers += IP_BYTES[self.family] + UDP_AND_GRE_BYTES
        return sum(link.bandwidth_bps * (link.mtu_bytes - headers) / link.frame_bytes for link in self.links) / 1e9

    def __str__(self) -> str:
        over = " + ".join(format_bandwidth(link.bandwidth_bps) for link in self.links)
        algorithm = Path(self.congestion_control).name
        return f"{self.by} over {over}, IPv{self.family}, {algorithm}, flows: {self.flows}"

    def run(self) -> tuple[float, float]:
        """Goodput in Gb/s of hosts and links of its own, and cores that are busy for each Gb/s, those of hosts too."""
        mptcp = self.by == "mptcp"
        with (
            provision.provided(self.congestion_control) as algorithm,
            pair(*self.links, mptcp=mptcp, congestion_control=algorithm.name) as network,
            ExitStack() as stack,
        ):
            options = {"warm_up": self.warm_up_s, "mptcp": mptcp, "flows": self.flows}
            if self.by == "tunnel":
                tunnel = stack.enter_context(Tunnel(network.source, network.target, TunnelSpec(family=self.family)))
                options["address"] = tunnel.address(network.target, self.family)
            before = busy_s()
            goodput = goodput_bps(network, self.seconds, **options) / 1e9
            return goodput, (busy_s() - before) / (self.seconds + self.warm_up_s) / goodput


TEN_ALONE, TEN_TWICE = Transfer((TEN,)), Transfer((TEN, TEN))
TWO_TWICE, TWO_BY_MPTCP = Transfer((TWO, TWO)), Transfer((TWO, TWO), by="mptcp")
QUAD = Transfer((FAST_ETHERNET,) * 4)
VEGAS = replace(QUAD, congestion_control="vegas", warm_up_s=2)
VEGAS_WIDE = replace(VEGAS, congestion_control=FILES["vegas_x16"])
COMPARISONS = (
    ("a path of 10 Gb/s, to TCP without tunnel", TEN_ALONE, replace(TEN_ALONE, by="tcp"), None),
    ("two paths of 10 Gb/s, to one", TEN_TWICE, TEN_ALONE, 1),
    ("two paths of 4 Gb/s, to one", Transfer((FOUR, FOUR)), Transfer((FOUR,)), 1.7),
    ("two paths of 2 Gb/s, to MPTCP", TWO_TWICE, TWO_BY_MPTCP, 0.95),
    ("100 Mb/s over 5 ms and over 50 ms", Transfer((NEAR, FAR), warm_up_s=3), None, 0.85),
    ("four paths of 100 Mb/s, IPv4", QUAD, None, 0.95),
    ("four paths of 100 Mb/s, IPv6", replace(QUAD, family=6), None, 0.95),
    ("  vegas, IPv4, 8 flows", replace(VEGAS, flows=8), None, 0.95),
    ("  vegas, IPv6, 8 flows", replace(VEGAS, flows=8, family=6), None, 0.95),
    ("  vegas, IPv4, one flow (why: flightpath run vegas_thresholds)", VEGAS, None, None),
    ("  vegas with wider thresholds, IPv4, one flow", VEGAS_WIDE, None, 0.95),
    ("  vegas with wider thresholds, IPv6, one flow", replace(VEGAS_WIDE, family=6), None, 0.95),
)
"""A transfer, the one of the same round beside which it is put (None: the payload limit), and the least ratio."""


def measure(number: int) -> Iterator[str | Figure]:
    comparisons = [each for each in COMPARISONS if each[1].congestion_control == "cubic" or is_machine_root()]
    goodputs, costs = {}, {}
    for transfer in dict.fromkeys(it for _, one, other, _ in comparisons for it in (one, other) if it):
        yield str(transfer)
        goodputs[transfer], costs[transfer] = transfer.run()
    yield Figure(SECTION, "a path of 10 Gb/s", [goodputs[TEN_ALONE]], "Gb/s", at_least=7)
    for name, transfer, beside, at_least in comparisons:
        reference = goodputs[beside] if beside else transfer.payload_limit_gbps
        what = name if beside else f"{name}, to the payload limit"
        yield Figure(SECTION, what, [goodputs[transfer] / reference], "ratio", at_least=at_least)
    cost_name = "processor time per Gb/s over two paths of 2 Gb/s, to MPTCP's"
    yield Figure(SECTION, cost_name, [costs[TWO_TWICE] / costs[TWO_BY_MPTCP]], "ratio", at_most=2.5)
