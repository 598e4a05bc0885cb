"""What it costs that a congestion control is a BPF program: processor time per Gb/s, beside the kernel's own cubic.

The demand is loose: cubic itself varies by some per cent from round to round.
"""

import itertools
from collections.abc import Iterator
from contextlib import ExitStack

from congestion import loader, provision
from probes.transfers.tcp_flow import TcpFlow
from services.stream import StreamSink
from tests.bench.figures import Figure
from tests.bench.hosts import busy_s, pair
from topologies.links.spec import LinkSpec
from topologies.sandbox.sandbox import TEMPORARY

SECTION = "processor time of a transfer by congestion control: hosts, link and program together"
LINK = LinkSpec(bandwidth_bps=2_000_000_000, delay_s=0.005, queue="1bdp")
PROGRAMS = ("bic", "htcp")
SECONDS, WARM_UP_S = 5.0, 1.0
PREFIX = "bpf_"  # so that it is the program also where the kernel has the algorithm itself
AT_MOST = 1.15


def measure(rounds: int) -> Iterator[str | list[Figure]]:
    """Yields what it does, and at the end the figures."""
    if not loader.is_root():
        yield "left out: only root may load BPF programs"
        return
    with ExitStack() as stack:
        for name in PROGRAMS:
            stack.callback(provision.provision(name, name_prefix=PREFIX).release)
        names = ("cubic", *(PREFIX + name for name in PROGRAMS))
        found: dict[str, list[float]] = {name: [] for name in names}
        orders = itertools.cycle(itertools.permutations(names))
        for number in range(1, rounds + 1):
            for name in next(orders):
                yield f"round {number}: {name}"
                found[name].append(_core_percent_per_gigabit(name))
    yield [
        Figure(SECTION, "cubic, the kernel's own", found["cubic"], "% of a core per Gb/s"),
        *(
            figure
            for name in names[1:]
            for figure in (
                Figure(SECTION, f"{name}, a BPF program", found[name], "% of a core per Gb/s"),
                Figure(SECTION, f"{name}, to cubic", _ratios(found[name], found["cubic"]), "ratio", at_most=AT_MOST),
            )
        ),
    ]


def _core_percent_per_gigabit(name: str) -> float:
    with pair(LINK) as network, StreamSink(network.target, TEMPORARY):
        flow = TcpFlow(congestion_control=name, seconds=SECONDS, interval_s=0.05)
        running = flow.start(network.source, network.target.address())
        before = busy_s()
        seen = running.finish()
        busy = busy_s() - before
    return 100 * busy / SECONDS / (seen.goodput_bps(WARM_UP_S) / 1e9)


def _ratios(found: list[float], reference: list[float]) -> list[float]:
    return [value / beside for value, beside in zip(found, reference, strict=True)]
