"""Cost of a request of the main job: processor time of the whole machine, and of each part that serves it."""

import os
from collections.abc import Iterator

from python_api.running import run
from tests.bench.figures import Figure
from topologies.sandbox.sandbox import TEMPORARY

SECTION = "processor time of a request of `mptcp_load` (MPTCP, 500 requests/s)"
_PARTS = ("jmeter", "application", "postgresql", "nginx")


def measure(number: int) -> Iterator[str | Figure]:
    yield "a cell of mptcp_load"
    plan = {"clock": "real", "repeat": 1, "loads": [500], "scale": 1, "only": {"protocol": "mptcp"}}
    [(_, cell)] = run("mptcp_load", results=TEMPORARY / f"request{number}", progress=False, **plan).cells.iterrows()
    used_s = (1 - cell["idle_cpu"] / 100) * len(os.sched_getaffinity(0)) * cell["run_time"]
    total = 1e3 * used_s / cell["requests"]
    parts = {name: 1e3 * cell[f"cpu_{name}"] / cell["requests"] for name in _PARTS}
    for name, value in {"all": total, **parts, "links, switches and kernel": total - sum(parts.values())}.items():
        yield Figure(SECTION, name, [value], "ms")
