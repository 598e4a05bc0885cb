"""What `python -m congestion trace` does: one transfer by itself, its window over time, and whether to believe it."""

import json
import time
from argparse import Namespace
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

import congestion
from flightpath.errors import UntrustworthyResult, UsageError
from flightpath.units import format_bandwidth, parse_duration
from probes.transfers import tcp_flow
from probes.transfers.tcp_flow import TcpFlow
from results.figures import style
from results.records import Cell, CellResult, Measurement, Metric, Series, Verdict
from results.store.ownership import give_to_caller, make_folder
from results.summary.verdicts import badge_text, overall
from scenarios import fidelity
from topologies.dtn_pair import SOURCE, TARGET, DtnPair
from topologies.links.spec import LinkSpec
from topologies.links.texts import short_link
from topologies.sandbox import sandbox
from topologies.testbed.testbed import Testbed

MIN_SECONDS, MIN_INTERVAL_S = 1.0, 0.001


@dataclass(frozen=True)
class _Asked:
    """What is traced, with everything that could be refused already read."""

    names: tuple[str, ...]
    link: LinkSpec
    seconds: float
    interval_s: float


def main(options: Namespace) -> int:
    """Runs the command and returns its exit code.

    Raises:
        UsageError, MissingCapability: before anything has started.
        UntrustworthyResult: the machine could not keep up; the figures are there, and say so.
    """
    if options.seconds < MIN_SECONDS:
        raise UsageError(f"--seconds: {options.seconds:g} s is too short", f"at least {MIN_SECONDS:g}")
    interval_s = parse_duration(options.interval, "--interval")
    if not MIN_INTERVAL_S <= interval_s < options.seconds:
        raise UsageError(f"--interval: {options.interval!r} is not possible", "from 1ms on")
    link = short_link(options.link)
    names = tuple(map(congestion.name_of, options.names))
    folder = options.output.absolute()
    sandbox.require()
    for given in options.names:
        congestion.ensure(given)
    make_folder(folder)
    asked = _Asked(names, link, options.seconds, interval_s)
    return sandbox.run_inside(lambda: _run(asked, folder, options.json), keep=[folder, congestion.RECORDS])


def _run(asked: _Asked, folder: Path, as_object: bool) -> int:
    cells = []
    for name in asked.names:
        cell = _measure(asked, name)
        cells.append(cell)
        files = style.save(_figure(cell, asked.link), folder, f"trace_{name}")
        kept = folder / f"trace_{name}.json"
        kept.write_text(json.dumps(_as_json(cell), indent=1))
        give_to_caller(kept)
        if not as_object:
            print(_in_words(cell))
            print(f"  {files[0]}")
    if as_object:
        print(json.dumps({"traces": [_as_json(cell) for cell in cells]}, indent=2))
    if overall(cells) is Verdict.UNUSABLE:
        raise UntrustworthyResult("the machine could not keep up: see the reasons above")
    return 0


def _measure(asked: _Asked, name: str) -> CellResult:
    topology = DtnPair(link=asked.link, switched=False, congestion_control=name)
    with Testbed(topology) as testbed:
        source, target = testbed.host(SOURCE), testbed.host(TARGET)
        watch = fidelity.Watch(testbed, congestion_control=name)
        with watch, tcp_flow.sink(target):
            flow = TcpFlow(
                target.address(), congestion_control=name, seconds=asked.seconds, interval_s=asked.interval_s
            )
            running = flow.start(source)
            time.sleep(min(1.0, asked.seconds / 2))  # by then both ends have the connection
            watch.note_congestion_control()
            seen = running.finish()
        facts = {"interval_s": asked.interval_s, "looks": len(seen.times_s)}
        metrics = {
            "goodput": Metric(seen.goodput_bps(), "bit/s"),
            "retransmitted": Metric(seen.retransmitted, "1"),
            "min_rtt": Metric(seen.min_rtt_ms, "ms"),
        }
        cell = Cell({"congestion_control": name, "link": str(asked.link)})
        return CellResult(cell, Measurement(metrics, seen.series(), facts), watch.certificate())


def _in_words(cell: CellResult) -> str:
    metrics, certificate = cell.measurement.metrics, cell.certificate
    name = cell.cell.parameters["congestion_control"]
    origin = certificate.found["congestion_control_origin"].get(name)
    reasons = "".join(f"\n  {reason}" for reason in certificate.reasons)
    return (
        f"{name} ({origin}): goodput {format_bandwidth(metrics['goodput'].value)}/s, "
        f"{metrics['retransmitted'].value:g} retransmitted, least round trip {metrics['min_rtt'].value:.1f} ms; "
        f"{certificate.verdict}{reasons}"
    )


def _as_json(cell: CellResult) -> dict[str, Any]:
    return {
        "parameters": dict(cell.cell.parameters),
        "verdict": cell.certificate.verdict,
        "reasons": list(cell.certificate.reasons),
        "metrics": {name: vars(metric) for name, metric in cell.measurement.metrics.items()},
        "series": {name: vars(series) for name, series in cell.measurement.series.items()},
        "certificate": cell.certificate.found,
    }


def _figure(cell: CellResult, link: LinkSpec) -> Figure:
    """Window and threshold, round trip, pacing rate, one below the other."""
    series, name = cell.measurement.series, cell.cell.parameters["congestion_control"]
    panels: Sequence[tuple[str, Callable[[Axes], None]]] = (
        ("window (segments)", lambda axes: _draw_window(axes, series)),
        ("round trip (ms)", lambda axes: _draw(axes, series["rtt"], style.GREEN, 1.0)),
        ("pacing rate (Mbit/s)", lambda axes: _draw(axes, series["pacing_rate"], style.PURPLE, 1e-6)),
    )
    with style.drawing():
        title = f"{name} over {link}"
        figure = style.new_figure(1.7 * len(panels) + 0.7, title, badge_text([cell]), overall([cell]))
        grid = figure.subplots(len(panels), 1, sharex=True)
        for axes, (label, draw) in zip(grid, panels, strict=True):
            draw(axes)
            style.plain_axes(axes, "time (s)" if axes is grid[-1] else "", label)
            axes.set_xlim(left=0)
            axes.set_ylim(bottom=0)
        handles = dict(zip(("cwnd", "ssthresh"), grid[0].get_lines(), strict=False))
        style.add_legend(figure, handles)
    return figure


def _draw_window(axes: Axes, series: Mapping[str, Series]) -> None:
    _draw(axes, series["cwnd"], style.BLUE, 1.0)
    top = max(series["cwnd"].values) * 1.08
    axes.plot(series["ssthresh"].times_s, series["ssthresh"].values, color=style.ORANGE, linewidth=1, linestyle="--")
    axes.set_ylim(top=top)


def _draw(axes: Axes, series: Series, colour: str, scale: float) -> None:
    axes.plot(series.times_s, [value * scale for value in series.values], color=colour, linewidth=1)
