"""Congestion controls over four paths of 100 Mb/s, with MPTCP and in a tunnel.

Szilágyi and Bordán, "The Effects of Different Congestion Control Algorithms over Multipath Fast Ethernet IPv4/IPv6
Environments" (2020).
"""

from dataclasses import replace
from functools import partial
from typing import Any

from flightpath.overrides import override
from results.figures.drawing import Draw, Figures
from results.records import Cell
from results.statistics.estimates import growth_percent
from scenarios.framework import runner
from scenarios.framework.claims import ClaimCheck, Evidence, InsufficientData, Outcome, compare_percent, reproduced_if
from scenarios.framework.plan import Axis, Plan, link_setting
from scenarios.multipath.figures import costs, only, over_time, transfer_bars
from scenarios.multipath.multipath import BASELINE, MPTCPS, TUNNELS, Configuration, MultipathScenario, transfer_settings
from topologies.links.spec import LinkSpec
from topologies.links.texts import short_link
from topologies.testbed.tunnel import TunnelSpec

PATHS = 4
LINK = "100Mbit,0.1ms,1000p"
PAPERS = ("cubic", "reno", "illinois", "scalable", "veno", "highspeed", "vegas")
ALL_BUT_VEGAS = PAPERS[:-1]
LATER = ("bbr", "elastic")
"""Algorithms that the paper leaves for later."""

PLAIN = "tun4_path4_plain"
"""A tunnel that works as the paper's did: a packet per system call, and no reordering buffer."""

EXTREMES = ("cubic", "vegas")
"""The algorithms that the paper draws over time."""

CLAIMED_MBPS, VEGAS_MBPS = 360.0, 100.0
AGREES_SHARE = 0.1

_BY_ALGORITHM = {"groups": "congestion_control", "x_label": "congestion control"}


def _extremes_over_time(**chart: Any) -> Draw:
    return only("congestion_control", EXTREMES, partial(over_time, panels="congestion_control", **chart))


def _configuration(name: str) -> Configuration:
    """The plain tunnel has the protocols of the usual one."""
    return Configuration.named(name.removesuffix("_plain"))


def _about(evidence: Evidence, mbps: float, configurations: tuple[str, ...], algorithms: tuple[str, ...]) -> Outcome:
    """Whether the mean goodput of each algorithm is near a value."""
    of_these = evidence.where(configuration=configurations, congestion_control=algorithms)
    means = {name: value / 1e6 for name, value in of_these.means("goodput", "congestion_control").items()}
    missing = [name for name in algorithms if name not in means]
    measured = ", ".join(f"{name} {value:.0f}" for name, value in sorted(means.items(), key=lambda item: item[1]))
    holds = all(abs(value / mbps - 1) <= AGREES_SHARE for value in means.values())
    why = f"within {AGREES_SHARE:.0%}" + (f"; not measured: {', '.join(missing)}" if missing else "")
    return reproduced_if(holds, f"{measured} Mbit/s", why)


def _growth(
    evidence: Evidence, metric: str, configurations: tuple[str, ...], algorithm: str, percent: float, times: int = 1
) -> Outcome:
    """The change of a metric against one path without a tunnel, or against a multiple of it."""
    of_algorithm = evidence.where(congestion_control=algorithm)
    alone = [times * value for value in of_algorithm.where(configuration=BASELINE).values(metric)]
    measured = growth_percent(alone, of_algorithm.where(configuration=configurations).values(metric))
    outcome = compare_percent(measured, percent)
    return replace(outcome, measured=outcome.measured + (f" of {times} times" if times > 1 else ""))


def _best(evidence: Evidence) -> Outcome:
    """Over MPTCP and the tunnel."""
    of_paper = evidence.where(configuration=(*TUNNELS, *MPTCPS), congestion_control=PAPERS)
    means = of_paper.means("goodput", "congestion_control")
    if "cubic" not in means or len(means) < 2:
        raise InsufficientData("cubic or every other algorithm is missing")
    best = max(means, key=means.__getitem__)
    difference = means["cubic"] / means[best] - 1
    measured = f"{best} {means[best] / 1e6:.1f}, cubic {means['cubic'] / 1e6:.1f} Mbit/s ({difference:+.1%})"
    return reproduced_if(difference >= -0.01, measured, "means over MPTCP and MPT-GRE; less than 1 % does not count")


def _cheaper(evidence: Evidence) -> Outcome:
    tunnel, mptcp = (
        evidence.where(configuration=configurations).means("cpu_per_gbps", "congestion_control")
        for configurations in (TUNNELS, MPTCPS)
    )
    ratios = {name: tunnel[name] / mptcp[name] for name in tunnel if name in mptcp}
    if not ratios:
        raise InsufficientData("no algorithm was measured with both")
    measured = ", ".join(f"{name} {ratio:.2f}" for name, ratio in sorted(ratios.items()))
    return reproduced_if(
        min(ratios.values()) > 1, f"MPT-GRE takes {measured} times as much", "per Gb/s, hosts and links, iperf3"
    )


