"""A BPF program and the kernel's own module of the same name have the same window, on a kernel that has both.

Both run at the same time, each on a link of its own of the same kind, and lose segments at the same moment. In a VM
(`make test-vm`), where the kernel has the modules, unless this machine's has them.
"""

import contextlib
import json
import statistics

import congestion_links
import pytest
from congestion_links import Trial, link
from congestion_models import MODELS, Course, course

import congestion
from congestion import loader, obtain
from flightpath.errors import FlightpathError
from probes.tcp_flow import FlowTrace
from topologies import sandbox

SECONDS = 10
PREFIX = "bpf_"
LINK = link(6, 100, 60)
CUTS_S, CUT_S = (0.35, 3.5), 0.02
MODULES = sorted(set(congestion.shipped()) - {"elastic"})  # which no kernel has
pytestmark = pytest.mark.skipif(not loader.is_root(), reason="only root may load BPF programs")


def both_ways(name: str, kept) -> tuple[FlowTrace, FlowTrace]:
    """The module's trace and the program's."""
    trials = [Trial(algorithm, LINK, SECONDS, CUTS_S, CUT_S) for algorithm in (name, PREFIX + name)]

    def body() -> int:
        kept.write_text(json.dumps({used: seen.columns for used, seen in congestion_links.run(trials).items()}))
        return 0

    with contextlib.ExitStack() as stack:
        stack.callback(obtain.obtain(name, name_prefix=PREFIX).user.close)
        assert sandbox.run_inside(body, keep=[kept.parent]) == 0
    told = json.loads(kept.read_text())
    module, program = (
        FlowTrace(used, {column: tuple(values) for column, values in told[used].items()}) for used in told
    )
    return module, program


def growth_at(found: Course) -> dict[int, float]:
    """Per window, by how much it grew in the round trips that began with it, in congestion avoidance."""
    by_window: dict[int, list[float]] = {}
    for each in found.rounds:
        if not each.slow_start:
            by_window.setdefault(each.cwnd, []).append(each.growth)
    return {cwnd: statistics.fmean(growths) for cwnd, growths in by_window.items()}


@pytest.mark.parametrize("name", MODULES)
def test_module_and_program_have_the_same_window_within_a_segment_per_round_trip(name, tmp_path):
    with contextlib.suppress(FlightpathError):
        congestion.ensure(name)
    if congestion.origin(name) not in (congestion.Origin.MODULE, congestion.Origin.BUILT_IN):
        pytest.skip(f"this kernel has no {name} of its own")
    courses = [course(trace, MODELS[name](), LINK) for trace in both_ways(name, tmp_path / "traces.json")]
    # Each against what both should be, with what it was acknowledged: two flows never see quite the same.
    for found in courses:
        assert any(each.slow_start for each in found.rounds)
        assert sum(not each.slow_start for each in found.rounds) > 20
        off = [each for each in found.rounds if abs(each.growth - each.predicted) > 1.05]
        assert len(off) <= 0.1 * len(found.rounds), off
    # And against each other.
    module, program = map(growth_at, courses)
    common = module.keys() & program.keys()
    off_by = {cwnd: (module[cwnd], program[cwnd]) for cwnd in common if abs(module[cwnd] - program[cwnd]) > 1.05}
    assert len(common) > 5
    assert len(off_by) <= 0.15 * len(common), off_by
    kept = [[loss.ssthresh / loss.cwnd for loss in found.losses if not loss.slow_start] for found in courses]
    assert all(kept)
    assert statistics.median(kept[0]) == pytest.approx(statistics.median(kept[1]), abs=0.04)
