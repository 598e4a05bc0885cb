"""How fast a link is: beside a bare veth pair, at 10 Gb/s over a long path, and two of them together."""

from collections.abc import Iterator, Sequence

from tests.bench.figures import Figure
from tests.bench.hosts import Pair, busy_s, goodput_bps, pair
from topologies.links.emulators import OrCable
from topologies.links.relay import RelayLink
from topologies.links.spec import PAYLOAD_SHARE, LinkSpec

SECONDS = 4
TEN_GIGABIT = LinkSpec(bandwidth_bps=10_000_000_000, delay_s=0.015, queue="1bdp")
DATACENTRE = LinkSpec(bandwidth_bps=10_000_000_000, delay_s=0.000_5, queue="10ms")
NOISE = 0.95
"""Two measurements of one thing differ by so much here."""

SECTION = "throughput, one TCP flow (cubic) or MPTCP"


def measure(rounds: int) -> Iterator[str | list[Figure]]:
    """Yields what it does, and at the end the figures."""
    veth, cable, bare, long, one, two, cores = ([] for _ in range(7))
    for number in range(1, rounds + 1):
        yield f"round {number}: bare veth pair"
        with pair(None) as network:
            veth.append(goodput_bps(network, SECONDS) / 1e9)
        yield f"round {number}: nothing emulated"
        with pair(LinkSpec(), link=OrCable(RelayLink)) as network:
            cable.append(goodput_bps(network, SECONDS) / 1e9)
        yield f"round {number}: nothing emulated, by a relay"
        with pair(LinkSpec()) as network:
            bare.append(goodput_bps(network, SECONDS) / 1e9)
        yield f"round {number}: 10 Gb/s, 30 ms"
        with pair(TEN_GIGABIT) as network:
            goodput, busy = _with_cores(network)
            long.append(goodput / (TEN_GIGABIT.bandwidth_bps * PAYLOAD_SHARE) * 100)
            cores.append(busy)
        yield f"round {number}: two links of 10 Gb/s, MPTCP"
        with pair(DATACENTRE, DATACENTRE, mptcp=True) as network:
            one.append(goodput_bps(network, SECONDS) / 1e9)
            two.append(goodput_bps(network, SECONDS, mptcp=True) / 1e9)
    yield [
        Figure(SECTION, "bare veth pair", veth, "Gb/s"),
        Figure(SECTION, "nothing emulated (a cable), to the veth pair", _ratios(cable, veth), "ratio", at_least=NOISE),
        Figure(SECTION, "nothing emulated, by a relay", bare, "Gb/s"),
        Figure(SECTION, "10 Gb/s, 30 ms RTT, of the payload limit", long, "%", at_least=97),
        Figure(SECTION, "  processors busy meanwhile, hosts included", cores, "cores"),
        Figure(SECTION, "two links of 10 Gb/s: TCP on one", one, "Gb/s"),
        Figure(SECTION, "two links of 10 Gb/s: MPTCP on both", two, "Gb/s", at_least=16),
    ]


def _ratios(figures: Sequence[float], references: Sequence[float]) -> list[float]:
    return [figure / reference for figure, reference in zip(figures, references, strict=True)]


def _with_cores(network: Pair) -> tuple[float, float]:
    before = busy_s()
    goodput = goodput_bps(network, SECONDS, warm_up=2)
    return goodput, (busy_s() - before) / (SECONDS + 2)
