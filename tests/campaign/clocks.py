"""Steps of the clock by a second or an hour during the main job, in the lab: a false figure is in an unusable cell."""

import json
import random
import subprocess
import sys
from collections.abc import Iterator, Mapping
from typing import Any

from flightpath.project import PROJECT
from results.records import Verdict
from scenarios.framework.placement import has_lab
from tests.campaign import clock_trial
from tests.campaign.outcome import Outcome

_TOLERANCE = 0.02
_COMPARED = ("throughput", "latency_mean", "run_time", "mbit_h1_h2", "requests", "errors", "error_rate")


def run(short: bool) -> Iterator[Outcome]:
    """24 steps, each in a run of its own; 2 in the short form. Only a lab has a clock that may be set."""
    if not has_lab():
        yield Outcome("clock", "0 steps", "no lab kernel here: make lab-kernel")
        return
    trials, seed = 2 if short else 24, random.SystemRandom().randrange(2**31)
    trial = [sys.executable, "-m", clock_trial.__name__, str(trials), str(seed)]
    limit_s = 300 + 150 * trials
    command = [sys.executable, "-m", "machines", "run", "--time-limit", str(limit_s), "--", *trial]
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