class CongestionQuadpath(MultipathScenario):
    """Congestion controls over four paths of 100 Mb/s, in a tunnel (MPT-GRE) and with MPTCP.

    Measured are the throughput by iperf3 and by FTP, and the processor time. The algorithms are the paper's seven, and
    bbr and elastic, which it leaves for later; one that this machine neither has nor can load is skipped. tun4_path6 is
    TCP over IPv4 in a tunnel over IPv6 paths; baseline4 is TCP over one path. In tun4_path4_plain the tunnel works as
    the paper's did: packet by packet, and without a reordering buffer.

      python -m scenarios.congestion_quadpath
      python -m scenarios.congestion_quadpath --algorithms vegas --configurations tun4_path4,tun4_path4_plain
      python -m scenarios.congestion_quadpath --full           all configurations, a file of 1 GB, ten times each
    """

    name = "congestion_quadpath"
    summary = "congestion controls over four paths of 100 Mb/s, MPTCP and MPT-GRE (paper: congestion-control-quadpath)"
    axes = (
        Axis(
            "configuration",
            (BASELINE, "tun4_path4", "mptcp4", PLAIN),
            (BASELINE, "baseline6", *TUNNELS, PLAIN, *MPTCPS),
            option="--configurations",
            help="protocols",
            check=_configuration,
        ),
        Axis("congestion_control", PAPERS, (*PAPERS, *LATER), option="--algorithms", help="congestion controls"),
    )
    options = (link_setting(LINK, "each path"), *transfer_settings((4, 10), (40, 1000)))
    figures = Figures(
        **transfer_bars(("fig2", "fig2", "fig3_4", "fig7"), "Mbit/s", by="configuration", **_BY_ALGORITHM),
        fig3_4_course=_extremes_over_time(
            series="ftp_carried", title="Downloads by FTP: what the paths carry", y_label="Mbit/s", scale=1e-6
        ),
        fig5_6_cpu=_extremes_over_time(
            series="busy", title="Processors of the whole machine, iperf3 and then FTP", y_label="busy (%)"
        ),
        cpu_per_gbps=costs(panels="configuration", **_BY_ALGORITHM),
    )
    claims = (
        ClaimCheck(
            f"iperf3, MPT-GRE: every algorithm but Vegas reaches about {CLAIMED_MBPS:g} Mbit/s",
            f"{CLAIMED_MBPS:g} Mbit/s",
            partial(_about, mbps=CLAIMED_MBPS, configurations=TUNNELS, algorithms=ALL_BUT_VEGAS),
        ),
        ClaimCheck(
            f"iperf3, MPTCP: every algorithm reaches about {CLAIMED_MBPS:g} Mbit/s",
            f"{CLAIMED_MBPS:g} Mbit/s",
            partial(_about, mbps=CLAIMED_MBPS, configurations=MPTCPS, algorithms=PAPERS),
        ),
        ClaimCheck(
            "iperf3: Vegas in the tunnel stays at about one path",
            f"about {VEGAS_MBPS:g} Mbit/s",
            partial(_about, mbps=VEGAS_MBPS, configurations=TUNNELS, algorithms=("vegas",)),
        ),
        ClaimCheck(
            "the same in a tunnel that works as the paper's did (ours)",
            f"about {VEGAS_MBPS:g} Mbit/s",
            partial(_about, mbps=VEGAS_MBPS, configurations=(PLAIN,), algorithms=("vegas",)),
        ),
        ClaimCheck(
            "FTP with Vegas: MPT-GRE is about ten per cent above one path",
            "+10 %",
            partial(_growth, metric="ftp_goodput", percent=10.0, configurations=TUNNELS, algorithm="vegas"),
        ),
        ClaimCheck(
            "FTP with cubic: the time of a download drops to a quarter",
            "-75 %",
            partial(_growth, configurations=TUNNELS, algorithm="cubic", metric="ftp_download", percent=-75.0),
        ),
        ClaimCheck(
            "FTP with cubic: the throughput quadruples",
            f"{PATHS} times that of one path",
            partial(_growth, configurations=TUNNELS, algorithm="cubic", metric="ftp_goodput", percent=0.0, times=PATHS),
        ),
        ClaimCheck("cubic gives the highest throughput", "cubic first", _best),
        ClaimCheck("MPTCP takes less processor time than MPT-GRE", "somewhat lower, with every algorithm", _cheaper),
    )

    @override
    def configuration(self, cell: Cell) -> Configuration:
        return _configuration(str(cell.parameters["configuration"]))

    @override
    def tunnel(self, cell: Cell) -> TunnelSpec:
        if cell.parameters["configuration"] == PLAIN:
            return TunnelSpec(offloads=False, run=1, reordering="off")
        return super().tunnel(cell)

    @override
    def links(self, cell: Cell, plan: Plan) -> list[LinkSpec]:
        return [short_link(plan.settings["link"])] * PATHS


if __name__ == "__main__":
    runner.main(CongestionQuadpath())
