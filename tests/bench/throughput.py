"""Speed of a link: beside a bare veth pair, at 10 Gb/s over a long path, and two of them together."""

from collections.abc import Iterator

from tests.bench.figures import Figure
from tests.bench.hosts import goodput_bps, pair
from tests.bench.processes import busy_s
from topologies.links.spec import PAYLOAD_SHARE, LinkSpec

SECONDS, WARM_UP_S = 4, 2
TEN_GIGABIT = LinkSpec(bandwidth_bps=10_000_000_000, delay_s=0.015, queue="1bdp")
DATACENTRE = LinkSpec(bandwidth_bps=10_000_000_000, delay_s=0.000_5, queue="10ms")
SECTION = "throughput, one TCP flow (cubic) or MPTCP"


def measure(number: int) -> Iterator[str | Figure]:
    for name, spec in (("bare veth pair", None), ("nothing emulated, by a relay", LinkSpec())):
        yield name
        with pair(spec) as network:
            yield Figure(SECTION, name, [goodput_bps(network, SECONDS) / 1e9], "Gb/s")
    yield "10 Gb/s, 30 ms"
    with pair(TEN_GIGABIT) as network:
        before = busy_s()
        goodput = goodput_bps(network, SECONDS, warm_up=WARM_UP_S)
        cores = (busy_s() - before) / (SECONDS + WARM_UP_S)
    share = goodput / (TEN_GIGABIT.bandwidth_bps * PAYLOAD_SHARE) * 100
    yield Figure(SECTION, "10 Gb/s, 30 ms RTT, of the payload limit", [share], "%", at_least=97)
    yield Figure(SECTION, "  processors busy meanwhile, hosts included", [cores], "cores")
    yield "two links of 10 Gb/s, MPTCP"
    with pair(DATACENTRE, DATACENTRE, mptcp=True) as network:
        one, two = (goodput_bps(network, SECONDS, mptcp=mptcp) / 1e9 for mptcp in (False, True))
    yield Figure(SECTION, "two links of 10 Gb/s: TCP on one", [one], "Gb/s")
    yield Figure(SECTION, "two links of 10 Gb/s: MPTCP on both", [two], "Gb/s", at_least=16)
