"""Congestion controls over four paths of 100 Mb/s, under MPTCP and in a tunnel.

Szilágyi and Bordán, "The Effects of Different Congestion Control Algorithms over Multipath Fast Ethernet IPv4/IPv6
Environments" (2020).
"""

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from pathlib import Path

from results.figures.charts import bars, looks_of, save_all
from results.records import Cell, CellResult, Claim
from results.statistics.estimates import growth_percent
from scenarios.framework import runner
from scenarios.framework.algorithms import obtainable
from scenarios.framework.claims import NOTHING, Finding, Untestable, cells_note, claim, judged_percent, percent_text
from scenarios.framework.plan import Plan
from scenarios.multipath import figures as multipath_figures
from scenarios.multipath.multipath import BASELINE, MPTCPS, TUNNELS, Configuration, MultipathScenario, means, values
from topologies.links.spec import LinkSpec
from topologies.links.texts import short_link
from topologies.testbed.tunnel import TunnelSpec

PATHS = 4
LINK = "100Mbit,0.1ms,1000p"
PAPERS = ("cubic", "reno", "illinois", "scalable", "veno", "highspeed", "vegas")
LATER = ("bbr", "elastic")
"""Those that the paper wishes for."""

PLAIN = "tun4_path4_plain"
"""As the paper's tunnel worked: packet by packet, one a system call, and nobody puts them in order again."""

QUICK_CONFIGURATIONS = (BASELINE, "tun4_path4", "mptcp4")
EXTREMES = ("cubic", "vegas")
"""Those that the paper draws over time."""

CLAIMED_MBPS, VEGAS_MBPS = 360.0, 100.0
AGREES_SHARE = 0.1


