"""What it costs that a congestion control is a BPF program: processor time per Gb/s, beside the kernel's own cubic.

The demand is loose: cubic itself varies by some per cent from round to round.
"""

import itertools
from collections import defaultdict
from collections.abc import Iterator
from contextlib import ExitStack

from congestion import provision
from flightpath.processes import is_machine_root
from probes.transfers.tcp_flow import TcpFlow
from services.stream import StreamSink
from tests.bench.figures import Figure, ratios
from tests.bench.hosts import pair
from tests.bench.processes import busy_s
from topologies.links.spec import LinkSpec
from topologies.sandbox.sandbox import TEMPORARY

SECTION = "processor time of a transfer by congestion control: hosts, link and program together"
LINK = LinkSpec(bandwidth_bps=2_000_000_000, delay_s=0.005, queue="1bdp")
PROGRAMS = ("bic", "htcp")
SECONDS, WARM_UP_S = 5.0, 1.0
PREFIX = "bpf_"  # so that it is the program also where the kernel has the algorithm itself
MAX_RATIO = 1.15


def measure(rounds: int) -> Iterator[str | list[Figure]]:
    if not is_machine_root():
        yield "left out: only root may load BPF programs"
        return
    with ExitStack() as stack:
        for name in PROGRAMS:
            stack.callback(provision.provision(name, name_prefix=PREFIX).release)
        names = ("cubic", *(PREFIX + name for name in PROGRAMS))
        costs = defaultdict(list)
        orders = itertools.cycle(itertools.permutations(names))
        for number in range(1, rounds + 1):
            for name in next(orders):
                yield f"round {number}: {name}"
                costs[name].append(_core_percent_per_gigabit(name))
    figures = [Figure(SECTION, "cubic, the kernel's own", costs["cubic"], "% of a core per Gb/s")]
    for name in names[1:]:
        to_cubic = ratios(costs[name], costs["cubic"])
        figures.append(Figure(SECTION, f"{name}, a BPF program", costs[name], "% of a core per Gb/s"))
        figures.append(Figure(SECTION, f"{name}, to cubic", to_cubic, "ratio", at_most=MAX_RATIO))
    yield figures


def _core_percent_per_gigabit(name: str) -> float:
    with pair(LINK) as network, StreamSink(network.target, TEMPORARY):
        flow = TcpFlow(congestion_control=name, seconds=SECONDS, interval_s=0.05)
        running = flow.start(network.source, network.target.address())
        before = busy_s()
        seen = running.finish()
        busy = busy_s() - before
    return 100 * busy / SECONDS / (seen.goodput_bps(WARM_UP_S) / 1e9)
