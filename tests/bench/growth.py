"""How the processor time of a network grows with hosts, links and packets, beside stock Mininet.

Ours are fat trees with all their rules, each in a process of its own (`tests.bench.network`). Stock Mininet makes the
same nodes and links. It has no controller and no rules, because a switch that floods does not bear loops.
"""

import json
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence

from flightpath.project import PROJECT
from tests.bench.figures import Figure
from tests.bench.processes import sandbox_cpu_s

SECTION = "growth"
HOSTS = {4: 16, 8: 128, 12: 432, 16: 1024}
"""Hosts of a fat tree, by its number of pods."""

ONCE = (12, 16)
"""Trees that are measured in one round only."""

_OTHERS = {"tree,5,4": ("tree, 1024 hosts", 60.0), "torus,10,10": ("torus, 100 hosts", 3.0)}
"""Mininet's topologies: what they are called, and how long each may take to be up (s)."""

_STOCK = (4, 8)
_SAMPLE, _PACKETS = 100, 500

STOCK = "stock Mininet, up and down: processor time"
UP, DOWN, PACKET = "up", "down", "a packet: processor time"
UP_CPU, DOWN_CPU, MEMORY = "up: processor time", "down: processor time", "memory"


def measure(rounds: int) -> Iterator[str | list[Figure]]:
    for pods, hosts in HOSTS.items():
        samples: dict[str, list[float]] = defaultdict(list)
        for number in range(1, (1 if pods in ONCE else rounds) + 1):
            yield f"round {number}: {hosts} hosts"
            if pods in _STOCK:
                samples[STOCK].append(_run(["-m", "tests.bench.stock_tree", str(pods)])[1])
            _add(samples, str(pods))
        yield _figures(f"{hosts} hosts", samples, 60 if hosts == max(HOSTS.values()) else None)
    for network, (name, at_most_s) in _OTHERS.items():
        yield name
        samples = defaultdict(list)
        _add(samples, network)
        yield _figures(name, samples, at_most_s)


def _add(samples: dict[str, list[float]], network: str) -> None:
    """Measures a network once without steering, and once with it."""
    for name, policy in (("", ()), (", steered", ("--policy", "disjoint"))):
        words = ("--packets", str(_PACKETS), "--sample", str(_SAMPLE), *policy)
        found, _ = _run(["-m", "tests.bench.network", network, *words])
        samples[UP + name].append(found["up_s"])
        samples[UP_CPU + name].append(found["up_cpu_s"])
        samples[DOWN + name].append(found["down_s"])
        samples[DOWN_CPU + name].append(found["down_cpu_s"])
        samples[MEMORY + name].append(found["kb_per_host"] / 1000)
        samples[PACKET + name].append(found["packet_cpu_us"])


def _figures(network: str, samples: dict[str, list[float]], at_most_s: float | None) -> list[Figure]:
    figures = []
    for name, values in samples.items():
        unit = "MB a host" if name.startswith(MEMORY) else "us" if "packet" in name else "s"
        limit = at_most_s if name.partition(",")[0] in (UP, DOWN) else None
        figures.append(Figure(SECTION, f"{network}: {name}", values, unit, at_most=limit))
    return figures


def _run(words: Sequence[str]) -> tuple[dict[str, float], float]:
    """What a Python program reports, and its processor time (s)."""
    began_s = sandbox_cpu_s()
    command = [sys.executable, *words]
    output = subprocess.run(command, cwd=PROJECT, stdout=subprocess.PIPE, text=True, check=True).stdout
    [report] = (json.loads(line) for line in output.splitlines() if line.startswith("{"))
    return report, sandbox_cpu_s() - began_s
