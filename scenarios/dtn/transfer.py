"""What the experiments with data transfer nodes share: the pair, its file server, and the probe between them."""

import statistics
from abc import abstractmethod
from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mininet.topo import Topo

from probes.preflight import TransferSpec
from probes.preflight.measure.run_in_host import run_in
from probes.preflight.records import PreflightResult
from results.figures.charts import curves, save_all
from results.records import Cell, CellResult, Measurement, Metric, ParameterValue, Series
from results.statistics.estimates import group, usable
from scenarios import fidelity
from scenarios.framework.claims import NOTHING, Untestable
from scenarios.framework.plan import Plan
from scenarios.framework.scenario import Context
from scenarios.framework.testbed_scenario import TestbedScenario, noting_congestion_control
from services.sshd import Sshd
from topologies.dtn_pair import SOURCE, TARGET, DtnPair
from topologies.hosts import congestion_control
from topologies.links.spec import LinkSpec
from topologies.links.texts import short_link
from topologies.testbed.testbed import Testbed

KIB, MB = 1024, 1_000_000
PATH = "10Gbit,15ms,1bdp"
"""Between two sites of the paper's testbed, Chicago and Texas: 10 Gb/s, and a round trip of about 30 ms."""


class DtnTransfer(TestbedScenario):
    """dtn2 downloads files from dtn1 by SFTP, as the probe does between real machines.

    Attributes:
        path: the bottleneck, as `--link` takes it, if the user says nothing; None: the scenario has no such option.
    """

    programs = ("sshd", "ssh-keyscan")
    starting_s = 6.0
    headlines: tuple[str, ...] = ("goodput", "rtt", "first_byte", "cpu_client", "idle_cpu")
    path: str | None = PATH

    @abstractmethod
    def transfer(self, cell: Cell, plan: Plan) -> TransferSpec:
        """What the probe transfers in a cell."""

    def add_options(self, parser: ArgumentParser) -> None:
        """Adds the options of the path."""
        super().add_options(parser)
        if self.path is not None:
            parser.add_argument(
                "--link",
                default=self.path,
                metavar="BANDWIDTH,DELAY[,QUEUE[,LOSS]]",
                help="the bottleneck, delay one way (default %(default)s)",
            )

    def link(self, cell: Cell, plan: Plan) -> LinkSpec:
        """The bottleneck of a cell."""
        return short_link(plan.settings["link"], "--link")

    def topology(self, cell: Cell, plan: Plan) -> Topo:
        """The pair, joined by the bottleneck alone."""
        return DtnPair(
            link=self.link(cell, plan), switched=False, congestion_control=self.congestion_control(cell, plan)
        )

    def load(self, testbed: Testbed, watch: fidelity.Watch, cell: Cell, context: Context) -> Measurement:
        """One measurement by the probe."""
        with file_server(testbed, context.folder) as server:
            context.progress(0.3, "transferring")
            self.load_begins(testbed, context)
            with noting_congestion_control(watch, SOURCE):
                found = run_in(
                    testbed.host(TARGET),
                    server.name,
                    self.transfer(cell, context.plan),
                    ssh_config=server.client_configuration,
                )
        watch.check()
        return preflight_measurement(found)

    def objections(self, measured: Measurement) -> list[str]:
        """A client, a cipher or a disk that was the limit was measured instead of the path."""
        limit = measured.metadata.get("limit")
        return [f"the path was not the limit: {limit}"] if limit else []


class BufferedTransfer(DtnTransfer):
    """A file of `size_mb` into a socket whose buffer is `buffer_kib`: two axes that its plans have."""

    def transfer(self, cell: Cell, plan: Plan) -> TransferSpec:
        """A file of that size into a socket with that buffer."""
        size, buffer = int(cell.parameters["size_mb"]), int(cell.parameters["buffer_kib"])
        return TransferSpec(size_bytes=size * MB, receive_buffer_bytes=buffer * KIB, route=False, interval_s=0.1)

    def estimate_s(self, cell: Cell, plan: Plan) -> float:
        """The window's rate, and starting."""
        return self.starting_s + int(cell.parameters["size_mb"]) * 8 * 30 / (int(cell.parameters["buffer_kib"]) * 8.2)


@contextmanager
def file_server(testbed: Testbed, folder: Path) -> Iterator[Sshd]:
    """An sshd on dtn1 for the time of a block."""
    source = testbed.host(SOURCE)
    with Sshd(source, source.address(), folder / "sshd") as server:
        congestion_control.set_on_listeners(source)
        yield server


def preflight_measurement(found: PreflightResult) -> Measurement:
    """The probe's result as a cell's; its first iteration, and the medians of all."""
    first = found.iterations[0]
    metrics = {
        "goodput": Metric(found.goodput_bps or 0.0, "bit/s"),
        "first_byte": Metric(first.phases.first_byte_s * 1e3, "ms"),
        "connect": Metric(first.phases.connect_s * 1e3, "ms"),
        "cpu_client": Metric(100 * first.cpu_s / first.transfer_s if first.transfer_s else 0.0, "%"),
        **({"rtt": Metric(found.rtt_ms, "ms")} if found.rtt_ms is not None else {}),
    }
    series = {
        "goodput": Series(
            "bit/s",
            tuple(each.start_s for each in first.intervals),
            tuple(each.throughput_bps for each in first.intervals),
        )
    }
    return Measurement(
        metrics,
        series,
        {
            "limit": "" if found.verdict.measures_path else f"{found.verdict}: {first.reason}",
            "congestion_control": sorted({each.connection.congestion_control for each in first.streams}),
            "notes": list(found.notes),
        },
    )


def goodput_figure(
    cells: Sequence[CellResult], folder: Path, *, name: str, x: str, by: str, title: str, x_label: str, **more: object
) -> list[Path]:
    """Goodput against a parameter, in Mbit/s, as PNG and SVG; `more` as `results.figures.charts.curves` takes it."""
    figure = curves(
        cells, "goodput", x=x, by=by, title=title, x_label=x_label, y_label="goodput (Mbit/s)", scale=1e-6, **more
    )
    return save_all({name: figure}, Path(folder))


def mean_goodputs(cells: Sequence[CellResult], *by: str) -> dict[Any, float]:
    """Mean goodput in bit/s of the cells that may be believed, per value of a parameter, or per tuple of several."""
    means = {
        values: statistics.fmean(cell.measurement.metrics["goodput"].value for cell in members)
        for values, members in group(usable(cells), by).items()
    }
    return means if len(by) > 1 else {value: mean for (value,), mean in means.items()}


def of_largest(cells: Sequence[CellResult], parameter: str) -> tuple[ParameterValue, list[CellResult]]:
    """A parameter's largest value and its cells, among those that may be believed.

    Raises:
        Untestable: there are none.
    """
    found = group(usable(cells), (parameter,))
    if not found:
        raise Untestable(NOTHING)
    (largest,), members = list(found.items())[-1]
    return largest, members
