"""Facts that a worker reports of its machine before its first cell."""

import functools
import json
import os
import platform
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from execution.cluster.proof import prove
from execution.guest_executors import max_parallel_kernels
from flightpath.clock import Clock
from flightpath.identity import identity
from flightpath.processes import memory_bytes

own_identity = functools.cache(identity)
"""Version and commit of what this process has loaded, whatever becomes of the checkout meanwhile."""


@functools.cache
def this_machine() -> dict[str, Any]:
    """Facts about this machine, as JSON values; the first call may take half a minute, and says so.

    `machine` tells machines apart, even where several have one name; several workers on one machine share it. `clocks`
    are those by which it can measure, `labs` is how many cells of virtual time at once, `proof` what `prove` found.
    """
    machine = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    proof = prove({"machine": machine, **own_identity()}, lambda text: print(text, flush=True))
    clocks = [clock for clock in Clock if not proof.clocks[clock].why_not]
    return {
        "host": platform.node(),
        "machine": machine,
        "kernel": platform.release(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_bytes": memory_bytes()["MemTotal"],
        "clocks": [str(clock) for clock in clocks],
        "labs": max_parallel_kernels() if Clock.VIRTUAL in clocks else 0,
        "identity": own_identity(),
        "proof": json.loads(proof.model_dump_json()),
    }


def difference(theirs: Mapping[str, Any]) -> str:
    """Returns why a worker may not measure for this process; empty if it may."""
    ours, there = own_identity(), theirs["identity"]
    if ours == there:
        return ""
    return f"{theirs['host']} has {_words(there)} instead of {_words(ours)}"


def _words(of: Mapping[str, str]) -> str:
    commit = of.get("commit")
    return f"Flightpath {of['flightpath']}" + (f" at commit {commit}" if commit else "")
