"""File transfers between two data transfer nodes: the base classes of the experiments of "Net-Preflight Check"."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mininet.topo import Topo

from experiments.claims import Evidence
from experiments.judging import Found, steps
from experiments.parameters import CONGESTION_CONTROL, Setting, link_setting
from experiments.plan import Plan
from experiments.scenario import RunningCell, Scenario
from flightpath.overrides import override
from probes.preflight import TransferSpec
from probes.sftp import SftpTransfer
from probes.transfers.iperf3 import Iperf3
from results.figures.charts import curves
from results.figures.drawing import Draw
from results.records import Cell, CellResult, Measurement
from results.statistics.estimates import group
from scenarios.dtn import cross_traffic
from services.iperf3 import Iperf3Server
from services.sshd import Sshd
from topologies.dtn_pair import SOURCE, TARGET, DtnPair
from topologies.hosts import congestion_control
from topologies.links.spec import LinkSpec
from topologies.links.texts import short_link

if TYPE_CHECKING:
    from matplotlib.figure import Figure

KIB, MB = 1024, 1_000_000
TOOLS = ("preflight", "iperf3")
KERNEL_DEFAULT = "default"
"""Value of `buffer_kib` that sets no buffer: the kernel sizes it, up to the limits of an untuned system."""

_AUTOMATIC_KIB = 2048  # the size that an untuned kernel reaches, roughly


class DtnTransfer(Scenario):
    """dtn2 downloads a file from dtn1 by SFTP: one of `size_mb`, or in plans with the setting `seconds` for that time.

    The default path is that between two sites of the paper's testbed, Chicago and Texas.
    """

    headlines: tuple[str, ...] = ("goodput", "rtt", "first_byte", "cpu_client", "idle_cpu")
    programs: tuple[str, ...] = ("sshd", "ssh-keyscan")
    repeats = (2, 3)
    starting_s = 6.0
    options: tuple[Setting, ...] = (CONGESTION_CONTROL, link_setting("10Gbit,15ms,1bdp", "the bottleneck"))
    buffer_kib: int | None = None
    """Buffer of each receiving socket, unless it is a parameter; None leaves it to the kernel."""
    source, target = SOURCE, TARGET
    """Hosts that have the file, and download it."""

    def transfer(self, cell: Cell, plan: Plan) -> TransferSpec:
        """Returns the transfer of a cell."""
        streams = int(cell.parameters.get("streams", 1))
        if "seconds" in plan.settings:
            return TransferSpec(streams=streams, time_limit_s=float(plan.settings["seconds"]), route=False)
        buffer = self._buffer_kib(cell)
        return TransferSpec(
            size_bytes=int(cell.parameters["size_mb"]) * MB,
            streams=streams,
            receive_buffer_bytes=buffer * KIB if buffer is not None else None,
            route=False,
            interval_s=0.1,
        )

    def link(self, cell: Cell, plan: Plan) -> LinkSpec:
        """Returns the bottleneck of a cell."""
        return short_link(plan.settings["link"], "--link")

    def pair_options(self, cell: Cell) -> Mapping[str, Any]:
        """Returns arguments for the DtnPair: the bottleneck alone joins the hosts, unless there is cross traffic."""
        tuned = {"tuned": cell.parameters.get("buffer_kib") != KERNEL_DEFAULT}
        if "traffic" not in cell.parameters:
            return {"switched": False, **tuned}
        return {"cross_traffic": int(cell.parameters["traffic"] == cross_traffic.CROSS), **tuned}

    def transferred(self, run: RunningCell) -> Measurement:
        """Runs the transfer of a cell; any cross traffic is running already."""
        source, spec = run.testbed.host(self.source), self.transfer(run.cell, run.plan)
        reach = source.address()
        address = "0.0.0.0" if spec.mptcp else reach  # further subflows come to the other addresses
        with Sshd(source, address, run.folder / "sshd", reach=reach, mptcp=spec.mptcp) as server:
            congestion_control.set_on_listeners(source)
            run.progress(0.3, "transferring")
            run.watch.start_events()
            with run.watch.recording_congestion_control(self.source):
                probe = SftpTransfer(spec, server.client_configuration)
                return probe.run(run.testbed.host(self.target), server.name, watch=run.watch.check)

    @override
    def topology(self, cell: Cell, plan: Plan) -> Topo:
        algorithm = self.congestion_control(cell, plan)
        return DtnPair(link=self.link(cell, plan), congestion_control=algorithm, **self.pair_options(cell))

    @override
    def load(self, run: RunningCell) -> Measurement:
        with cross_traffic.applied(run):
            return self.transferred(run)

    @override
    def load_s(self, cell: Cell, plan: Plan) -> float:
        if "seconds" in plan.settings:
            return plan.settings["seconds"] + 1
        return int(cell.parameters["size_mb"]) * 8 * 30 / ((self._buffer_kib(cell) or _AUTOMATIC_KIB) * 8.2)

    def _buffer_kib(self, cell: Cell) -> int | None:
        buffer = cell.parameters.get("buffer_kib", self.buffer_kib)
        return None if buffer in (None, KERNEL_DEFAULT) else int(buffer)

    @override
    def goodput_limits_bps(self, cell: Cell, plan: Plan) -> Mapping[str, float]:
        limit_bps = self.link(cell, plan).payload_bps
        return {"goodput": limit_bps} if limit_bps else {}

    @override
    def reasons_unusable(self, measured: Measurement) -> list[str]:
        limit = measured.metadata.get("limit")
        return [f"the path was not the limit: {limit}"] if limit else []


def goodput_steps(evidence: Evidence, along: str, at: str) -> dict[str, Found]:
    """Returns the change of the goodput with each step of a parameter, at each value of another."""
    return {
        name: step
        for value in evidence.numbers(at)
        for name, step in steps(evidence, "goodput", along, **{at: value}).items()
    }


def goodput_curves(*, panels: str | None = None, panel_title: str = "{}", **chart: Any) -> Draw:
    """Returns a figure of goodput in Mbit/s by `charts.curves`; `{}` in `panel_title` is the value of `panels`."""

    def draw(cells: Sequence[CellResult]) -> Figure | None:
        titles = {value: panel_title.format(value) for (value,) in group(cells, (panels,))} if panels else {}
        y_label = "goodput (Mbit/s)"
        return curves(cells, "goodput", scale=1e-6, panels=panels, panel_titles=titles, y_label=y_label, **chart)

    return draw


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
