"""Steps of the clock by a second or an hour during the main job: a false figure is in an unusable cell.

In a virtual-time kernel, `python -m tests.campaign.clocks TRIALS SEED` prints a JSON line for each job. The others are
compared with the first job, which is undisturbed.
"""

import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from typing import Any

from execution.placement import has_uml_kernel
from flightpath.project import PROJECT
from results.records import Verdict
from tests.campaign.outcome import Outcome

_STEPS_S = (1, -1, 3600, -3600)
_TOLERANCE = 0.02
_COMPARED = ("throughput", "latency_mean", "run_time", "mbit_h1_h2", "requests", "errors", "error_rate")


def run(short: bool) -> Iterator[Outcome]:
    """24 steps, each in a run of its own; 2 in the short form. Only the virtual-time kernel's clock may be set."""
    if not has_uml_kernel():
        yield Outcome("clock", "0 steps", "no virtual-time kernel here: make uml-kernel")
        return
    trials, seed = 2 if short else 24, random.SystemRandom().randrange(2**31)
    trial = [sys.executable, "-m", "tests.campaign.clocks", str(trials), str(seed)]
    limit_s = 300 + 150 * trials
    command = [sys.executable, "-m", "execution.virtual", "--time-limit", str(limit_s), "--", *trial]
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    output = subprocess.run(command, cwd=PROJECT, check=False, **streams).stdout
    jobs = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    faults = [] if len(jobs) == trials + 1 else [f"{len(jobs)} of {trials + 1} jobs ended: …{output[-400:]}"]
    if jobs and jobs[0].get("verdict") != Verdict.FAITHFUL:
        faults.append(f"the undisturbed job: {jobs[0]}")
    steps = jobs[1:]
    for job in steps:
        faults += [f"{job['by_s']:+} s at {job['at_s']} s (seed {seed}): {fault}" for fault in _faults(job, jobs[0])]
    unusable = sum(job.get("verdict") == Verdict.UNUSABLE for job in steps)
    same = sum("metrics" in job for job in steps) - unusable
    figures = f"{unusable} cells unusable, {same} with the same figures"
    yield Outcome("clock", f"{len(steps)} steps", figures, tuple(faults))


def _faults(job: Mapping[str, Any], undisturbed: Mapping[str, Any]) -> Iterator[str]:
    if "metrics" not in job:
        yield f"exit code {job['code']}: {job['errors']}"
        return
    if job["verdict"] == Verdict.UNUSABLE:
        return
    for name in _COMPARED:
        value, expected = job["metrics"].get(name), undisturbed["metrics"].get(name)
        if value is not None and abs(value - expected) > _TOLERANCE * abs(expected):
            yield f"{job['verdict']}, and {name} is {value:g} instead of {expected:g}"


def _print_jobs(trials: int, seed: int) -> None:
    """Runs the job once undisturbed, and then with a step at a random moment in each trial."""
    chance, begun_s = random.Random(seed), time.monotonic()
    _print_job(0, 0.0)
    lasts_s = time.monotonic() - begun_s
    for _ in range(trials):
        _print_job(chance.choice(_STEPS_S), chance.uniform(0, lasts_s))


def _print_job(by_s: int, at_s: float) -> None:
    with tempfile.TemporaryDirectory() as folder:
        words = ["--threads", "40", "--loads", "400", "--repeat", "1", "--only", "protocol=mptcp", "--json"]
        argv = [sys.executable, "-m", "scenarios.mptcp_load", "--results", folder, *words]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        with subprocess.Popen(argv, cwd=PROJECT, **pipes) as process:
            time.sleep(at_s)
            time.clock_settime(time.CLOCK_REALTIME, time.time() + by_s)
            printed, errors = process.communicate()
    time.clock_settime(time.CLOCK_REALTIME, time.time() - by_s)
    job = {"by_s": by_s, "at_s": round(at_s, 3), "code": process.returncode}
    if printed:
        (cell,) = json.loads(printed)["cells"]
        job["verdict"] = cell["verdict"]
        job["metrics"] = {name: metric["value"] for name, metric in cell["metrics"].items()}
    else:
        job["errors"] = errors[-400:]
    print(json.dumps(job), flush=True)


if __name__ == "__main__":
    _print_jobs(int(sys.argv[1]), int(sys.argv[2]))
