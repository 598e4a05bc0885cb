"""What a worker says of the machine that it runs on, before its first cell."""

import functools
import os
import platform
from pathlib import Path
from typing import Any

from flightpath.identity import identity
from flightpath.processes import memory_bytes
from scenarios.framework.guests import most_labs
from scenarios.framework.placement import has_lab

own_identity = functools.cache(identity)
"""Version and commit of what this process has loaded, whatever becomes of the checkout meanwhile."""


@functools.cache
def this_machine() -> dict[str, Any]:
    """Facts about this machine, as JSON values.

    `machine` tells machines apart, even where several have one name; several workers on one machine share it.
    """
    return {
        "host": platform.node(),
        "machine": Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip(),
        "kernel": platform.release(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_bytes": memory_bytes()["MemTotal"],
        "labs": most_labs() if has_lab() else 0,
        "identity": own_identity(),
    }


def difference(theirs: dict[str, Any]) -> str:
    """Why a worker may not measure for this process; empty if it may."""
    ours, there = own_identity(), theirs["identity"]
    if ours == there:
        return ""
    return f"{theirs['host']} has {_words(there)} instead of {_words(ours)}"


def _words(of: dict[str, str]) -> str:
    commit = of.get("commit")
    return f"Flightpath {of['flightpath']}" + (f" at commit {commit}" if commit else "")
