"""MPT-GRE against MPTCP over one and two paths of 10 Gb/s.

Szilágyi et al., "Throughput Performance Analysis of the Multipath Communication Technologies for the Cloud" (2019).
"""

import statistics
from functools import partial

from flightpath.overrides import override
from results.figures.charts import looks_of
from results.figures.drawing import Figures
from results.records import Cell
from results.statistics.estimates import growth_percent
from scenarios.framework import runner
from scenarios.framework.claims import Check, ClaimCheck, Evidence, Outcome, compare_percent, reproduced_if
from scenarios.framework.plan import CONGESTION_CONTROL, Axis, Plan, link_setting
from scenarios.multipath.figures import costs, only, over_time, transfer_bars
from scenarios.multipath.multipath import BASELINE, MPTCPS, TUNNELS, MultipathScenario, transfer_settings
from topologies.links.spec import LinkSpec
from topologies.links.texts import short_link

LINK = "10Gbit,0.05ms,1000p"
"""A cable of a few metres, and the queue of a Linux interface."""

COMPARED = (BASELINE, "tun4_path4", "mptcp4")
"""The configurations whose downloads the paper draws over time."""

LEAD_SHARE = 0.02

_TITLES = {1: "one path", 2: "two paths"}
_BY_CONFIGURATION = {"groups": "configuration", "x_label": "configuration"}
_DOWNLOADS = partial(
    over_time,
    series="ftp_carried",
    panels="paths",
    panel_titles=_TITLES,
    title="Downloads by FTP: what the paths carry",
    y_label="Gbit/s",
    scale=1e-9,
)


def _change(values: str, percent: float, metric: str, *compared: tuple[str, int]) -> tuple[str, Check]:
    """What the paper states of two configurations, over one or two paths each, and the check.

    It is about the ratio, because the paper's absolute values are those of other machines.
    """

    def check(evidence: Evidence) -> Outcome:
        before, after = (evidence.where(configuration=name, paths=paths).values(metric) for name, paths in compared)
        return compare_percent(growth_percent(before, after), percent)

    return f"{percent:+.3g} % ({values})", check


_CHANGES = {
    "iperf3: a second path does not make MPT-GRE faster": _change(
        "4.14 to 3.83 Gbit/s", -7.5, "goodput", ("tun4_path6", 1), ("tun4_path6", 2)
    ),
    "iperf3: a second path doubles MPTCP": _change(
        "9.22 to 18.4 Gbit/s", 99.6, "goodput", ("mptcp4", 1), ("mptcp4", 2)
    ),
    "iperf3, one path: MPTCP is faster than MPT-GRE": _change(
        "4.14 to 9.22 Gbit/s", 122.7, "goodput", ("tun4_path6", 1), ("mptcp4", 1)
    ),
    "iperf3, two paths: MPTCP is faster than MPT-GRE": _change(
        "3.83 to 18.4 Gbit/s", 380.4, "goodput", ("tun4_path6", 2), ("mptcp4", 2)
    ),
    "FTP, two paths: MPTCP is faster than MPT-GRE": _change(
        "2.94 to 5.93 Gbit/s", 101.7, "ftp_goodput", ("tun4_path4", 2), ("mptcp4", 2)
    ),
    "FTP: MPT-GRE over two paths is slower than TCP over one": _change(
        "8.78 to 2.94 Gbit/s", -66.5, "ftp_goodput", (BASELINE, 1), ("tun4_path4", 2)
    ),
    "FTP: MPTCP over two paths is slower than TCP over one": _change(
        "8.78 to 5.93 Gbit/s", -32.5, "ftp_goodput", (BASELINE, 1), ("mptcp4", 2)
    ),
    "over IPv6 and one path, MPT-GRE takes more processor time than MPTCP": _change(
        "8.7 to 23.3 % of the machine", 167.8, "cpu_total", ("mptcp6", 1), ("tun6_path6", 1)
    ),
    "over IPv6 and two paths, MPT-GRE takes more processor time than MPTCP": _change(
        "13.7 to 23.4 % of the machine", 70.8, "cpu_total", ("mptcp6", 2), ("tun6_path6", 2)
    ),
}

_OF_NETWORK = "iperf3: a second path doubles MPTCP"
"""All other claims follow from what processors can carry: those of a tunnel in user space, and those of one server."""


def _fastest(evidence: Evidence) -> Outcome:
    """Over both numbers of paths."""
    means = evidence.where(configuration=TUNNELS).means("goodput", "configuration", needed=TUNNELS)
    ranked = sorted(means, key=means.__getitem__, reverse=True)
    measured = " > ".join(f"{name} {means[name] / 1e9:.2f}" for name in ranked)
    lead = means[ranked[0]] / statistics.fmean(means[name] for name in ranked[1:]) - 1
    holds = ranked[0] == "tun4_path6" and lead > LEAD_SHARE
    return reproduced_if(holds, f"{measured} Gbit/s", f"a lead of less than {LEAD_SHARE:.0%} does not count")


class Multipath10Gbe(MultipathScenario):
    """MPT-GRE against MPTCP over one and two paths of 10 Gb/s: throughput by iperf3 and by FTP, and what it costs.

    tun4_path6 is TCP over IPv4 in a tunnel over IPv6 paths; mptcp4 and mptcp6 are the kernel's MPTCP; baseline4 is TCP
    over one path, whatever their number. h1 sends by iperf3, and then downloads a file from h2 by FTP (vsftpd, wget),
    both from and to memory. Both hosts and both links share this machine; if it has no processor time left, the cell is
    `unusable`. `--link 2Gbit,0.05ms,1000p` compares the same on paths that fewer processors can carry.

      python -m scenarios.multipath_10gbe
      python -m scenarios.multipath_10gbe --link 2Gbit,0.05ms,1000p --size 200
      python -m scenarios.multipath_10gbe --full               a file of 10 GB, ten times each
    """

    name = "multipath_10gbe"
    summary = "MPT-GRE against MPTCP over one and two paths of 10 Gb/s: iperf3, FTP, processors (paper: mptgre-10gbe)"
    why_not_scaled = "how much of 10 Gb/s the processors of a machine carry is the question"
    axes = (Axis("configuration", (BASELINE, *TUNNELS, *MPTCPS)), Axis("paths", (1, 2)))
    options = (CONGESTION_CONTROL, link_setting(LINK, "each path"), *transfer_settings((4, 10), (1000, 10_000)))
    figures = Figures(
        **transfer_bars(
            ("fig5", "fig6", "fig7_8", "fig9"),
            "Gbit/s",
            by="paths",
            looks=looks_of(_TITLES, _TITLES),
            **_BY_CONFIGURATION,
        ),
        fig7_8_course=only("configuration", COMPARED, _DOWNLOADS),
        cpu_per_gbps=costs(panels="paths", panel_titles=_TITLES, **_BY_CONFIGURATION),
    )
    claims = (
        *(
            ClaimCheck(sentence, *change, needs_real_clock=sentence != _OF_NETWORK)
            for sentence, change in _CHANGES.items()
        ),
        ClaimCheck(
            "MPT-GRE is fastest with IPv4 in the tunnel and IPv6 outside",
            "tun4_path6 first",
            _fastest,
            needs_real_clock=True,
        ),
    )

    @override
    def links(self, cell: Cell, plan: Plan) -> list[LinkSpec]:
        return [short_link(plan.settings["link"])] * int(cell.parameters["paths"])


if __name__ == "__main__":
    runner.main(Multipath10Gbe())
