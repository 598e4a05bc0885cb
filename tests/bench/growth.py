"""Growth of a network's processor time with hosts, links and packets, beside stock Mininet.

Ours are fat trees with all their rules, each in a process of its own (`tests.bench.network`). Stock Mininet makes the
same nodes and links. It has no controller and no rules, because a switch that floods does not bear loops.
"""

import json
import sys
from collections.abc import Iterator

from flightpath.commands import run
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
_LIMIT_S = 3600
_UNITS = {
    "up": "s",
    "up: processor time": "s",
    "down": "s",
    "down: processor time": "s",
    "memory": "MB a host",
    "a packet: processor time": "us",
}
"""Report of `tests.bench.network`."""


def measure(number: int) -> Iterator[str | Figure]:
    for pods, hosts in HOSTS.items():
        if number > 1 and pods in ONCE:
            continue
        yield f"{hosts} hosts"
        if pods in _STOCK:
            before_s = sandbox_cpu_s()
            run([sys.executable, "-m", "tests.bench.stock_tree", str(pods)], cwd=PROJECT, timeout_s=_LIMIT_S)
            cost = sandbox_cpu_s() - before_s
            yield Figure(SECTION, f"{hosts} hosts: stock Mininet, up and down: processor time", [cost], "s")
        yield from _figures(f"{hosts} hosts", str(pods), 60 if hosts == max(HOSTS.values()) else None)
    if number == 1:
        for network, (name, at_most_s) in _OTHERS.items():
            yield name
            yield from _figures(name, network, at_most_s)


def _figures(name: str, network: str, at_most_s: float | None) -> Iterator[Figure]:
    """Measures a network once without steering, and once with it."""
    for suffix, policy in (("", ()), (", steered", ("--policy", "disjoint"))):
        options = ["--packets", "500", "--sample", "100", *policy]
        command = [sys.executable, "-m", "tests.bench.network", network, *options]
        *_, report = run(command, cwd=PROJECT, timeout_s=_LIMIT_S).splitlines()
        found = json.loads(report)
        for what, unit in _UNITS.items():
            limit = at_most_s if what in ("up", "down") else None
            yield Figure(SECTION, f"{name}: {what}{suffix}", [found[what]], unit, at_most=limit)
