"""A BPF program and the kernel's own module of the same name have the same window, on a kernel that has both.

Both run at the same time, each on its own link. The links lose the same segments by number, one in slow start and one
later. Runs in a VM (`make test-vm`), whose kernel has the modules, unless this machine has them.
"""

import contextlib
import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass, replace

import pytest

import congestion
from congestion import provision
from flightpath.errors import FlightpathError
from flightpath.processes import is_machine_root
from probes.transfers.tcp_flow import CWR, LOSS, RECOVERY, FlowTrace
from tests.support import congestion_links
from tests.support.congestion_links import Trial, link
from topologies.sandbox import sandbox

SECONDS = 6
PREFIX = "bpf_"
SEED = 20721  # with this loss: packets 85 and 581 of 4500, and no ACK
LINK = replace(link(6, 100, 60), loss=0.0005)
SEGMENT_PER_ROUND_TRIP = 1.05
ROUND_TRIPS = (2, 4, 15)  # at least, before the first loss, between the two, and after the second
MEASURED = ("illinois", "westwood")  # their threshold after a loss depends on measured delays or rates
TIMED = "htcp"  # grows by the time since the last loss, so longer round trips on a busy machine count for more
MODULES = sorted(set(congestion.shipped()) - {"elastic"})  # which no kernel has
pytestmark = [
    pytest.mark.alone,
    pytest.mark.skipif(not is_machine_root(), reason="only root may load BPF programs"),
]


def both_ways(name: str, kept) -> tuple[FlowTrace, FlowTrace]:
    """The module's trace and the program's."""
    trials = [Trial(algorithm, LINK, SECONDS) for algorithm in (name, PREFIX + name)]

    def body() -> int:
        traces = congestion_links.run(trials, seed=SEED)
        kept.write_text(json.dumps({used: trace.columns for used, trace in traces.items()}))
        return 0

    with contextlib.ExitStack() as stack:
        stack.callback(provision.provision(name, name_prefix=PREFIX).release)
        assert sandbox.run_inside(body, keep=[kept.parent]) == 0
    columns = json.loads(kept.read_text())
    module, program = (
        FlowTrace(used, {column: tuple(values) for column, values in columns[used].items()}) for used in columns
    )
    return module, program


@dataclass(frozen=True)
class Leg:
    """A flow from its start to its first loss, or from one loss to the next.

    Attributes:
        begin_ssthresh, end_cwnd: the threshold at its start, and the window when the next loss was noticed.
        growth: of the window for each acknowledged window: in slow start the window itself, in Reno 1.
        at_s: when each of these windows began, from the start of the leg.
    """

    begin_ssthresh: int
    end_cwnd: int
    growth: list[float]
    at_s: list[float]


def legs(trace: FlowTrace) -> list[Leg]:
    states = trace.columns["ca_state"]
    runs = itertools.groupby(range(len(states)), key=lambda sample: states[sample] in (CWR, RECOVERY, LOSS))
    return [leg(trace, list(samples)) for is_repairing, samples in runs if not is_repairing]


def leg(trace: FlowTrace, samples: list[int]) -> Leg:
    cwnd, delivered = trace.columns["cwnd"], trace.columns["delivered"]
    growth, at_s, begin = [], [], samples[0]
    for sample in samples:
        acked = delivered[sample] - delivered[begin]
        if acked >= cwnd[begin]:
            growth.append((cwnd[sample] - cwnd[begin]) * cwnd[begin] / acked)
            at_s.append(trace.times_s[begin] - trace.times_s[samples[0]])
            begin = sample
    return Leg(trace.columns["ssthresh"][samples[0]], cwnd[samples[-1]], growth, at_s)


def judge(module: FlowTrace, program: FlowTrace) -> None:
    """Fails if they differ by more than a segment in more than one round trip of seven, or in what a loss leaves."""
    theirs, ours = legs(module)[:3], legs(program)[:3]
    for flow in (theirs, ours):
        assert len(flow) == 3
        assert all(len(each.growth) >= least for each, least in zip(flow, ROUND_TRIPS, strict=True)), flow
    pairs: list[tuple[float, float]] = []
    for number, (their, our) in enumerate(zip(theirs, ours, strict=True)):
        timed = number > 0 and module.algorithm == TIMED
        pairs += at_the_same_time(their, our) if timed else zip(their.growth, our.growth, strict=False)
    off = [pair for pair in pairs if abs(pair[0] - pair[1]) > SEGMENT_PER_ROUND_TRIP]
    assert len(off) <= 0.15 * len(pairs), (off, theirs, ours)
    slack = 0.12 if module.algorithm in MEASURED else 0.04
    assert kept_at_losses(ours) == pytest.approx(kept_at_losses(theirs), abs=slack)


def at_the_same_time(one: Leg, other: Leg) -> Iterator[tuple[float, float]]:
    for at_s, growth in zip(one.at_s, one.growth, strict=True):
        if at_s <= other.at_s[-1]:
            nearest = min(range(len(other.at_s)), key=lambda i: abs(other.at_s[i] - at_s))
            yield growth, other.growth[nearest]


def kept_at_losses(flow: list[Leg]) -> list[float]:
    return [after.begin_ssthresh / before.end_cwnd for before, after in itertools.pairwise(flow)]


@pytest.mark.parametrize("name", MODULES)
def test_module_and_program_have_the_same_window_within_a_segment_per_round_trip(name, tmp_path):
    with contextlib.suppress(FlightpathError):
        congestion.ensure(name)
    if congestion.origin(name) not in (congestion.Origin.MODULE, congestion.Origin.BUILT_IN):
        pytest.skip(f"this kernel has no {name} of its own")
    judge(*both_ways(name, tmp_path / "traces.json"))
