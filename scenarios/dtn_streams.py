"""Throughput of parallel transfers and cross traffic: experiment 5 of Mohammed et al., "Net-Preflight Check" (2021)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from experiments.claims import Evidence, InsufficientData
from experiments.judging import ABOUT_PERCENT, ALIKE, MORE, Found, Range, change, claim
from experiments.parameters import CONGESTION_CONTROL, Axis, link_setting
from experiments.plan import Plan
from flightpath.overrides import override
from results.figures.drawing import Draw, Figures
from results.records import Cell, CellResult
from scenarios.dtn.cross_traffic import CROSS, ISOLATED, traffic_axis
from scenarios.dtn.transfer import DtnTransfer, goodput_curves, goodput_steps

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BUFFER_KIB, LARGE_BUFFER_KIB = 2048, 4096
_USUAL = {"traffic": CROSS, "buffer_kib": (BUFFER_KIB, None)}
"""Parameters of the paper's cells: with cross traffic, and the usual buffer, which runs of earlier versions lack."""


def _more_streams(evidence: Evidence, pairs: Sequence[tuple[int, int]]) -> dict[str, Found]:
    """Returns the change of the goodput from few streams to many, at each file size with which both were measured."""
    changes = {
        f"{few} to {many} streams, {size} MB": change(
            evidence,
            "goodput",
            {"size_mb": size, "streams": few, **_USUAL},
            {"size_mb": size, "streams": many, **_USUAL},
        )
        for size in evidence.tried("size_mb")
        for few, many in pairs
        if {few, many} <= set(evidence.where(size_mb=size).tried("streams"))
    }
    if not changes:
        raise InsufficientData("no file was measured with both numbers of streams")
    return changes


def _larger_files(evidence: Evidence) -> dict[str, Found]:
    """Returns the change of the goodput with each step of the file size, for the numbers of streams with several."""
    usual = evidence.where(**_USUAL)
    of_several = [n for n in usual.numbers("streams") if len(usual.where(streams=n).tried("size_mb")) > 1]
    return goodput_steps(usual.where(streams=tuple(of_several)) if of_several else usual, along="size_mb", at="streams")


def _larger_buffer(evidence: Evidence) -> dict[str, Found]:
    """Returns the change of the goodput with the larger buffer, for each number of streams and file size."""
    with_large = evidence.where(buffer_kib=LARGE_BUFFER_KIB)
    if not with_large.cells:
        raise InsufficientData(f"a buffer of {LARGE_BUFFER_KIB} KiB was not measured: --full")
    return {
        f"{streams} streams, {size} MB": change(
            evidence,
            "goodput",
            {"streams": streams, "size_mb": size, **_USUAL},
            {"streams": streams, "size_mb": size, **_USUAL, "buffer_kib": LARGE_BUFFER_KIB},
        )
        for streams in with_large.tried("streams")
        for size in with_large.where(streams=streams).tried("size_mb")
    }


def _with_buffer(cells: Sequence[CellResult], *, buffer_kib: int, draw: Draw) -> Figure | None:
    """Draws the cells with one buffer; cells without the parameter have the usual one."""
    return draw([cell for cell in cells if cell.cell.parameters.get("buffer_kib", BUFFER_KIB) == buffer_kib])


def _curves(buffer_kib: int) -> Draw:
    title = f"Aggregated SFTP throughput against the number of streams, by file size (MB); buffer {buffer_kib} KiB"
    draw = goodput_curves(x="streams", by="size_mb", panels="traffic", title=title, x_label="streams")
    return partial(_with_buffer, buffer_kib=buffer_kib, draw=draw)


class DtnStreams(DtnTransfer):
    """Aggregated throughput of 1 to 8 parallel file transfers, on an isolated path and on one with cross traffic.

    Each stream is an SSH connection of its own with a buffer of 2048 KiB (the full form: 4096 KiB too); together they
    transfer one file. As on the public network of the paper, the cross traffic is four TCP connections of other hosts
    over the same bottleneck.

      flightpath run dtn_streams
      flightpath run dtn_streams --only traffic=cross --only size_mb=500
    """

    name = "dtn_streams"
    summary = (
        "aggregated SFTP throughput of 1 to 8 streams, alone and beside cross traffic "
        "(paper: netpreflight, experiment 5)"
    )
    programs = (*DtnTransfer.programs, "iperf3")
    repeats = (2, 30)  # in full as often as in the paper
    axes = (
        Axis("streams", (1, 2, 4, 6, 8)),
        Axis("size_mb", (100, 500), (100, 200, 500, 1000, 2000)),
        traffic_axis(),
        Axis("buffer_kib", (BUFFER_KIB,), (BUFFER_KIB, LARGE_BUFFER_KIB)),
    )
    options = (CONGESTION_CONTROL, link_setting("1Gbit,15ms,1bdp", "the bottleneck"))
    buffer_kib = BUFFER_KIB  # for a resumed run without this parameter
    figures = Figures(
        fig5_streams=_curves(BUFFER_KIB),
        fig5_streams_large_buffer=_curves(LARGE_BUFFER_KIB),
    )
    claims = (
        claim(
            "a change is noticed between one stream and two",
            f"more than {ABOUT_PERCENT:g} %, at every file size",
            partial(_more_streams, pairs=[(1, 2)]),
            Range(least=ABOUT_PERCENT),
        ),
        claim(
            "between four, six and eight streams there is no significant change",
            f"within {ABOUT_PERCENT:g} %, at every file size",
            partial(_more_streams, pairs=[(4, 6), (6, 8), (4, 8)]),
            ALIKE,
        ),
        claim(
            "larger files give a larger aggregated throughput",
            "more with each step, for every number of streams",
            _larger_files,
            MORE,
        ),
        claim(
            "an increase of the buffer from 2048 to 4096 KiB increases the aggregated throughput",
            "more, for every number of streams and file size",
            _larger_buffer,
            MORE,
        ),
    )

    @override
    def load_s(self, cell: Cell, plan: Plan) -> float:
        slower = 1 if cell.parameters["traffic"] == ISOLATED else 3
        return 2 + slower * int(cell.parameters["size_mb"]) / 100


if __name__ == "__main__":
    from scenarios.command import runner

    runner.main(DtnStreams())
