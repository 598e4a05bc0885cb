"""What a request of the main job costs: processor time of the whole machine, and of each part that serves it."""

import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

from results.store.store import Store
from tests.bench.figures import Figure
from topologies.sandbox.sandbox import TEMPORARY

SECTION = "processor time of a request of `mptcp_load` (MPTCP, 500 requests/s)"
_PARTS = ("jmeter", "application", "postgresql", "nginx")
_LINKS = "links, switches and kernel"


def measure(rounds: int) -> Iterator[str | list[Figure]]:
    costs = defaultdict(list)
    for number in range(1, rounds + 1):
        yield f"round {number}: a cell of mptcp_load"
        for name, value in _costs_ms(TEMPORARY / f"request{number}").items():
            costs[name].append(value)
    yield [Figure(SECTION, name, values, "ms") for name, values in costs.items()]


def _costs_ms(results: Path) -> Mapping[str, float]:
    """Runs a cell with a store in this folder."""
    plan = ("--loads", "500", "--only", "protocol=mptcp", "--repeat", "1", "--clock", "real", "--scale", "1")
    argv = [sys.executable, "-m", "scenarios.mptcp_load", *plan, "--results", str(results)]
    subprocess.run(argv, check=False, capture_output=True)  # the verdict does not matter here
    (cell,) = Store.open(results).cells("latest")
    values = {name: metric.value for name, metric in cell.measurement.metrics.items()}
    used_s = (1 - values["idle_cpu"] / 100) * len(os.sched_getaffinity(0)) * values["run_time"]
    per_request = {name: 1e3 * values[f"cpu_{name}"] / values["requests"] for name in _PARTS}
    total = 1e3 * used_s / values["requests"]
    return {"all": total, **per_request, _LINKS: total - sum(per_request.values())}
