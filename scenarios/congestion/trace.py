"""The command `flightpath congestion trace`: the window of one transfer over time, with a certificate."""

import json
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

import congestion
from experiments import fidelity
from flightpath.errors import UntrustworthyResult, UsageError
from flightpath.units import format_rate, parse_duration
from probes.transfers.tcp_flow import TcpFlow
from results.figures import style
from results.records import Cell, CellResult, Measurement, Verdict
from results.store.ownership import give_to_caller, make_folder
from results.summary.verdicts import overall
from services.stream import StreamSink
from topologies.dtn_pair import SOURCE, TARGET, DtnPair
from topologies.links.spec import LinkSpec
from topologies.links.texts import short_link
from topologies.sandbox import sandbox
from topologies.testbed.testbed import Testbed

MIN_SECONDS, MIN_INTERVAL_S = 1.0, 0.001


def main(options: Namespace) -> int:
    """Runs the command and returns its exit code.

    Raises:
        UsageError, MissingCapability: before anything has started.
        UntrustworthyResult: the machine could not keep up; the figures are there and say so.
    """
    if options.seconds < MIN_SECONDS:
        raise UsageError(f"--seconds: {options.seconds:g} s is too short", f"at least {MIN_SECONDS:g}")
    interval_s = parse_duration(options.interval, "--interval")
    if not MIN_INTERVAL_S <= interval_s < options.seconds:
        raise UsageError(f"--interval: {options.interval!r} is out of range", "from 1ms to the length of a transfer")
    probes = [
        TcpFlow(congestion_control=congestion.name_of(name), seconds=options.seconds, interval_s=interval_s)
        for name in options.names
    ]
    link, folder = short_link(options.link), options.output.absolute()
    sandbox.require()
    for source in options.names:
        congestion.ensure(source)
    make_folder(folder)
    return sandbox.run_inside(lambda: _run(probes, link, folder, options.json), keep=[folder, congestion.RECORDS])


def _run(probes: Sequence[TcpFlow], link: LinkSpec, folder: Path, as_object: bool) -> int:
    cells = []
    for probe in probes:
        cells.append(cell := _measure(probe, link))
        files = style.save(_figure(cell, link), folder, f"trace_{probe.congestion_control}")
        record = folder / f"trace_{probe.congestion_control}.json"
        record.write_text(json.dumps(_as_json(cell), indent=1))
        give_to_caller(record)
        if not as_object:
            print(_in_words(cell))
            print(f"  {files[0]}")
    if as_object:
        print(json.dumps({"traces": [_as_json(cell) for cell in cells]}, indent=2))
    if overall(cells) is Verdict.UNUSABLE:
        raise UntrustworthyResult("the machine could not keep up, for the reasons above")
    return 0


def _measure(probe: TcpFlow, link: LinkSpec) -> CellResult:
    name = probe.congestion_control
    assert name is not None, "main gives each probe the name of an algorithm"
    with Testbed(DtnPair(link=link, switched=False, congestion_control=name)) as testbed:
        source, target = testbed.host(SOURCE), testbed.host(TARGET)
        watch = fidelity.Watch(testbed, congestion_control=name)
        with watch, StreamSink(target, sandbox.TEMPORARY), watch.recording_congestion_control(SOURCE):
            trace = probe.run(source, target.address(), watch=watch.check)
        facts = {"interval_s": probe.interval_s, "samples": len(trace.times_s)}
        measured = trace.measurement().merged(Measurement(metadata=facts))
        cell = Cell({"congestion_control": name, "link": str(link)})
        return CellResult(cell, measured, watch.certificate())


def _in_words(cell: CellResult) -> str:
    metrics, certificate = cell.measurement.metrics, cell.certificate
    name = cell.cell.parameters["congestion_control"]
    origin = certificate.found["congestion_control_origin"].get(name)
    reasons = "".join(f"\n  {reason}" for reason in certificate.reasons)
    return (
        f"{name} ({origin}): goodput {format_rate(metrics['goodput'].value)}, "
        f"{metrics['retransmissions'].value:g} retransmissions, shortest round trip {metrics['rtt_min'].value:.1f} ms; "
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
    """Draws window and threshold, round trip, and pacing rate, one below the other."""
    series, name = cell.measurement.series, cell.cell.parameters["congestion_control"]
    panels = (
        ("window (segments)", "cwnd", style.BLUE, 1.0),
        ("round trip (ms)", "rtt", style.GREEN, 1.0),
        ("pacing rate (Mbit/s)", "pacing_rate", style.PURPLE, 1e-6),
    )
    with style.drawing():
        figure = style.figure_of_cells(1.7 * len(panels) + 0.7, f"{name} over {link}", [cell])
        grid = figure.subplots(len(panels), 1, sharex=True)
        for axes, (label, quantity, colour, scale) in zip(grid, panels, strict=True):
            shown = series[quantity]
            axes.plot(shown.times_s, [value * scale for value in shown.values], color=colour, linewidth=1)
            style.plain_axes(axes, "time (s)" if axes is grid[-1] else "", label)
        threshold = series["ssthresh"]
        grid[0].plot(threshold.times_s, threshold.values, color=style.ORANGE, linewidth=1, linestyle="--")
        grid[0].set_ylim(top=max(series["cwnd"].values) * 1.08)
        for axes in grid:
            axes.set_xlim(left=0)
            axes.set_ylim(bottom=0)
        style.add_legend(figure, dict(zip(("cwnd", "ssthresh"), grid[0].get_lines(), strict=False)))
    return figure
