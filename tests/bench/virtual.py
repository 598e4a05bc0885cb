"""Virtual time: speed and exactness of experiments, alone and beside two busy loops per processor."""

import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from execution.uml import kernel
from results.records import CellResult, Verdict
from results.store.store import Store
from tests.bench.figures import Figure
from tests.bench.processes import seconds
from tests.support.busy_machine import busy_machine
from topologies.sandbox.sandbox import TEMPORARY

SECTION = "virtual time"
_IN_UML = (sys.executable, "-m", "execution.virtual", "--seed", "1", "--")
_FLOWS = {
    "10 Gb/s x 30 ms": ("10Gbit,15ms,1bdp", "1", "4", "1500"),
    "100 Gb/s x 10 ms": ("100Gbit,5ms,1bdp", "1", "1", "1500"),
    "4 x 10 Gb/s x 30 ms under MPTCP, 9000 bytes": ("10Gbit,15ms,1bdp", "4", "3", "9000"),
}
_DEMANDED = {
    "ten minutes of an idle network, one ping a second": ("s", None, 10.0),
    "10 Gb/s x 30 ms: of the payload limit": ("%", 99.9),
    "100 Gb/s x 10 ms: of the payload limit": ("%", 95.0),
    "4 x 10 Gb/s x 30 ms under MPTCP, 9000 bytes": ("Gb/s", 39.0),
    "4 x 10 Gb/s x 30 ms under MPTCP, 9000 bytes: of the payload limit": ("%",),
    "the same again: difference": ("%", None, 0.01),
    "mptcp_load, the quick form": ("s", None, 360.0),
    "congestion_quadpath, the quick form": ("s", None, 300.0),
    "mptcp_load, small: largest difference beside busy loops": ("%", None, 0.1),
    "its cells that are faithful": ("%", 100.0),
}
"""Unit, at least, at most."""

_AGAIN = "10 Gb/s x 30 ms"
_IDLE_NETWORK = "unshare -n sh -c 'ip link set lo up; ping -q -i 1 -c 600 127.0.0.1'"
_SMALL = ("--threads", "100", "--loads", "667")


def measure(rounds: int) -> Iterator[str | list[Figure]]:
    kernel.find()
    samples = defaultdict(list)
    for number in range(1, rounds + 1):
        yield f"round {number}: ten minutes of an idle network"
        idle_s = seconds([*_IN_UML, "sh", "-c", _IDLE_NETWORK])
        samples["ten minutes of an idle network, one ping a second"].append(idle_s)
        for name, words in _FLOWS.items():
            yield f"round {number}: {name}"
            goodput, limit = _flow(*words)
            samples[name].append(goodput)
            samples[f"{name}: of the payload limit"].append(100 * goodput / limit)
            if name == _AGAIN:
                samples["the same again: difference"].append(100 * abs(_flow(*words)[0] / goodput - 1))
        for scenario in ("mptcp_load", "congestion_quadpath"):
            yield f"round {number}: {scenario}, the quick form"
            quick_s = seconds(_scenario(scenario, TEMPORARY / f"{scenario}{number}"))
            samples[f"{scenario}, the quick form"].append(quick_s)
        yield f"round {number}: mptcp_load, small, alone and beside busy loops"
        alone = _cells(TEMPORARY / f"alone{number}")
        with busy_machine():
            busy = _cells(TEMPORARY / f"busy{number}")
        difference = _largest_difference(alone, busy)
        samples["mptcp_load, small: largest difference beside busy loops"].append(difference)
        faithful = [cell.certificate.verdict is Verdict.FAITHFUL for cell in (*alone, *busy)]
        samples["its cells that are faithful"].append(100 * sum(faithful) / len(faithful))
    yield [Figure(SECTION, name, values, *_DEMANDED.get(name, ("Gb/s",))) for name, values in samples.items()]


def _flow(*words: str) -> tuple[float, float]:
    """Goodput and limit in Gb/s."""
    command = [*_IN_UML, sys.executable, "-m", "tests.bench.uml_flow", *words]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    goodput, limit = output.split()
    return float(goodput), float(limit)


def _scenario(name: str, results: Path, *words: str) -> list[str]:
    once = ("--clock", "virtual", "--repeat", "1")
    return [sys.executable, "-m", f"scenarios.{name}", *once, "--results", str(results), *words]


def _cells(results: Path) -> list[CellResult]:
    seconds(_scenario("mptcp_load", results, *_SMALL))
    return Store.open(results).cells("latest")


def _largest_difference(one: list[CellResult], other: list[CellResult]) -> float:
    """Of all metrics of all cells, in %."""
    return max(
        100 * abs(metric.value - beside.measurement.metrics[name].value) / abs(metric.value)
        for cell, beside in zip(one, other, strict=True)
        for name, metric in cell.measurement.metrics.items()
        if metric.value
    )
