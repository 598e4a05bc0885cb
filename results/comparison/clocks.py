"""Machine or protocol: what the network carries, what a protocol reaches in it, and what this machine lets it reach.

The cells of the virtual clock say what the protocol does, those of the real clock what this machine lets it do, and
the processor time beside them which process was the limit.
"""

import statistics
from collections.abc import Mapping, Sequence

from flightpath.clock import Clock
from results.records import CellResult, Run
from results.statistics.estimates import group, usable
from results.summary.numbers import parameters_text, scale, short

PATH_BPS = "path_bps"
"""Fact of a certificate: what the network carries between two hosts, with all headers."""

FULL_PERCENT = 90.0
"""Use of a core from which a process is at its limit: a thread that waits for nothing else has the rest taken away."""

IDLE_PERCENT = 10.0
"""Idle time of the whole machine below which its processors are the limit."""

_ALIKE = 0.05
_RATES, _TIMES = ("bit/s", "B/s", "1/s"), ("s", "ms")
_SUMS = ("cpu_total", "cpu_links", "cpu_per_gbps", "cpu_tunnel")


def machine_or_protocol(one: Run, other: Run, metrics: Sequence[str]) -> list[str]:
    """Returns a sentence for each rate or time at each point of two runs, one on each clock; nothing for other runs.

    Unusable cells of the real clock count too, and are named: a machine that is too slow is the answer here.
    """
    by_clock = {record.clock: cells for record, cells in (one, other)}
    if len(by_clock) < 2:
        return []
    here = group(by_clock[Clock.REAL])
    sentences = []
    for point, virtual in group(by_clock[Clock.VIRTUAL]).items():
        for metric in metrics:
            if point in here and (sentence := _sentence(metric, virtual, here[point])):
                where = parameters_text(virtual[0].cell.parameters)
                sentences.append(f"{where}: {sentence}" if where else sentence)
    return sentences


def _sentence(metric: str, virtual: Sequence[CellResult], here: Sequence[CellResult]) -> str:
    reached, limited = _mean(usable(virtual), metric), _mean(here, metric)
    unit = next((it.measurement.metrics[metric].unit for it in virtual if metric in it.measurement.metrics), "")
    if reached is None or limited is None or unit not in _RATES + _TIMES:
        return ""
    carried = _mean_fact(virtual, PATH_BPS) if unit == "bit/s" else None
    factor, shown = scale([each for each in (carried, reached, limited) if each is not None], unit)
    values = [f"{short(each * factor)} {shown}" for each in (reached, limited)]
    doubt = " (unusable as a measurement of the network)" if len(usable(here)) < len(here) else ""
    busiest, share = _busiest(here)
    path = f"the path carries {short(carried * factor)} {shown} with all headers; " if carried is not None else ""
    start = f"{metric}: {path}the protocol reaches {values[0]} where computing takes no time; here"
    if abs(limited - reached) <= _ALIKE * max(abs(reached), abs(limited)):
        return f"{start} it reaches the same, {values[1]}{doubt}, and {busiest} uses {share:.0f} % of a core."
    return f"{start} {values[1]}{doubt}: {_limit(here, busiest, share)}."


def _limit(here: Sequence[CellResult], busiest: str, share: float) -> str:
    """Names the processors that limit a cell, if any do."""
    idle = _mean(here, "idle_cpu")
    if share >= FULL_PERCENT:
        return f"{busiest} has no more processor time ({share:.0f} % of one core)"
    used = f"{busiest} uses {share:.0f} % of a core"
    if idle is None:
        return f"no process is known to fill its processor ({used})"
    if idle < IDLE_PERCENT:
        return f"the machine's processors are full ({idle:.0f} % idle; {used})"
    return f"no processor is full ({idle:.0f} % of the machine is idle; {used})"


def _busiest(cells: Sequence[CellResult]) -> tuple[str, float]:
    """Returns the process that used most of a core, and how much in per cent."""
    shares: dict[str, list[float]] = {}
    for cell in cells:
        for name, metric in cell.measurement.metrics.items():
            if name.startswith("cpu_") and name not in _SUMS and metric.unit == "%":
                shares.setdefault(f"`{name.removeprefix('cpu_')}`", []).append(metric.value)
        links = cell.certificate.found.get("links_during_load")
        for name, ways in (links if isinstance(links, Mapping) else {}).items():
            used = [each.get("cpu_percent") or 0.0 for each in ways.values()] if isinstance(ways, Mapping) else [0.0]
            shares.setdefault(f"the emulator of link {name}", []).append(max(used))
    means = {name: statistics.fmean(values) for name, values in shares.items()}
    return max(means.items(), key=lambda item: item[1], default=("nothing that is watched", 0.0))


def _mean(cells: Sequence[CellResult], metric: str) -> float | None:
    values = [cell.measurement.metrics[metric].value for cell in cells if metric in cell.measurement.metrics]
    return statistics.fmean(values) if values else None


def _mean_fact(cells: Sequence[CellResult], fact: str) -> float | None:
    values = [value for cell in cells if isinstance(value := cell.certificate.found.get(fact), int | float)]
    return statistics.fmean(values) if values else None
