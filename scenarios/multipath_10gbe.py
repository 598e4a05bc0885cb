"""MPT-GRE against MPTCP over one and two paths of 10 Gb/s.

Szilágyi et al., "Throughput Performance Analysis of the Multipath Communication Technologies for the Cloud" (2019).
"""

import statistics
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from pathlib import Path

from results.figures.charts import bars, looks_of, save_all
from results.records import Cell, CellResult, Claim, ParameterValue
from results.statistics.estimates import growth_percent
from scenarios.framework import runner
from scenarios.framework.claims import Finding, Untestable, cells_note, claim, judged_percent, percent_text
from scenarios.framework.plan import Plan
from scenarios.multipath import figures as multipath_figures
from scenarios.multipath.multipath import BASELINE, MPTCPS, TUNNELS, MultipathScenario, means, values
from topologies.links.spec import LinkSpec
from topologies.links.texts import short_link

LINK = "10Gbit,0.05ms,1000p"
"""A cable of some metres, and the queue of a Linux interface."""

COMPARED = (BASELINE, "tun4_path4", "mptcp4")
"""Those whose downloads the paper draws over time."""


class Multipath10Gbe(MultipathScenario):
    """The scenario; see its description."""

    name = "multipath_10gbe"
    summary = "MPT-GRE against MPTCP over one and two paths of 10 Gb/s: iperf3, FTP, processors (paper: mptgre-10gbe)"
    description = """\
MPT-GRE against MPTCP over one and two paths of 10 Gb/s: throughput by iperf3 and by FTP, and what it costs.

tun4_path6 is TCP over IPv4, in a tunnel over paths of IPv6; mptcp4 and mptcp6 are the kernel's MPTCP; baseline4 is TCP
over one path, whatever their number. h1 sends by iperf3, and gets a file from h2 by FTP (vsftpd, wget), both out of
memory. Both hosts and both links share this machine: where it has no processor time left, a cell is unusable, and says
so. `--link 2Gbit,0.05ms,1000p` asks the same of paths that fewer processors can carry.

  python -m scenarios.multipath_10gbe
  python -m scenarios.multipath_10gbe --link 2Gbit,0.05ms,1000p --size 200
  python -m scenarios.multipath_10gbe --full               a file of 10 GB, ten times each"""

    sizes_mb = (1000, 10_000)

    def add_options(self, parser: ArgumentParser) -> None:
        """Adds the paths and the transfers."""
        super().add_options(parser)
        parser.add_argument("--link", default=LINK, metavar="LINK", help="each path (%(default)s)")
        self.add_transfer_options(parser)

    def plan(self, options: Namespace) -> Plan:
        """The quick or full plan, changed by the options."""
        short_link(options.link)
        axes = {"configuration": (BASELINE, *TUNNELS, *MPTCPS), "paths": (1, 2)}
        settings = {"link": options.link, **self.transfer_settings(options)}
        return self.planned(options, axes, settings, quick_repeat=1, full_repeat=10)

    def links(self, cell: Cell, plan: Plan) -> list[LinkSpec]:
        """All alike."""
        return [short_link(plan.settings["link"])] * int(cell.parameters["paths"])

    def figures(self, cells: Sequence[CellResult], folder: Path) -> list[Path]:
        """The paper's figures 5 to 9."""
        labels = {1: "one path", 2: "two paths"}
        charts = {
            name: bars(
                cells,
                metric,
                groups="configuration",
                by="paths",
                looks=looks_of(labels, labels),
                title=title,
                x_label="configuration",
                y_label=label,
                scale=scale,
            )
            for name, metric, title, label, scale in (
                ("fig5_iperf3", "goodput", "Throughput by iperf3", "Gbit/s", 1e-9),
                ("fig6_ftp", "ftp_goodput", "Throughput of a download by FTP", "Gbit/s", 1e-9),
                ("fig7_8_download", "ftp_download", "Time of a download by FTP", "time (s)", 1.0),
                ("fig9_cpu", "cpu_total", "Processor time of hosts and links, iperf3", "% of a core", 1.0),
            )
        }
        costs = multipath_figures.costs(
            cells,
            groups="configuration",
            panels="paths",
            panel_titles=labels,
            title="What 1 Gbit/s by iperf3 costs",
            x_label="configuration",
        )
        compared = [cell for cell in cells if cell.cell.parameters["configuration"] in COMPARED]
        course = multipath_figures.courses(
            compared,
            "ftp_carried",
            panels="paths",
            panel_titles=labels,
            title="Downloads by FTP: what the paths carry",
            y_label="Gbit/s",
            scale=1e-9,
        )
        return save_all({**charts, "fig7_8_course": course, "cpu_per_gbps": costs}, Path(folder))

    def claims(self, cells: Sequence[CellResult], form: str) -> list[Claim]:
        """What the paper says, as ratios: its absolute figures are those of other machines."""
        note = cells_note(cells)
        changes = [
            claim(sentence, f"{row[0]:+.3g} % ({told})", lambda row=row: _change(cells, *row), note)
            for sentence, told, *row in _CHANGES
        ]
        sentence = "MPT-GRE is fastest with IPv4 in the tunnel and IPv6 outside"
        return [*changes, claim(sentence, "tun4_path6 first", lambda: _fastest(cells), note)]


