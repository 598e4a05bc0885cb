"""How fast the tunnel is: beside TCP on one path, beside MPTCP on the same paths, and beside what paths can carry."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from congestion import provision
from flightpath.processes import is_machine_root
from flightpath.units import format_bandwidth
from scenarios.vegas_thresholds import FILES
from tests.bench.figures import Figure, ratios
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
WHY_VEGAS = "2 packets are 60 us here: flightpath run vegas_thresholds"


class Result(NamedTuple):
    """Goodput of a transfer, and its cost: hosts, links and tunnel together."""

    goodput_bps: float
    core_percent_per_gigabit: float


@dataclass(frozen=True)
class Transfer:
    """A transfer over one link, or several.

    Attributes:
        links: the paths.
        by: `tcp` on the first of them, `mptcp` on all, or the `tunnel`.
        family: 4 or 6, of the tunnel's paths and of what it carries.
        congestion_control: of each flow; a name, or a file.
        flows: how many there are.
        warm_up_s: not looked at.
    """

    links: tuple[LinkSpec, ...]
    by: str = "tunnel"
    family: int = 4
    congestion_control: str = "cubic"
    flows: int = 1
    warm_up_s: float = 1
    seconds: float = 3

    @property
    def payload_limit_bps(self) -> float:
        """What the links can carry of TCP's payload, in full-size packets."""
        headers = IP_BYTES[self.family] + TCP_BYTES
        if self.by == "tunnel":
            headers += IP_BYTES[self.family] + UDP_AND_GRE_BYTES
        return sum(link.bandwidth_bps * (link.mtu_bytes - headers) / link.frame_bytes for link in self.links)

    def __str__(self) -> str:
        over = " + ".join(format_bandwidth(link.bandwidth_bps) for link in self.links)
        algorithm = Path(self.congestion_control).name
        return f"{self.by} over {over}, IPv{self.family}, {algorithm}, flows: {self.flows}"

    def run(self) -> Result:
        """Runs it once, with hosts and links of its own."""
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
            goodput = goodput_bps(network, self.seconds, **options)
            cores = (busy_s() - before) / (self.seconds + self.warm_up_s)
            return Result(goodput, 100 * cores / (goodput / 1e9))


@dataclass(frozen=True)
class Comparison:
    """A transfer's goodput to another's of the same round, or to the payload limit."""

    name: str
    transfer: Transfer
    beside: Transfer | None = None
    at_least: float | None = None
    note: str = ""

    def figure(self, results: Mapping[Transfer, Sequence[Result]]) -> Figure:
        reached = [each.goodput_bps for each in results[self.transfer]]
        name, references = self.name, [each.goodput_bps for each in results.get(self.beside, ())]
        if not self.beside:
            name, references = f"{name}, to the payload limit", [self.transfer.payload_limit_bps] * len(reached)
        return Figure(SECTION, name, ratios(reached, references), "ratio", at_least=self.at_least, note=self.note)


TEN_ALONE, TEN_TWICE = Transfer((TEN,)), Transfer((TEN, TEN))
TWO_TWICE, TWO_BY_MPTCP = Transfer((TWO, TWO)), Transfer((TWO, TWO), by="mptcp")
QUAD = Transfer((FAST_ETHERNET,) * 4)
VEGAS = replace(QUAD, congestion_control="vegas", warm_up_s=2)
VEGAS_WIDE = replace(VEGAS, congestion_control=FILES["vegas_x16"])
VEGAS_ON_ONE = replace(VEGAS, links=(replace(FAST_ETHERNET, bandwidth_bps=400_000_000),), by="tcp")
COMPARISONS = (
    Comparison("a path of 10 Gb/s, to TCP without tunnel", TEN_ALONE, replace(TEN_ALONE, by="tcp")),
    Comparison("two paths of 10 Gb/s, to one", TEN_TWICE, TEN_ALONE, at_least=1),
    Comparison("two paths of 4 Gb/s, to one", Transfer((FOUR, FOUR)), Transfer((FOUR,)), at_least=1.7),
    Comparison("two paths of 2 Gb/s, to MPTCP", TWO_TWICE, TWO_BY_MPTCP, at_least=0.95),
    Comparison("100 Mb/s over 5 ms and over 50 ms", Transfer((NEAR, FAR), warm_up_s=3), at_least=0.85),
    Comparison("four paths of 100 Mb/s, IPv4", QUAD, at_least=0.95),
    Comparison("four paths of 100 Mb/s, IPv6", replace(QUAD, family=6), at_least=0.95),
    Comparison("  IPv4, to MPTCP", QUAD, replace(QUAD, by="mptcp")),
    Comparison("  vegas, IPv4, 8 flows", replace(VEGAS, flows=8), at_least=0.95),
    Comparison("  vegas, IPv6, 8 flows", replace(VEGAS, flows=8, family=6), at_least=0.95),
    Comparison("  vegas, IPv4, one flow", VEGAS, note=WHY_VEGAS),
    Comparison("  vegas with wider thresholds, IPv4, one flow", VEGAS_WIDE, at_least=0.95),
    Comparison("  vegas with wider thresholds, IPv6, one flow", replace(VEGAS_WIDE, family=6), at_least=0.95),
    Comparison("  vegas, TCP on one link of 400 Mb/s", VEGAS_ON_ONE),
)


def measure(rounds: int) -> Iterator[str | list[Figure]]:
    comparisons = [each for each in COMPARISONS if each.transfer.congestion_control == "cubic" or is_machine_root()]
    transfers = dict.fromkeys(transfer for each in comparisons for transfer in (each.transfer, each.beside) if transfer)
    results = defaultdict(list)
    for number in range(1, rounds + 1):
        for transfer in transfers:
            yield f"round {number}: {transfer}"
            results[transfer].append(transfer.run())
    ten = [each.goodput_bps / 1e9 for each in results[TEN_ALONE]]
    costs = [[each.core_percent_per_gigabit for each in results[by]] for by in (TWO_TWICE, TWO_BY_MPTCP)]
    cost_name = "processor time per Gb/s over two paths of 2 Gb/s, to MPTCP's"
    yield [
        Figure(SECTION, "a path of 10 Gb/s", ten, "Gb/s", at_least=7),
        *(each.figure(results) for each in comparisons),
        Figure(SECTION, cost_name, ratios(*costs), "ratio", at_most=2.5),
    ]
