"""A large plan on many workers that only sleep: what the scheduler makes of it.

python -m tests.campaign.cluster_scale ADDRESS KEY WORKERS    runs the workers, all in this process
"""

import asyncio
import contextlib
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

from execution.cluster.key import require_dask, security
from execution.cluster.machine import own_identity
from execution.executor import PlannedCell, RunContext
from execution.guest_side import CellRequest, measure_cell
from experiments.plan import Plan
from flightpath.calls import Returns
from flightpath.clock import Clock
from flightpath.processes import Process
from flightpath.project import PROJECT
from results.records import Cell, CellResult, Certificate, Measurement, Metric, Verdict
from tests.bench.processes import memory_bytes
from tests.support.cluster_parts import cluster

_POINTS, _SLEEP_S = 1000, 0.05
_QUIET = {
    "admin.system-monitor.interval": "1h",
    "admin.tick.interval": "1h",
    "admin.tick.cycle": "1h",
    "worker.profile.enabled": False,
}
_ABOUT = {"host": "simulated", "machine": "simulated", "labs": 1, "cores": 1, "clocks": ["virtual"]}


class Cost(NamedTuple):
    """Number of cells that were measured, in how long, and the scheduler's processor time and peak memory for them."""

    cells: int
    seconds: float
    ms_per_cell: float
    peak_bytes: int


def about() -> dict[str, Any]:
    """A simulated worker's description of its machine."""
    return {**_ABOUT, "identity": own_identity()}


def measure(request: str, expected: Mapping[str, str], topic: str) -> dict[str, Any]:
    """Sleeps, and answers with a cell that was not measured."""
    from execution.cluster.task import Outcome

    assert expected == own_identity() and topic
    time.sleep(_SLEEP_S)
    order = CellRequest.model_validate_json(request).order
    measured = Measurement({"order": Metric(float(order), "1")})
    result = CellResult(Cell({"x": order}), measured, Certificate(Verdict.FAITHFUL))
    return Outcome(worker=about(), answer=Returns.of(measure_cell).answer(lambda: result)).model_dump()


def scale(cells: int, workers: int) -> Cost:
    """Sends so many cells to so many workers."""
    require_dask()
    from execution.cluster import task
    from execution.cluster.cluster import ClusterExecutor
    from scenarios.dtn_buffers import DtnBuffers

    points = min(_POINTS, cells)
    plan = Plan("quick", {"x": tuple(range(points))}, executor="uml", clock=Clock.VIRTUAL, repeat=cells // points)
    with tempfile.TemporaryDirectory(prefix="flightpath-campaign-") as name, cluster(Path(name), workers=0) as parts:
        argv = [sys.executable, "-m", __name__, parts.address, str(parts.key), str(workers)]
        simulated = subprocess.Popen(argv, cwd=PROJECT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        measured = task.measure, task.about
        task.measure, task.about = measure, about
        try:
            assert simulated.stdout.readline() == "ready\n"
            progress = SimpleNamespace(begin=lambda label: None, update=lambda label, fraction, doing: None)
            run = RunContext(DtnBuffers(), plan, Path(name), progress, lambda _: None)
            begun_s, before_s, done = time.monotonic(), Process.read(parts.scheduler.pid).own_cpu_seconds, set()
            planned = [PlannedCell(order, cell) for order, cell in enumerate(plan.cells())]
            with ClusterExecutor(parts.address, parts.key).measure(run, planned) as results:
                for of, result in results:
                    assert isinstance(result, CellResult), result
                    assert result.measurement.metrics["order"].value == of.order and of.order not in done
                    done.add(of.order)
            needed_s = Process.read(parts.scheduler.pid).own_cpu_seconds - before_s
            peak_bytes = memory_bytes(parts.scheduler.pid, "VmHWM")
            return Cost(len(done), time.monotonic() - begun_s, 1e3 * needed_s / cells, peak_bytes)
        finally:
            task.measure, task.about = measured
            simulated.stdin.close()
            simulated.wait(120)
            simulated.stdout.close()


async def _serve(address: str, key: Path, count: int) -> None:
    import dask.config
    from distributed import Worker

    # Without these, so many workers in one process would do nothing but their own housekeeping.
    dask.config.set({f"distributed.{name}": value for name, value in _QUIET.items()})
    how = {"nthreads": 1, "memory_limit": 0, "dashboard_address": "127.0.0.1:0"}
    async with contextlib.AsyncExitStack() as stack:
        for _ in range(count):
            await stack.enter_async_context(Worker(address, security=security(key), protocol="tls", **how))
        print("ready", flush=True)
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    require_dask()
    asyncio.run(_serve(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])))
