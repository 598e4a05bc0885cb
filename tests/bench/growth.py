"""How the processor time of a network grows with hosts, links and packets, beside stock Mininet and in virtual time.

Ours are fat trees with all their rules, each in a process of its own (`tests.bench.fat_tree`). Stock Mininet makes the
same nodes and links; it has no controller and no rules, because its own floods, which a network with loops does not
bear. In virtual time all of a network, its kernel included, is one process.
"""

import json
import resource
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from flightpath.project import PROJECT
from tests.bench.figures import Figure

SECTION = "growth"
HOSTS = {4: 16, 8: 128, 12: 432, 16: 1024}
"""Hosts of a fat tree by its number of pods."""

_STOCK, _VIRTUAL = (4, 8), (4, 8, 16)
_PACKETS, _SAMPLE = 500, 100
_IN_UML = ("-m", "execution.virtual", "--seed", "1", "--memory", "6G", "--")


def measure(rounds: int) -> Iterator[str | list[Figure]]:
    for pods, hosts in HOSTS.items():
        samples: dict[str, list[float]] = defaultdict(list)
        for number in range(1, (rounds if hosts < 200 else 1) + 1):
            yield f"round {number}: {hosts} hosts"
            if pods in _STOCK:
                samples["stock Mininet, up and down: processor time"].append(_cpu_of("tests.bench.stock_tree", pods)[1])
            for name, policy in (("", ()), (", steered", ("--policy", "disjoint"))):
                words = (*policy, "--sample", str(_SAMPLE), "--packets", str(_PACKETS))
                found, _ = _cpu_of("tests.bench.fat_tree", pods, *words)
                samples[f"up{name}"].append(found["up_s"])
                samples[f"up{name}: processor time"].append(found["up_cpu_s"])
                samples[f"down{name}"].append(found["down_s"])
                samples[f"memory of a host{name}"].append(found["kb_per_host"] / 1000)
                if not policy:
                    samples["a packet: processor time"].append(found["packet_cpu_us"])
            if pods in _VIRTUAL:
                small, large = (_cpu_of("tests.bench.fat_tree", pods, "--packets", str(n), before=_IN_UML)[1] for n in _FEW)
                samples["virtual time, up and down: processor time"].append(small)
                packets = 2 * (_FEW[1] - _FEW[0])
                samples["virtual time, a packet: processor time"].append((large - small) / packets * 1e6)
        yield [Figure(SECTION, f"{hosts} hosts, {name}", values, *_demand(hosts, name)) for name, values in samples.items()]


_FEW = (1, 501)


def _demand(hosts: int, name: str) -> tuple[Any, ...]:
    """Unit, at least, at most."""
    if "packet" in name:
        return ("us",)
    if "memory" in name:
        return ("MB",)
    return ("s", None, 60.0) if hosts == 1024 and "processor" not in name else ("s",)


def _cpu_of(module: str, pods: int, *words: str, before: Sequence[str] = ()) -> tuple[dict[str, float], float]:
    """What a program reports, and its processor time in seconds, with that of all that it started."""
    began = _children_s()
    command = [sys.executable, *before, *([sys.executable] if before else []), "-m", module, str(pods), *words]
    output = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=True).stdout
    return json.loads(output.splitlines()[-1]), _children_s() - began


def _children_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