class CongestionQuadpath(MultipathScenario):
    """The scenario; see its description."""

    name = "congestion_quadpath"
    summary = "congestion controls over four paths of 100 Mb/s, MPTCP and MPT-GRE (paper: congestion-control-quadpath)"
    description = f"""\
Congestion controls over four paths of 100 Mb/s, in a tunnel (MPT-GRE) and under MPTCP: iperf3, FTP, processor time.

The paper's seven algorithms, and bbr and elastic, which it wishes for; one that this machine neither has nor can load
is skipped by name. tun4_path6 is TCP over IPv4 in a tunnel over paths of IPv6; baseline4 is TCP over one path. In
{PLAIN} the tunnel works as the paper's did: packet by packet, and without a reordering buffer.

  python -m scenarios.congestion_quadpath
  python -m scenarios.congestion_quadpath --algorithms vegas --configurations tun4_path4,{PLAIN}
  python -m scenarios.congestion_quadpath --full           all configurations, a file of 1 GB, ten times each"""

    sizes_mb = (40, 1000)

    def add_options(self, parser: ArgumentParser) -> None:
        """Adds what is compared, the paths and the transfers."""
        parser.add_argument(
            "--algorithms", metavar="A,A,...", help=f"the paper's ({', '.join(PAPERS)}); full: {', '.join(LATER)} too"
        )
        parser.add_argument(
            "--configurations", metavar="C,C,...", help=f"{', '.join(QUICK_CONFIGURATIONS)}, {PLAIN}; full: all"
        )
        parser.add_argument("--link", default=LINK, metavar="LINK", help="each path (%(default)s)")
        self.add_transfer_options(parser)

    def plan(self, options: Namespace) -> Plan:
        """The quick or full plan, changed by the options."""
        short_link(options.link)
        full = options.form == "full"
        algorithms = _words(options.algorithms) or ((*PAPERS, *LATER) if full else PAPERS)
        usual = (BASELINE, "baseline6", *TUNNELS, PLAIN, *MPTCPS) if full else (*QUICK_CONFIGURATIONS, PLAIN)
        axes = {
            "configuration": _words(options.configurations) or usual,
            "congestion_control": algorithms,
        }
        plan = self.planned(
            options, axes, {"link": options.link, **self.transfer_settings(options)}, quick_repeat=1, full_repeat=10
        )
        for cell in plan.cells():
            self.configuration(cell)
        return plan

    def attainable(self, plan: Plan) -> Plan:
        """With the algorithms that can be had."""
        return plan.with_axis("congestion_control", obtainable(plan.axes["congestion_control"]))

    def configuration(self, cell: Cell) -> Configuration:
        """The plain tunnel's is that of the other."""
        return Configuration.named(str(cell.parameters["configuration"]).removesuffix("_plain"))

    def tunnel(self, cell: Cell) -> TunnelSpec:
        """As usual, or plain."""
        if cell.parameters["configuration"] == PLAIN:
            return TunnelSpec(offloads=False, run=1, reordering="off")
        return super().tunnel(cell)

    def links(self, cell: Cell, plan: Plan) -> list[LinkSpec]:
        """Four, all alike."""
        return [short_link(plan.settings["link"])] * PATHS

    def figures(self, cells: Sequence[CellResult], folder: Path) -> list[Path]:
        """The paper's figures 2 to 7."""
        found = sorted({str(cell.cell.parameters["configuration"]) for cell in cells})
        charts = {
            name: bars(
                cells,
                metric,
                groups="congestion_control",
                by="configuration",
                looks=looks_of(found),
                title=title,
                x_label="congestion control",
                y_label=label,
                scale=scale,
            )
            for name, metric, title, label, scale in (
                ("fig2_iperf3", "goodput", "Throughput by iperf3 over four paths", "Mbit/s", 1e-6),
                ("fig2_ftp", "ftp_goodput", "Throughput of a download by FTP over four paths", "Mbit/s", 1e-6),
                ("fig3_4_download", "ftp_download", "Time of a download by FTP", "time (s)", 1.0),
                ("fig7_cpu", "cpu_total", "Processor time of hosts and links, iperf3", "% of a core", 1.0),
            )
        }
        costs = multipath_figures.costs(
            cells,
            groups="congestion_control",
            panels="configuration",
            title="What 1 Gbit/s by iperf3 costs",
            x_label="congestion control",
        )
        extremes = [cell for cell in cells if cell.cell.parameters["congestion_control"] in EXTREMES]
        over_time = {
            name: multipath_figures.courses(
                extremes, series, panels="congestion_control", title=title, y_label=label, scale=scale
            )
            for name, series, title, label, scale in (
                ("fig3_4_course", "ftp_carried", "Downloads by FTP: what the paths carry", "Mbit/s", 1e-6),
                ("fig5_6_cpu", "busy", "Processors of the whole machine, iperf3 and then FTP", "busy (%)", 1.0),
            )
        }
        return save_all({**charts, **over_time, "cpu_per_gbps": costs}, Path(folder))

    def claims(self, cells: Sequence[CellResult], form: str) -> list[Claim]:
        """What the paper says, and why its Vegas failed."""
        note = cells_note(cells)
        all_but_vegas = tuple(name for name in PAPERS if name != "vegas")
        cubic = {"congestion_control": "cubic"}
        return [
            claim(
                f"iperf3, {what}: every algorithm{but} reaches about {CLAIMED_MBPS:g} Mbit/s",
                f"{CLAIMED_MBPS:g} Mbit/s",
                lambda kinds=kinds, names=names: _about(cells, CLAIMED_MBPS, kinds, names),
                note,
            )
            for what, but, kinds, names in (
                ("MPT-GRE", " but Vegas", TUNNELS, all_but_vegas),
                ("MPTCP", "", MPTCPS, PAPERS),
            )
        ] + [
            claim(
                "iperf3: Vegas in the tunnel stays at about one path",
                f"about {VEGAS_MBPS:g} Mbit/s",
                lambda: _about(cells, VEGAS_MBPS, TUNNELS, ("vegas",)),
                note,
            ),
            claim(
                "the same in a tunnel that works as the paper's did (ours)",
                f"about {VEGAS_MBPS:g} Mbit/s",
                lambda: _about(cells, VEGAS_MBPS, (PLAIN,), ("vegas",)),
                note,
            ),
            claim(
                "FTP under Vegas: MPT-GRE is about ten per cent above one path",
                "+10 %",
                lambda: _growth(cells, "ftp_goodput", TUNNELS, 10.0, congestion_control="vegas"),
                note,
            ),
            claim(
                "FTP under cubic: the time of a download drops to a quarter",
                "-75 %",
                lambda: _growth(cells, "ftp_download", TUNNELS, -75.0, **cubic),
                note,
            ),
            claim(
                "FTP under cubic: the throughput quadruples",
                f"{PATHS} times one path's",
                lambda: _growth(cells, "ftp_goodput", TUNNELS, 0.0, times=PATHS, **cubic),
                note,
            ),
            claim("cubic gives the highest throughput", "cubic first", lambda: _best(cells), note),
            claim(
                "MPTCP takes less processor time than MPT-GRE",
                "somewhat lower, with every algorithm",
                lambda: _cheaper(cells),
                note,
            ),
        ]


