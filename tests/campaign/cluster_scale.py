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
from typing import Any
from unittest.mock import patch

from execution.cluster.key import require_dask, security
from execution.cluster.machine import own_identity
from execution.executor import PlannedCell, RunContext
from execution.guest_side import CellRequest, measure_cell
from experiments.plan import Plan
from flightpath.calls import Returns
from flightpath.clock import Clock
from flightpath.processes import Process
from flightpath.project import PROJECT
from results.records import CellResult, Certificate, Measurement, Metric, Verdict
from tests.bench.processes import memory_bytes
from tests.campaign.outcome import Outcome
from tests.support.cluster_parts import cluster
from tests.support.killed import killed_at_end

_POINTS, _SLEEP_S = 1000, 0.05
_MAX_MS, _MAX_BYTES = 1.0, 4 << 30
"""Processor time of the scheduler for a cell, and its memory."""

_QUIET = {
    "admin.system-monitor.interval": "1h",
    "admin.tick.interval": "1h",
    "admin.tick.cycle": "1h",
    "worker.profile.enabled": False,
}


def about() -> dict[str, Any]:
    """A simulated worker's description of its machine."""
    simulated = {"host": "simulated", "machine": "simulated", "labs": 1, "cores": 1, "clocks": ["virtual"]}
    return {**simulated, "identity": own_identity()}


def measure(request: str, expected: Mapping[str, str], topic: str) -> dict[str, Any]:
    """Sleeps, and answers with a cell that was not measured."""
    from execution.cluster import task

    assert expected == own_identity() and topic
    time.sleep(_SLEEP_S)
    cell = CellRequest.model_validate_json(request).cell()
    result = CellResult(cell, Measurement({"x": Metric(float(cell.repetition), "1")}), Certificate(Verdict.FAITHFUL))
    return task.Outcome(worker=about(), answer=Returns.of(measure_cell).answer(lambda: result)).model_dump()


def scale(cells: int, workers: int) -> Outcome:
    require_dask()
    from execution.cluster import task
    from execution.cluster.cluster import ClusterExecutor
    from scenarios.dtn_buffers import DtnBuffers

    points = min(_POINTS, cells)
    plan = Plan("quick", {"x": tuple(range(points))}, executor="uml", clock=Clock.VIRTUAL, repeat=cells // points)
    with tempfile.TemporaryDirectory(prefix="flightpath-campaign-") as name, cluster(Path(name), workers=0) as parts:
        argv = [sys.executable, "-m", __name__, parts.address, str(parts.key), str(workers)]
        simulated = subprocess.Popen(argv, cwd=PROJECT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        with killed_at_end(simulated), patch.multiple(task, measure=measure, about=about):
            assert simulated.stdout.readline() == "ready\n"
            progress = SimpleNamespace(begin=lambda label: None, update=lambda label, fraction, doing: None)
            run = RunContext(DtnBuffers(), plan, Path(name), progress, lambda _: None)
            begun_s, before_s, done = time.monotonic(), Process.read(parts.scheduler.pid).own_cpu_seconds, set()
            planned = [PlannedCell(order, cell) for order, cell in enumerate(plan.cells())]
            with ClusterExecutor(parts.address, parts.key).measure(run, planned) as results:
                for of, result in results:
                    assert isinstance(result, CellResult), result
                    assert result.cell == of.cell and of.order not in done
                    done.add(of.order)
            took_s = time.monotonic() - begun_s
            cell_ms = 1e3 * (Process.read(parts.scheduler.pid).own_cpu_seconds - before_s) / cells
            peak_bytes = memory_bytes(parts.scheduler.pid, "VmHWM")
    processor, memory = f"{cell_ms:.2f} ms of the scheduler's processor time", f"{peak_bytes >> 20} MiB"
    faults = [] if len(done) == cells else [f"{len(done)} of {cells} cells"]
    faults += [f"{processor} for each cell"] if cell_ms > _MAX_MS else []
    faults += [memory] if peak_bytes > _MAX_BYTES else []
    figures = f"{processor} for each, {memory}, {took_s:.0f} s in all"
    return Outcome("cluster plan", f"{cells} cells that sleep, on {workers} workers", figures, faults)


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
