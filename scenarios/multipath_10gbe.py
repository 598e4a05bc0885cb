"""MPT-GRE against MPTCP over one and two paths of 10 Gb/s.

Szilágyi et al., "Throughput Performance Analysis of the Multipath Communication Technologies for the Cloud" (2019).
"""

from collections.abc import Mapping, Sequence
from functools import partial

from experiments.claims import ClaimCheck, Evidence
from experiments.judging import (
    LESS,
    MORE,
    NOT_MORE,
    TWO_VALUES_PERCENT,
    Found,
    Members,
    Point,
    Range,
    about,
    change,
    claim,
    direction_and_size,
    found,
    growth,
    of_ratio,
    sample,
)
from experiments.parameters import CONGESTION_CONTROL, Axis, link_setting
from experiments.plan import Plan
from flightpath.clock import Clock
from flightpath.overrides import override
from results.figures.charts import looks_of
from results.figures.drawing import Figures
from results.records import Cell, ParameterValue
from scenarios.multipath.figures import costs, only, over_time, transfer_bars
from scenarios.multipath.multipath import (
    BASELINE,
    MPTCPS,
    PROCESSOR_TIMES,
    TUNNELS,
    MultipathScenario,
    transfer_settings,
)
from topologies.links.spec import LinkSpec
from topologies.links.texts import short_link

LINK = "10Gbit,0ms,1000p"
"""Link of each path: a cable of three metres, whose delay is 15 ns, and the queue of a Linux interface."""

PLAIN = "tun4_path6_plain"
"""Fastest tunnel, but working as the paper's did: a packet per system call, and no reordering buffer."""

COMPARED = (BASELINE, "tun4_path4", "mptcp4")
"""Configurations whose downloads the paper draws over time."""

_TITLES: Mapping[ParameterValue, str] = {1: "one path", 2: "two paths"}
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


def _change(metric: str, *compared: tuple[str, int]) -> Members:
    """Returns the change from one configuration to another, over one or two paths each.

    It is judged as a ratio, because the paper's absolute values are those of other machines.
    """
    before, after = map(_cells, compared)
    return lambda evidence: {"": change(evidence, metric, before, after)}


def _costs(*compared: tuple[str, int]) -> Members:
    """Returns the same change of the processor time, by what is counted."""
    before, after = map(_cells, compared)
    return lambda evidence: {name: change(evidence, metric, before, after) for name, metric in PROCESSOR_TIMES.items()}


def _cells(compared: tuple[str, int]) -> Point:
    configuration, paths = compared
    return {"configuration": configuration, "paths": paths}


def _over_ipv6(evidence: Evidence) -> dict[str, Found]:
    """Returns the change of the processor time from each other configuration to IPv6 everywhere."""
    pairs = [*((name, "tun6_path6") for name in TUNNELS[:-1]), MPTCPS]
    return {
        f"{after} over {before}, {_TITLES[paths]}, {counted}": found_at
        for before, after in pairs
        for paths in (1, 2)
        for counted, found_at in _costs((before, paths), (after, paths))(evidence).items()
    }


def _lead(evidence: Evidence) -> dict[str, Found]:
    """Returns the change of MPTCP's lead over the tunnel, over two paths, from iperf3 to FTP."""

    def leads(metric: str) -> list[float]:
        tunnel, mptcp = (sample(evidence, metric, _cells((name, 2))) for name in ("tun4_path4", "mptcp4"))
        return [fast / slow for slow, fast in zip(tunnel, mptcp, strict=False)]

    return {"": found(lambda: growth(leads("goodput"), leads("ftp_goodput")))}


def _stated(
    sentence: str,
    values: str,
    percent: float,
    members: Members,
    *,
    direction: Range | None = None,
    of_network: bool = False,
) -> tuple[ClaimCheck, ClaimCheck]:
    """Makes the claims of the paper about two configurations, with its values for both.

    Most follow from what processors can carry: those of a tunnel in user space, and those of one server.
    """
    within = of_ratio(percent, TWO_VALUES_PERCENT)
    return direction_and_size(
        sentence, members, percent, within, direction=direction, stated=values, needs_real_clock=not of_network
    )


def _ahead(evidence: Evidence, metric: str, numbers: Sequence[int]) -> dict[str, Found]:
    """Returns the lead of IPv4 in the tunnel and IPv6 outside over each other tunnel."""
    best, *others = sorted(TUNNELS, key=lambda name: name != "tun4_path6")
    return {
        f"over {other}, {_TITLES[paths]}": change(
            evidence, metric, {"configuration": other, "paths": paths}, {"configuration": best, "paths": paths}
        )
        for other in others
        for paths in numbers
    }


def _of_plain_tunnel(evidence: Evidence) -> dict[str, Found]:
    """Returns the change to the paper's kind of tunnel: a system call per packet can explain its 4.1 Gbit/s."""
    return {
        _TITLES[paths]: change(
            evidence, "goodput", *({"configuration": name, "paths": paths} for name in ("tun4_path6", PLAIN))
        )
        for paths in _TITLES
    }