def _words(text: str | None) -> tuple[str, ...]:
    return tuple(filter(None, (word.strip() for word in (text or "").split(","))))


def _about(
    cells: Sequence[CellResult], claimed_mbps: float, configurations: tuple[str, ...], algorithms: tuple[str, ...]
) -> Finding:
    """Whether the mean of each algorithm is near."""
    found = means(cells, "goodput", "congestion_control", configuration=configurations, congestion_control=algorithms)
    mbps = {name: value / 1e6 for name, value in found.items()}
    missing = [name for name in algorithms if name not in mbps]
    told = ", ".join(f"{name} {value:.0f}" for name, value in sorted(mbps.items(), key=lambda item: item[1]))
    holds = all(abs(value / claimed_mbps - 1) <= AGREES_SHARE for value in mbps.values())
    why = f"within {AGREES_SHARE:.0%}" + (f"; not measured: {', '.join(missing)}" if missing else "")
    return Finding.of(holds, f"{told} Mbit/s", why)


def _growth(
    cells: Sequence[CellResult],
    metric: str,
    configurations: tuple[str, ...],
    percent: float,
    *,
    times: int = 1,
    **parameters: object,
) -> Finding:
    """Against one path without a tunnel, or so many times it."""
    alone = [times * value for value in values(cells, metric, configuration=BASELINE, **parameters)]
    measured = growth_percent(alone, values(cells, metric, configuration=configurations, **parameters))
    verdict, why = judged_percent(measured, percent)
    return Finding(verdict, percent_text(measured) + (f" of {times} times" if times > 1 else ""), why)


def _best(cells: Sequence[CellResult]) -> Finding:
    """Over both transports; closer than one per cent is the same."""
    found = means(cells, "goodput", "congestion_control", configuration=(*TUNNELS, *MPTCPS), congestion_control=PAPERS)
    best = max(found, key=found.__getitem__)
    if "cubic" not in found or len(found) < 2:
        raise Untestable("cubic and another must have been measured")
    share = found["cubic"] / found[best] - 1
    told = f"{best} {found[best] / 1e6:.1f}, cubic {found['cubic'] / 1e6:.1f} Mbit/s ({share:+.1%})"
    return Finding.of(share >= -0.01, told, "means over MPTCP and MPT-GRE; less than 1 % is no difference")


def _cheaper(cells: Sequence[CellResult]) -> Finding:
    tunnel, other = (
        means(cells, "cpu_per_gbps", "congestion_control", configuration=kinds) for kinds in (TUNNELS, MPTCPS)
    )
    ratios = {name: tunnel[name] / other[name] for name in tunnel if name in other}
    if not ratios:
        raise Untestable(NOTHING)
    told = ", ".join(f"{name} {ratio:.2f}" for name, ratio in sorted(ratios.items()))
    return Finding.of(min(ratios.values()) > 1, f"MPT-GRE takes {told} times", "per Gb/s, hosts and links, iperf3")


if __name__ == "__main__":
    sys.exit(runner.main(CongestionQuadpath()))
