"""Cost of a packet: each stage of the line by itself, and a packet on a running link."""

from collections.abc import Iterator
from pathlib import Path

from flightpath.commands import run
from tests.bench.figures import Figure
from tests.bench.hosts import goodput_bps, pair, relay_cpu_s
from tests.support.c_builds import built, pure_sources
from topologies.links.spec import LinkSpec

PACKETS = 2_000_000
SECONDS = 3
STAGE_SECTION = "cost of a stage per packet, beyond a line with a rate and a delay"
LINK_SECTION = "processor time of a running link per packet, the receiving kernel's work included"
# 1514 bytes every 1200 ns are 10.1 Gb/s: at this rate a queue stands, and what is inside is what is inside at 1 ms.
_PLAIN = "rate_bps=10000000000,delay_ns=1000000,queue_packets=1000"
STAGES = {
    "Bernoulli loss": "loss=0.001",
    "Gilbert-Elliott loss": "burst_enter=0.001,burst_leave=0.1",
    "corruption": "corrupt=0.001",
    "duplication": "duplicate=0.001",
    "normal jitter, in order": "jitter_ns=100000",
    "uniform jitter, reordering": "jitter_ns=100000,jitter=uniform,reorder=1",
    "CoDel": "discipline=codel",
    "FQ-CoDel, ECN": "discipline=fq_codel,ecn=1",
}


def measure(number: int) -> Iterator[str | Figure]:
    source = Path(__file__).with_name("line_cost.c")
    program = built("line_cost", [source, *pure_sources("RELAY")], ["-O2", "-lm"])
    yield "cost of the stages"
    base = _cost_ns(program, _PLAIN)
    yield Figure(STAGE_SECTION, "queue, rate and delay alone", [base], "ns")
    for name, text in STAGES.items():
        yield Figure(STAGE_SECTION, name, [_cost_ns(program, f"{_PLAIN},{text}") - base], "ns more")
    for rate in (50_000_000, 1_000_000_000):
        yield "cost of a packet on a link"
        with pair(LinkSpec(bandwidth_bps=rate, delay_s=0.001)) as network:
            goodput_bps(network, SECONDS)
            packets = sum(way["out_packets"] for way in network.links[0].stats()["directions"].values())
            packet_us = relay_cpu_s(network.links) / packets * 1e6
        yield Figure(LINK_SECTION, f"{rate // 1_000_000} Mb/s", [packet_us], "us")


def _cost_ns(program: Path, text: str) -> float:
    return float(run([str(program), text, str(PACKETS), "1514"]))