_CLAIMS = (
    *_stated(
        "iperf3: a second path does not make MPT-GRE faster",
        "4.14 to 3.83 Gbit/s",
        -7.5,
        _change("goodput", ("tun4_path6", 1), ("tun4_path6", 2)),
        direction=NOT_MORE,
    ),
    *_stated(
        "iperf3: a second path makes MPTCP faster",
        "9.22 to 18.4 Gbit/s",
        99.6,
        _change("goodput", ("mptcp4", 1), ("mptcp4", 2)),
        of_network=True,
    ),
    *_stated(
        "iperf3, one path: MPTCP is faster than MPT-GRE",
        "4.14 to 9.22 Gbit/s",
        122.7,
        _change("goodput", ("tun4_path6", 1), ("mptcp4", 1)),
    ),
    *_stated(
        "iperf3, two paths: MPTCP is faster than MPT-GRE",
        "3.83 to 18.4 Gbit/s",
        380.4,
        _change("goodput", ("tun4_path6", 2), ("mptcp4", 2)),
    ),
    *_stated(
        "FTP, two paths: MPTCP is faster than MPT-GRE",
        "2.94 to 5.93 Gbit/s",
        101.7,
        _change("ftp_goodput", ("tun4_path4", 2), ("mptcp4", 2)),
    ),
    *_stated(
        "FTP: MPT-GRE over two paths is slower than TCP over one",
        "8.78 to 2.94 Gbit/s",
        -66.5,
        _change("ftp_goodput", (BASELINE, 1), ("tun4_path4", 2)),
    ),
    *_stated(
        "FTP: MPTCP over two paths is slower than TCP over one",
        "8.78 to 5.93 Gbit/s",
        -32.5,
        _change("ftp_goodput", (BASELINE, 1), ("mptcp4", 2)),
    ),
    *_stated(
        "FTP, two paths: MPTCP is faster over IPv6 than over IPv4",
        "5.93 to 6.13 Gbit/s",
        3.4,
        _change("ftp_goodput", ("mptcp4", 2), ("mptcp6", 2)),
    ),
    *_stated(
        "over IPv6 and one path, MPT-GRE takes more processor time than MPTCP",
        "8.7 to 23.3 % of the machine",
        167.8,
        _costs(("mptcp6", 1), ("tun6_path6", 1)),
    ),
    *_stated(
        "over IPv6 and two paths, MPT-GRE takes more processor time than MPTCP",
        "13.7 to 23.4 % of the machine",
        70.8,
        _costs(("mptcp6", 2), ("tun6_path6", 2)),
    ),
    *_stated(
        "over IPv6, a second path costs MPTCP more processor time",
        "8.7 to 13.7 % of the machine",
        57.5,
        _costs(("mptcp6", 1), ("mptcp6", 2)),
    ),
    claim(
        "iperf3: a tunnel that works as the paper's did is slower than one with offloads (ours)",
        "slower, over one path and two",
        _of_plain_tunnel,
        LESS,
        needs_real_clock=True,
    ),
    claim(
        "over IPv6, a second path costs MPT-GRE no more processor time",
        f"within {TWO_VALUES_PERCENT:g} % (23.3 and 23.4 % of the machine)",
        _costs(("tun6_path6", 1), ("tun6_path6", 2)),
        about(0.4, TWO_VALUES_PERCENT),
        needs_real_clock=True,
    ),
    claim(
        "processor time is highest over IPv6",
        "more than over IPv4 inside, outside or both, over one path and two",
        _over_ipv6,
        MORE,
        needs_real_clock=True,
    ),
    claim(
        "two paths: MPTCP leads MPT-GRE by less with FTP than with iperf3",
        "a smaller ratio",
        _lead,
        LESS,
        needs_real_clock=True,
    ),
    claim(
        "iperf3: MPT-GRE is fastest with IPv4 in the tunnel and IPv6 outside",
        "tun4_path6 first, over one path and two",
        partial(_ahead, metric="goodput", numbers=(1, 2)),
        MORE,
        needs_real_clock=True,
    ),
    claim(
        "FTP, two paths: MPT-GRE is fastest with IPv4 in the tunnel and IPv6 outside",
        "tun4_path6 first (2.97 to at most 2.94 Gbit/s)",
        partial(_ahead, metric="ftp_goodput", numbers=(2,)),
        MORE,
        needs_real_clock=True,
    ),
)


class Multipath10Gbe(MultipathScenario):
    """MPT-GRE against MPTCP over one and two paths of 10 Gb/s: throughput by iperf3 and by FTP, and what it costs.

    tun4_path6 is TCP over IPv4 in a tunnel over IPv6 paths; tun4_path6_plain is the same packet by packet, as the
    paper's tunnel worked; mptcp4 and mptcp6 are the kernel's MPTCP; baseline4 is TCP over one path, whatever their
    number. h1 sends by iperf3, and then downloads a file from h2 by FTP (vsftpd, wget), both from and to memory. Both
    hosts and both links share this machine; if it has no processor time left, the cell is
    `unusable`. `--link 2Gbit,0ms,1000p` compares the same on paths that fewer processors can carry.

      flightpath run multipath_10gbe
      flightpath run multipath_10gbe --link 2Gbit,0ms,1000p --size 200
      flightpath run multipath_10gbe --full               a file of 10 GB, ten times each
    """

    name = "multipath_10gbe"
    summary = "MPT-GRE against MPTCP over one and two paths of 10 Gb/s: iperf3, FTP, processors (paper: mptgre-10gbe)"
    clock = Clock.REAL
    why_not_scaled = "how much of 10 Gb/s the processors of a machine carry is the question"
    axes = (Axis("configuration", (BASELINE, *TUNNELS, PLAIN, *MPTCPS)), Axis("paths", (1, 2)))
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
    claims = _CLAIMS

    @override
    def links(self, cell: Cell, plan: Plan) -> list[LinkSpec]:
        return [short_link(plan.settings["link"])] * int(cell.parameters["paths"])


if __name__ == "__main__":
    from scenarios.command import runner

    runner.main(Multipath10Gbe())
