"""How fast a link is: beside a bare veth pair, at 10 Gb/s over a long path, and two of them together."""

from collections.abc import Iterator

from tests.bench.figures import Figure, ratios
from tests.bench.hosts import goodput_bps, pair
from tests.bench.processes import busy_s
from topologies.links.emulators import LinkFactory
from topologies.links.relay import RelayLink
from topologies.links.spec import PAYLOAD_SHARE, LinkSpec

SECONDS, WARM_UP_S = 4, 2
TEN_GIGABIT = LinkSpec(bandwidth_bps=10_000_000_000, delay_s=0.015, queue="1bdp")
DATACENTRE = LinkSpec(bandwidth_bps=10_000_000_000, delay_s=0.000_5, queue="10ms")
NOISE = 0.95
"""Two measurements of one thing differ by so much here."""

SECTION = "throughput, one TCP flow (cubic) or MPTCP"


def measure(rounds: int) -> Iterator[str | list[Figure]]:
    veth, cable, bare, long, one, two, cores = ([] for _ in range(7))
    for number in range(1, rounds + 1):
        yield f"round {number}: bare veth pair"
        with pair(None) as network:
            veth.append(goodput_bps(network, SECONDS) / 1e9)
        yield f"round {number}: nothing emulated"
        with pair(LinkSpec(), link=LinkFactory(RelayLink)) as network:
            cable.append(goodput_bps(network, SECONDS) / 1e9)
        yield f"round {number}: nothing emulated, by a relay"
        with pair(LinkSpec()) as network:
            bare.append(goodput_bps(network, SECONDS) / 1e9)
        yield f"round {number}: 10 Gb/s, 30 ms"
        with pair(TEN_GIGABIT) as network:
            before = busy_s()
            goodput = goodput_bps(network, SECONDS, warm_up=WARM_UP_S)
            cores.append((busy_s() - before) / (SECONDS + WARM_UP_S))
            long.append(goodput / (TEN_GIGABIT.bandwidth_bps * PAYLOAD_SHARE) * 100)
        yield f"round {number}: two links of 10 Gb/s, MPTCP"
        with pair(DATACENTRE, DATACENTRE, mptcp=True) as network:
            one.append(goodput_bps(network, SECONDS) / 1e9)
            two.append(goodput_bps(network, SECONDS, mptcp=True) / 1e9)
    yield [
        Figure(SECTION, "bare veth pair", veth, "Gb/s"),
        Figure(SECTION, "nothing emulated (a cable), to the veth pair", ratios(cable, veth), "ratio", at_least=NOISE),
        Figure(SECTION, "nothing emulated, by a relay", bare, "Gb/s"),
        Figure(SECTION, "10 Gb/s, 30 ms RTT, of the payload limit", long, "%", at_least=97),
        Figure(SECTION, "  processors busy meanwhile, hosts included", cores, "cores"),
        Figure(SECTION, "two links of 10 Gb/s: TCP on one", one, "Gb/s"),
        Figure(SECTION, "two links of 10 Gb/s: MPTCP on both", two, "Gb/s", at_least=16),
    ]
