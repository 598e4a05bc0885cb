"""Processes of the benchmarks and of the campaign: their ends, their times and their memory."""

import contextlib
import os
import subprocess
from pathlib import Path

QUIET = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}


def memory_bytes(pid: int, field: str = "VmRSS") -> int:
    """Memory of a process: resident now (VmRSS), or its peak (VmHWM)."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace")
    return 1024 * int(status.partition(f"{field}:")[2].split()[0])


def busy_s() -> float:
    """Processor seconds that the machine has not been idle, all cores together."""
    with open("/proc/stat") as file:  # noqa: PTH123 (one line of a long file)
        ticks = [int(word) for word in file.readline().split()[1:9]]
    return (sum(ticks) - ticks[3] - ticks[4]) / os.sysconf("SC_CLK_TCK")


def sandbox_cpu_s() -> float:
    """Processor time of all processes of the sandbox, and of those that have ended, without the rest of the machine."""
    ticks = 0
    for entry in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            ticks += sum(map(int, entry.read_text().rpartition(")")[2].split()[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")
