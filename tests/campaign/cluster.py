"""A cluster whose workers are killed at random, its speed beside --jobs, and a plan of a hundred thousand cells."""

import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from flightpath.project import PROJECT
from tests.campaign.cluster_scale import scale
from tests.campaign.outcome import Outcome
from tests.support.cluster_parts import cluster, metrics
from tests.support.machine_state import MARK, MachineState, marked_environment

_POINTS, _WORKERS, _EVERY_S, _LIMIT_S = 5, 4, 10.0, 7200
_RUN = ["dtn_buffers", "--only", "size_mb=5", "--clock", "virtual"]
_MIN_SHARE = 0.95

Values = Mapping[str, Mapping[str, float]]


def run(short: bool) -> Iterator[Outcome]:
    """200 cells each with --jobs, on four workers, and on four that are killed; in the short form 10."""
    cells, of_scale = (10, (2000, 50)) if short else (200, (100_000, 500))
    repeat = cells // _POINTS
    with tempfile.TemporaryDirectory(prefix="flightpath-campaign-") as name:
        folder, (mark, environment) = Path(name), marked_environment()
        state = MachineState.read()
        os.environ[MARK] = environment[MARK]
        alone_s, alone = _measured(folder / "jobs", repeat, [])
        (folder / "quiet").mkdir()
        with cluster(folder / "quiet", _WORKERS) as parts:
            quiet_s, quiet = _measured(folder / "quiet/runs", repeat, parts.options())
        share = alone_s / quiet_s
        faults = _differences(quiet, alone, cells)
        faults += [f"only {share:.0%} of the throughput of --jobs"] if share < _MIN_SHARE else []
        yield Outcome("cluster", f"{cells} cells on {_WORKERS} workers", f"{share:.0%} of --jobs", faults)
        (folder / "killed").mkdir()
        kills, killed = _with_kills(folder / "killed", repeat)
        faults = _differences(killed, alone, cells) + state.faults(mark, [])
        yield Outcome("cluster with killed workers", f"{cells} cells", f"{kills} workers killed", faults)
    yield scale(*of_scale)


def _measured(folder: Path, repeat: int, options: list[str]) -> tuple[float, Values]:
    begun_s = time.monotonic()
    _finish(_started(folder, repeat, options))
    return time.monotonic() - begun_s, metrics(folder)


def _with_kills(folder: Path, repeat: int) -> tuple[int, Values]:
    """Kills a random worker every ten seconds, and starts another in its place."""
    chance, kills = random.SystemRandom(), 0
    with cluster(folder, _WORKERS) as parts:
        process = _started(folder / "runs", repeat, parts.options())
        while True:
            try:
                process.wait(_EVERY_S)
                break
            except subprocess.TimeoutExpired:
                chance.choice([worker for worker in parts.workers if worker.poll() is None]).kill()
                kills += 1
                parts.start_worker()
        _finish(process)
    return kills, metrics(folder / "runs")


def _started(folder: Path, repeat: int, options: list[str]) -> subprocess.Popen:
    argv = [sys.executable, "-m", "scenarios", *_RUN, "--repeat", str(repeat), "--results", str(folder), *options]
    streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
    return subprocess.Popen(argv, cwd=PROJECT, text=True, **streams)


def _finish(process: subprocess.Popen) -> None:
    _, errors = process.communicate(timeout=_LIMIT_S)
    if process.returncode:
        raise RuntimeError(f"exit code {process.returncode}: …{errors[-400:]}")


def _differences(values: Values, alone: Values, cells: int) -> list[str]:
    count = [] if len(values) == cells else [f"{len(values)} of {cells} cells"]
    changed = [label for label in values if values[label] != alone[label]]
    return count + [f"{label}: {values[label]} instead of {alone[label]}" for label in changed]
