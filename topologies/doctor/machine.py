"""Processors, memory and timers: without enough of them an emulated network measures the machine it runs on."""

import contextlib
import math
import os
import platform
import statistics
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from flightpath import libc
from topologies.doctor import modules
from topologies.doctor.check import Check, Finding, limited, ok

AREA = "machine"
ENOUGH_CORES = 2
ENOUGH_MEMORY_BYTES = 3 << 30  # JMeter's heap may grow to 2 GiB; PostgreSQL, nginx and the system need the rest
TIMER_LIMIT_US = 1000.0  # a packet later than that sees a longer link: the certificate calls it degraded
_SLEEPS, _SLEEP_S = 100, 0.0005
_PR_SET_TIMERSLACK, _PR_GET_TIMERSLACK = 29, 30


def facts() -> dict[str, Any]:
    """The machine in a few words and figures, for the head of a report."""
    uid = os.geteuid()
    return {
        "kernel": platform.release(),
        "distribution": modules.distribution().get("PRETTY_NAME", "unknown"),
        "architecture": platform.machine(),
        "cores": _cores(),
        "memory_bytes": _memory()["MemTotal"],
        "python": platform.python_version(),
        "user": "root" if uid == 0 else f"uid {uid}",
    }


def judge_timer(oversleeps_us: Sequence[float]) -> Finding:
    """Median and 99th percentile of how much later than asked a sleep ended."""
    late = sorted(oversleeps_us)
    p99 = late[math.ceil(len(late) * 0.99) - 1]
    found = (
        f"sleeps of {_SLEEP_S * 1000:g} ms end {statistics.median(late):.0f} us late (median), {p99:.0f} us (p99 "
        f"of {len(late)})"
    )
    return ok(found) if p99 <= TIMER_LIMIT_US else limited(found)


def judge_memory(total_bytes: int, available_bytes: int) -> Finding:
    """Whether the memory that is free, or can be freed, is enough for the main experiment."""
    found = f"{available_bytes / 2**30:.1f} of {total_bytes / 2**30:.1f} GiB available"
    return ok(found) if available_bytes >= ENOUGH_MEMORY_BYTES else limited(found)


def judge_cores(cores: int) -> Finding:
    """Whether links and load can run beside each other."""
    found = f"{cores} for this process"
    return ok(found) if cores >= ENOUGH_CORES else limited(found)


def _probe_cores() -> Finding:
    return judge_cores(_cores())


def _probe_memory() -> Finding:
    memory = _memory()
    return judge_memory(memory["MemTotal"], memory["MemAvailable"])


def _probe_timer() -> Finding:
    late = []
    with _least_timer_slack():
        for _ in range(_SLEEPS):
            due = time.monotonic_ns() + round(_SLEEP_S * 1e9)
            time.sleep(_SLEEP_S)  # clock_nanosleep on CLOCK_MONOTONIC
            late.append((time.monotonic_ns() - due) / 1000)
    return judge_timer(late)


@contextlib.contextmanager
def _least_timer_slack() -> Iterator[None]:
    """Asks the kernel not to gather wake-ups (50 us by default): the machine is to be measured, not that setting."""
    before = libc.call("prctl", _PR_GET_TIMERSLACK, 0, 0, 0, 0)
    libc.call("prctl", _PR_SET_TIMERSLACK, 1, 0, 0, 0)
    try:
        yield
    finally:
        libc.call("prctl", _PR_SET_TIMERSLACK, before, 0, 0, 0)


def _cores() -> int:
    return len(os.sched_getaffinity(0))


def _memory() -> dict[str, int]:
    lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    return {name: int(rest.split()[0]) * 1024 for name, rest in (line.split(":") for line in lines)}


CHECKS = (
    Check(
        AREA,
        "timers",
        _probe_timer,
        "Packets leave links late, and results are called degraded.",
        "end other work on this machine, or give the virtual machine processors of its own",
    ),
    Check(
        AREA,
        "processors",
        _probe_cores,
        "Links, servers and load take turns on one processor, and results are called degraded or unusable.",
        f"give the virtual machine {ENOUGH_CORES} processors or more",
    ),
    Check(
        AREA,
        "memory",
        _probe_memory,
        "JMeter at the paper's size may be ended by the kernel for want of memory.",
        "end other programs, or give the virtual machine 4 GiB or more",
    ),
)