_Point = Mapping[str, ParameterValue]


def _at(configuration: str, paths: int) -> _Point:
    return {"configuration": configuration, "paths": paths}


_CHANGES: Sequence[tuple[str, str, float, str, _Point, _Point]] = (
    (
        "iperf3: a second path does not make MPT-GRE faster",
        "4.14 to 3.83 Gbit/s",
        -7.5,
        "goodput",
        _at("tun4_path6", 1),
        _at("tun4_path6", 2),
    ),
    (
        "iperf3: a second path doubles MPTCP",
        "9.22 to 18.4 Gbit/s",
        99.6,
        "goodput",
        _at("mptcp4", 1),
        _at("mptcp4", 2),
    ),
    (
        "iperf3, one path: MPTCP is faster than MPT-GRE",
        "4.14 to 9.22 Gbit/s",
        122.7,
        "goodput",
        _at("tun4_path6", 1),
        _at("mptcp4", 1),
    ),
    (
        "iperf3, two paths: MPTCP is faster than MPT-GRE",
        "3.83 to 18.4 Gbit/s",
        380.4,
        "goodput",
        _at("tun4_path6", 2),
        _at("mptcp4", 2),
    ),
    (
        "FTP, two paths: MPTCP is faster than MPT-GRE",
        "2.94 to 5.93 Gbit/s",
        101.7,
        "ftp_goodput",
        _at("tun4_path4", 2),
        _at("mptcp4", 2),
    ),
    (
        "FTP: MPT-GRE over two paths is slower than TCP over one",
        "8.78 to 2.94 Gbit/s",
        -66.5,
        "ftp_goodput",
        _at(BASELINE, 1),
        _at("tun4_path4", 2),
    ),
    (
        "FTP: MPTCP over two paths is slower than TCP over one",
        "8.78 to 5.93 Gbit/s",
        -32.5,
        "ftp_goodput",
        _at(BASELINE, 1),
        _at("mptcp4", 2),
    ),
    (
        "over IPv6 and one path, MPT-GRE takes more processor time than MPTCP",
        "8.7 to 23.3 % of the machine",
        167.8,
        "cpu_total",
        _at("mptcp6", 1),
        _at("tun6_path6", 1),
    ),
    (
        "over IPv6 and two paths, MPT-GRE takes more processor time than MPTCP",
        "13.7 to 23.4 % of the machine",
        70.8,
        "cpu_total",
        _at("mptcp6", 2),
        _at("tun6_path6", 2),
    ),
)
"""What is said, the paper's values, the change in per cent, of which metric, from where to where."""


def _change(cells: Sequence[CellResult], percent: float, metric: str, before: _Point, after: _Point) -> Finding:
    measured = growth_percent(values(cells, metric, **before), values(cells, metric, **after))
    verdict, why = judged_percent(measured, percent)
    return Finding(verdict, percent_text(measured), why)


def _fastest(cells: Sequence[CellResult]) -> Finding:
    """Means over both numbers of paths."""
    found = means(cells, "goodput", "configuration", configuration=TUNNELS)
    if missing := set(TUNNELS) - set(found):
        raise Untestable(f"not measured: {', '.join(sorted(missing))}")
    ranked = sorted(found, key=found.__getitem__, reverse=True)
    told = " > ".join(f"{name} {found[name] / 1e9:.2f}" for name in ranked)
    lead = found[ranked[0]] / statistics.fmean(found[name] for name in ranked[1:])
    return Finding.of(ranked[0] == "tun4_path6" and lead > 1.02, f"{told} Gbit/s", "a lead of less than 2 % is none")


if __name__ == "__main__":
    sys.exit(runner.main(Multipath10Gbe()))
