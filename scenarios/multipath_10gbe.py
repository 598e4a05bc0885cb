"""MPT-GRE against MPTCP over one and two paths of 10 Gb/s.

Szilágyi et al., "Throughput Performance Analysis of the Multipath Communication Technologies for the Cloud" (2019).
"""

from functools import partial

from experiments.parameters import CONGESTION_CONTROL, Axis, link_setting
from flightpath.clock import Clock
from results.figures.charts import looks_of
from results.figures.drawing import Figures
from scenarios.multipath.figures import costs, only, over_time, transfer_bars
from scenarios.multipath.multipath import (
    BASELINE,
    MPTCPS,
    TUNNELS,
    Configuration,
    MultipathScenario,
    service_time_setting,
    transfer_settings,
)
from scenarios.multipath.tengbe_claims import PLAIN, TENGBE_CLAIMS, TITLES

LINK = "10Gbit,0ms,1000p"
"""Link of each path: a cable of three metres, whose delay is 15 ns, and the queue of a Linux interface."""

COMPARED = (BASELINE, "tun4_path4", "mptcp4")
"""Configurations whose downloads the paper draws over time."""

_BY_CONFIGURATION = {"groups": "configuration", "x_label": "configuration"}
_DOWNLOADS = partial(
    over_time,
    series="ftp_carried",
    panels="paths",
    panel_titles=TITLES,
    title="Downloads by FTP: what the paths carry",
    y_label="Gbit/s",
    scale=1e-9,
)


class Multipath10Gbe(MultipathScenario):
    """MPT-GRE against MPTCP over one and two paths of 10 Gb/s: throughput by iperf3 and by FTP, and what it costs.

    tun4_path6 is TCP over IPv4 in a tunnel over IPv6 paths; tun4_path6_plain is the same packet by packet, as the
    paper's tunnel worked; mptcp4 and mptcp6 are the kernel's MPTCP; baseline4 is TCP over one path, whatever their
    number. h1 sends by iperf3, and then downloads a file from h2 by FTP (vsftpd, wget), both from and to memory. Both
    hosts and both links share this machine; if it has no processor time left, the cell is
    `unusable`. `--link 2Gbit,0ms,1000p` compares the same on paths that fewer processors can carry. In virtual time,
    where computing takes no time, `--service-time` is a model of the processors that run the tunnel.

      flightpath run multipath_10gbe
      flightpath run multipath_10gbe --link 2Gbit,0ms,1000p --size 200
      flightpath run multipath_10gbe --clock virtual --service-time 2.7 --configurations baseline4,tun4_path6_plain
      flightpath run multipath_10gbe --full               a file of 10 GB, ten times each
    """

    name = "multipath_10gbe"
    summary = "MPT-GRE against MPTCP over one and two paths of 10 Gb/s: iperf3, FTP, processors (paper: mptgre-10gbe)"
    clock = Clock.REAL
    why_not_scaled = "how much of 10 Gb/s the processors of a machine carry is the question"
    axes = (
        Axis(
            "configuration",
            (BASELINE, *TUNNELS, PLAIN, *MPTCPS),
            option="--configurations",
            help="protocols and tunnels",
            check=Configuration.named,
        ),
        Axis("paths", (1, 2)),
    )
    options = (
        CONGESTION_CONTROL,
        link_setting(LINK, "each path"),
        *transfer_settings((4, 10), (1000, 10_000)),
        service_time_setting(),
    )
    figures = Figures(
        **transfer_bars(
            ("fig5", "fig6", "fig7_8", "fig9"),
            "Gbit/s",
            by="paths",
            looks=looks_of(TITLES, TITLES),
            **_BY_CONFIGURATION,
        ),
        fig7_8_course=only("configuration", COMPARED, _DOWNLOADS),
        cpu_per_gbps=costs(panels="paths", panel_titles=TITLES, **_BY_CONFIGURATION),
    )
    claims = TENGBE_CLAIMS


if __name__ == "__main__":
    from scenarios.command import runner

    runner.main(Multipath10Gbe())
