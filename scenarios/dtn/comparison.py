"""Transfers by the probe and by iperf3 over the same path, with the same limit: the base of two experiments."""

from collections.abc import Mapping
from typing import Any

from experiments.scenario import RunningCell
from flightpath.overrides import override
from probes.transfers.iperf3 import Iperf3
from results.records import Cell, Measurement
from scenarios.dtn.transfer import KIB, MB, DtnTransfer
from services.iperf3 import Iperf3Server
from topologies.dtn_pair import SOURCE, TARGET
from topologies.hosts import congestion_control

TOOLS = ("preflight", "iperf3")


class DtnComparison(DtnTransfer):
    """dtn2 downloads from dtn1 with the tool that the parameter `tool` names.

    dtn2's kernel sets the receiver's socket buffer for both tools, so that both have the same limit.
    """

    programs = (*DtnTransfer.programs, "iperf3")
    window: str
    """Name of the parameter with the receiver's buffer in KiB."""

    @override
    def pair_options(self, cell: Cell) -> Mapping[str, Any]:
        return {**super().pair_options(cell), "receive_buffer_bytes": int(cell.parameters[self.window]) * KIB}

    @override
    def transferred(self, run: RunningCell) -> Measurement:
        if run.cell.parameters["tool"] == "preflight":
            return super().transferred(run)
        source, target = run.testbed.host(SOURCE), run.testbed.host(TARGET)
        with Iperf3Server(source, run.folder, on_listening=congestion_control.set_on_listeners):
            run.progress(0.3, "transferring")
            run.watch.start_events()
            with run.watch.recording_congestion_control(SOURCE):
                return _iperf3(run, self.load_s(run.cell, run.plan)).run(
                    target, source.address(), watch=run.watch.check
                )


def _iperf3(run: RunningCell, expected_s: float) -> Iperf3:
    """Returns the transfer by iperf3: of the cell's size, or for the plan's time."""
    if "seconds" in run.plan.settings:
        return Iperf3(seconds=float(run.plan.settings["seconds"]), warm_up_s=0, reverse=True)
    return Iperf3(seconds=max(1, expected_s), size_bytes=int(run.cell.parameters["size_mb"]) * MB, reverse=True)
