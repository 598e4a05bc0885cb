"""Checks of processors, memory and timers, so that the machine does not limit an experiment."""

import math
import os
import platform
import statistics
import time
from collections.abc import Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from flightpath import libc
from flightpath.processes import memory_bytes
from topologies.doctor import kernel_modules
from topologies.doctor.check import Area, Finding, limited, ok, register

ENOUGH_CORES = 2
ENOUGH_MEMORY_BYTES = 3 << 30  # JMeter's heap may grow to 2 GiB; PostgreSQL, nginx and the system need the rest
TIMER_LIMIT_US = 1000.0  # the certificate calls a link degraded if its packets leave later than this
_SLEEPS, _SLEEP_S = 100, 0.0005
_PR_SET_TIMERSLACK, _PR_GET_TIMERSLACK = 29, 30
_machine_check = partial(register, Area.MACHINE)


def facts() -> dict[str, Any]:
    """Describes the machine for the head of a report."""
    uid = os.geteuid()
    return {
        "kernel": platform.release(),
        "distribution": kernel_modules.distribution().get("PRETTY_NAME", "unknown"),
        "architecture": platform.machine(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_bytes": memory_bytes()["MemTotal"],
        "python": platform.python_version(),
        "user": "root" if uid == 0 else f"uid {uid}",
    }


def judge_timer(oversleeps_us: Sequence[float]) -> Finding:
    """Judges timers by the 99th percentile of how late sleeps ended, in microseconds."""
    late = sorted(oversleeps_us)
    p99 = late[math.ceil(len(late) * 0.99) - 1]
    evidence = (
        f"sleeps of {_SLEEP_S * 1000:g} ms end {statistics.median(late):.0f} us late (median), {p99:.0f} us (p99 "
        f"of {len(late)})"
    )
    return ok(evidence) if p99 <= TIMER_LIMIT_US else limited(evidence)


def judge_memory(total_bytes: int, available_bytes: int) -> Finding:
    evidence = f"{available_bytes / 2**30:.1f} of {total_bytes / 2**30:.1f} GiB available"
    return ok(evidence) if available_bytes >= ENOUGH_MEMORY_BYTES else limited(evidence)


def judge_cores(cores: int) -> Finding:
    """Judges whether links and load can run side by side."""
    evidence = f"{cores} for this process"
    return ok(evidence) if cores >= ENOUGH_CORES else limited(evidence)


@_machine_check(
    "timers",
    costs="Packets leave links late, and results are called degraded.",
    remedy="end other work on this machine, or give the virtual machine processors of its own",
)
def _probe_timer() -> Finding:
    # Minimal slack, or the kernel would delay wake-ups to group them (by 50 us, by default).
    slack_ns = libc.call("prctl", _PR_GET_TIMERSLACK, 0, 0, 0, 0)
    libc.call("prctl", _PR_SET_TIMERSLACK, 1, 0, 0, 0)
    late = []
    try:
        for _ in range(_SLEEPS):
            due = time.monotonic_ns() + round(_SLEEP_S * 1e9)
            time.sleep(_SLEEP_S)  # clock_nanosleep on CLOCK_MONOTONIC
            late.append((time.monotonic_ns() - due) / 1000)
    finally:
        libc.call("prctl", _PR_SET_TIMERSLACK, slack_ns, 0, 0, 0)
    return judge_timer(late)


@_machine_check(
    "processors",
    costs="Links, servers and load share one processor, and results are called degraded or unusable.",
    remedy=f"give the virtual machine {ENOUGH_CORES} processors or more",
)
def _probe_cores() -> Finding:
    return judge_cores(len(os.sched_getaffinity(0)))


@_machine_check(
    "memory",
    costs="At the paper's size JMeter may run out of memory, and the kernel ends it.",
    remedy="end other programs, or give the virtual machine 4 GiB or more",
)
def _probe_memory() -> Finding:
    memory = memory_bytes()
    return judge_memory(memory["MemTotal"], memory["MemAvailable"])


@_machine_check(
    "virtual time",
    costs="Experiments use the real clock, on which a slow or busy machine measures itself.",
    remedy="make uml-kernel",
)
def _probe_uml_kernel() -> Finding:
    kernel = import_module("execution.uml.kernel")  # named as text, because it lies on a higher floor
    return ok(f"virtual-time kernel {kernel.find().version}")


@_machine_check(
    "CPUID faulting",
    costs="Virtual time is the same unless a program asks for its processor where no search finds it (1 of 1386).",
    remedy="use a machine with the flag cpuid_fault in /proc/cpuinfo, as with Intel's processors since 2012",
)
def _probe_cpuid_faulting() -> Finding:
    if "cpuid_fault" in Path("/proc/cpuinfo").read_text(encoding="utf-8").split():
        return ok("the processor hides itself from programs in virtual time")
    return limited("the virtual-time kernel searches programs for CPUID")
