"""Runs for the claims on several paths: the papers' two, and our own experiments."""

from results.records import ClaimVerdict
from scenarios.congestion_quadpath import CongestionQuadpath
from scenarios.league.claims import MULTIPATH_QUICS, SUM_PERCENT
from scenarios.multipath.multipath import BASELINE, MPTCPS, PROCESSOR_TIMES, TUNNELS
from scenarios.multipath.quadpath_cases import PAPERS
from scenarios.multipath.quadpath_claims import PLAIN
from scenarios.multipath.tengbe_claims import PLAIN as PLAIN_10GBE
from scenarios.multipath.tengbe_claims import PLAIN_IPV6
from scenarios.multipath_10gbe import Multipath10Gbe
from scenarios.multipath_unequal import MultipathUnequal
from scenarios.transport_league import TransportLeague
from scenarios.vegas_thresholds import FAST, ONE, SLOW, VegasThresholds
from tests.support.claim_cases.case import Case, Point, Values, World, case, constant, grid, is_at, times

YES, NO, UNDECIDED = ClaimVerdict.REPRODUCED, ClaimVerdict.NOT_REPRODUCED, ClaimVerdict.NOT_DECIDED
Pair = tuple[str, int]
FTP_OF_TUNNELS = {"tun4_path4": 2.94, "tun4_path6": 2.97, "tun6_path4": 2.83, "tun6_path6": 2.84}


def _as_the_10gbe_paper(point: Point) -> Values:
    """Figures 5 to 9 of the paper."""
    two, name = point["paths"] == 2, point["configuration"]
    if name in MPTCPS:
        goodput, ftp, cpu = (18.4, 5.93, 13.7) if two else (9.22, 6.0, 8.7)
        ftp += 0.2 if name == "mptcp6" and two else 0
    elif name == BASELINE:
        goodput, ftp, cpu = 9.4, 8.78, 5.0
    elif name == PLAIN_10GBE:
        goodput, ftp, cpu = 2.0, 2.0, 25.0
    else:
        goodput, ftp, cpu = (3.83, FTP_OF_TUNNELS[name], 23.4) if two else (4.14, 2.9, 23.3)
        goodput -= 0.0 if name == "tun4_path6" else 0.3
    cpu *= 0.9 if "4" in name else 1.0
    return {"goodput": goodput * 1e9, "ftp_goodput": ftp * 1e9, **_processors(cpu)}


def _processors(percent: float) -> dict[str, float]:
    """What the papers state of a machine is taken for that of each host, and of both and the links."""
    return dict.fromkeys(PROCESSOR_TIMES.values(), percent)


def _case(metric: str, factor: float, refuting: Pair, missing: Pair | None = None, on_tie: ClaimVerdict = NO) -> Case:
    """A metric that is so many times as large refutes the claim, in a configuration over some paths."""
    point, gap = ({"configuration": name, "paths": paths} for name, paths in (refuting, missing or refuting))
    return case(point, times(metric, factor), gap, on_tie=on_tie)


TENGBE = World(
    grid(Multipath10Gbe.axes),
    _as_the_10gbe_paper,
    {
        "iperf3: a second path does not make MPT-GRE faster": _case("goodput", 2, ("tun4_path6", 2), on_tie=YES),
        "iperf3: a second path makes MPTCP faster": _case("goodput", 0.4, ("mptcp4", 2), ("mptcp4", 1)),
        "iperf3, one path: MPTCP is faster than MPT-GRE": _case("goodput", 0.1, ("mptcp4", 1), ("tun4_path6", 1)),
        "iperf3, two paths: MPTCP is faster than MPT-GRE": _case("goodput", 0.1, ("mptcp4", 2)),
        "FTP, two paths: MPTCP is faster than MPT-GRE": _case("ftp_goodput", 0.1, ("mptcp4", 2), ("tun4_path4", 2)),
        "FTP: MPT-GRE over two paths is slower than TCP over one": _case(
            "ftp_goodput", 4, ("tun4_path4", 2), (BASELINE, 1)
        ),
        "FTP: MPTCP over two paths is slower than TCP over one": _case("ftp_goodput", 4, ("mptcp4", 2)),
        "FTP, two paths: MPTCP is faster over IPv6 than over IPv4": _case("ftp_goodput", 0.9, ("mptcp6", 2)),
        "over IPv6 and one path, MPT-GRE takes more processor time than MPTCP": _case(
            "cpu_total", 0.1, ("tun6_path6", 1)
        ),
        "over IPv6 and two paths, MPT-GRE takes more processor time than MPTCP": _case(
            "cpu_total", 0.1, ("tun6_path6", 2), ("mptcp6", 2)
        ),
        "over IPv6, a second path costs MPTCP more processor time": _case(
            "cpu_total", 0.1, ("mptcp6", 2), ("mptcp6", 1)
        ),
        "over IPv6, a second path costs MPT-GRE no more processor time": _case(
            "cpu_total", 1.5, ("tun6_path6", 2), on_tie=YES
        ),
        "processor time is highest over IPv6": _case("cpu_receiver", 2, ("tun4_path4", 2), ("mptcp4", 1)),
        "two paths: MPTCP leads MPT-GRE by less with FTP than with iperf3": _case("goodput", 5, ("tun4_path4", 2)),
        "iperf3: MPT-GRE is fastest with IPv4 in the tunnel and IPv6 outside": _case(
            "goodput", 2, ("tun6_path6", 2), ("tun6_path4", 1)
        ),
        "FTP, two paths: MPT-GRE is fastest with IPv4 in the tunnel and IPv6 outside": _case(
            "ftp_goodput", 2, ("tun4_path4", 2), ("tun6_path4", 2)
        ),
        "iperf3: a tunnel that works as the paper's did is slower than one with offloads (ours)": _case(
            "goodput", 2, (PLAIN_10GBE, 2), (PLAIN_10GBE, 1)
        ),
    },
)


def _as_modelled_10gbe(point: Point) -> Values:
    """The paper's values, of which the model knows the tunnel's."""
    two, name = point["paths"] == 2, point["configuration"]
    goodput, ftp = {"mptcp4": (18.4, 5.93), BASELINE: (9.56, 8.78)}.get(name, (3.83 if two else 4.14, 2.97))
    cpu = 0.99 * 8 * (23.4 if two else 23.3)
    of_model = {} if name in ("mptcp4", BASELINE) else {"modelled_cpu_sender": cpu, "modelled_cpu_receiver": cpu}
    return {"goodput": goodput * 1e9, "ftp_goodput": ftp * 1e9, **of_model}


_MODEL = "model of a processor (ours)"
_SERVERS = "the tunnel takes no more than a server in all"


def _of_servers(paths: int) -> Case:
    point, metric = {"configuration": PLAIN_IPV6, "paths": paths}, "modelled_cpu_receiver"
    bound = 8 * (23.4 if paths == 2 else 23.3)
    return case(
        point,
        times(metric, 1.1),
        tie=constant(modelled_cpu_sender=bound, modelled_cpu_receiver=bound),
        on_tie=UNDECIDED,
        on_tie_of_size=YES,
    )


TENGBE_MODEL = World(
    grid(Multipath10Gbe.axes, configuration=(BASELINE, PLAIN_10GBE, PLAIN_IPV6, "mptcp4")),
    _as_modelled_10gbe,
    {
        f"{_MODEL}: over one path MPT-GRE is as fast as the model was fitted to": _case(
            "goodput", 0.9, (PLAIN_10GBE, 1), (BASELINE, 1)
        ),
        f"{_MODEL}: iperf3: a second path does not make MPT-GRE faster": _case(
            "goodput", 2, (PLAIN_10GBE, 2), on_tie=YES
        ),
        f"{_MODEL}: iperf3, two paths: MPTCP is faster than MPT-GRE": _case("goodput", 0.1, ("mptcp4", 2)),
        f"{_MODEL}: FTP: MPT-GRE over two paths is slower than TCP over one": _case(
            "ftp_goodput", 4, (PLAIN_10GBE, 2), (BASELINE, 1)
        ),
        f"{_MODEL}: over IPv6 and one path, {_SERVERS}": _of_servers(1),
        f"{_MODEL}: over IPv6 and two paths, {_SERVERS}": _of_servers(2),
        f"{_MODEL}: over IPv6, a second path costs MPT-GRE no more processor time": _case(
            "modelled_cpu_sender", 1.5, (PLAIN_IPV6, 2), on_tie=YES
        ),
    },
)


def _as_the_quadpath_paper(point: Point) -> Values:
    name, algorithm = point["configuration"], point["congestion_control"]
    in_tunnel = name.startswith("tun")
    alone, vegas = name.startswith("baseline"), algorithm == "vegas" and in_tunnel
    rate = 90.0 if alone else 99.0 if vegas else 360.0
    cpu = (5.0 if in_tunnel and not vegas else 3.75) * int(point["paths"])
    of_model = {"modelled_cpu_sender": 9.0} if name == PLAIN else {}
    ftp = rate + (5.0 if algorithm == "cubic" and not alone else 0) + (9.0 if name == "mptcp6" else 0)
    return {
        "goodput": rate * 1e6,
        "ftp_goodput": ftp * 1e6,
        "ftp_download": 8e3 / ftp,
        "udp_goodput": 340e6,
        "udp_lost": 0.05,
        "noise": 0.1 if name == "mptcp6" else 1.0,
        "cpu_per_gbps": 10.0 if algorithm == "cubic" else 12.0,
        **_processors(cpu),
        "busy_iperf3": 2.0 if in_tunnel else 1.0,
        **of_model,
    }


def _of(configuration: str | tuple[str, ...], algorithm: str) -> Point:
    return {"configuration": configuration, "congestion_control": algorithm}


OF_VEGAS, OF_CUBIC = _of("tun4_path4", "vegas"), _of("tun4_path4", "cubic")
IPV6_TUNNEL, IPV6_MPTCP = {"configuration": "tun6_path6"}, {"configuration": "mptcp6"}

QUADPATH = World(
    grid(CongestionQuadpath.axes, congestion_control=PAPERS, paths=(1, 2, 3, 4)),
    _as_the_quadpath_paper,
    {
        "iperf3, MPT-GRE: every algorithm but Vegas reaches about 360 Mbit/s": case(
            # One of 24, which vanishes in a mean.
            _of("tun6_path4", "veno"),
            times("goodput", 0.8),
            tie=times("goodput", 1.05),
            on_tie=UNDECIDED,
        ),
        "iperf3, MPTCP: every algorithm reaches about 360 Mbit/s": case(
            _of("mptcp6", "reno"),
            times("goodput", 0.8),
            _of("mptcp6", "vegas"),
            tie=times("goodput", 1.05),
            on_tie=UNDECIDED,
        ),
        "iperf3, MPT-GRE: Vegas is slower than every other algorithm": case(
            _of(TUNNELS, "vegas"), constant(goodput=400e6), _of("tun4_path4", "reno")
        ),
        "FTP, MPT-GRE: Vegas is slower than every other algorithm": case(
            _of(TUNNELS, "vegas"), constant(ftp_goodput=400e6), _of("tun4_path6", "reno")
        ),
        "iperf3: Vegas in the tunnel stays at about one path": case(
            _of("tun6_path6", "vegas"), constant(goodput=290e6), tie=constant(goodput=110e6), on_tie=UNDECIDED
        ),
        "the same in a tunnel that works as the paper's did (ours)": case(
            {"configuration": PLAIN}, constant(goodput=290e6), tie=constant(goodput=110e6), on_tie=UNDECIDED
        ),
        f"{_MODEL}: iperf3, MPT-GRE: Vegas is slower than cubic": case(
            _of(PLAIN, "vegas"), constant(goodput=400e6), _of(PLAIN, "cubic")
        ),
        f"{_MODEL}: iperf3: Vegas in the tunnel stays at about one path": case(
            _of(PLAIN, "vegas"), constant(goodput=290e6), tie=constant(goodput=110e6), on_tie=UNDECIDED
        ),
        f"{_MODEL}: FTP with Vegas: MPT-GRE is faster than one path": case(
            _of(PLAIN, "vegas"), constant(ftp_goodput=50e6), {"configuration": BASELINE}
        ),
        "FTP with Vegas: MPT-GRE is faster than one path": case(
            OF_VEGAS, constant(ftp_goodput=50e6), {"configuration": BASELINE}
        ),
        "FTP with cubic: a download takes less time than over one path": case(OF_CUBIC, constant(ftp_download=400.0)),
        "FTP with cubic: the throughput is higher than over one path": case(
            OF_CUBIC, constant(ftp_goodput=50e6), {"configuration": BASELINE}
        ),
        "FTP: cubic gives the highest throughput": case(
            _of("mptcp4", "reno"), times("ftp_goodput", 2), _of("mptcp4", "veno")
        ),
        "FTP: MPTCP is more stable over IPv6 than over IPv4": case(
            IPV6_MPTCP,
            constant(noise=3.0),
            _of("mptcp6", "veno"),
            tie=constant(noise=1.0),
            on_noise=YES,  # it is about noise
            on_one=UNDECIDED,
        ),
        "FTP gives nearly the throughput of iperf3": case(
            _of("mptcp6", "reno"), times("ftp_goodput", 0.5), _of("tun6_path4", "reno"), on_tie=YES
        ),
        "cubic takes the least processor time": case(
            _of("tun6_path6", "reno"), times("cpu_per_gbps", 0.5), _of("mptcp6", "cubic")
        ),
        "FTP: MPTCP is slightly faster over IPv6 than over IPv4": case(
            IPV6_MPTCP, times("ftp_goodput", 0.9), _of("mptcp6", "veno")
        ),
        "FTP: over IPv6 MPTCP reaches more than 360 Mbit/s": case(
            IPV6_MPTCP,
            times("ftp_goodput", 0.9),
            _of("mptcp6", "veno"),
            tie=constant(ftp_goodput=360e6),
            on_tie=UNDECIDED,
        ),
        "MPTCP takes less processor time than MPT-GRE": case(
            _of("tun6_path6", "reno"), times("cpu_total", 0.5), IPV6_TUNNEL
        ),
        "with Vegas MPTCP and MPT-GRE take the same processor time": case(
            IPV6_TUNNEL, times("cpu_total", 2), IPV6_MPTCP, on_tie=YES
        ),
        "with Vegas the processor time of MPT-GRE oscillates, over IPv6": case(
            IPV6_TUNNEL, constant(busy_iperf3=0.1), IPV6_MPTCP, tie=constant(busy_iperf3=5.0)
        ),
        "UDP: MPT-GRE uses several paths (ours)": case(
            IPV6_TUNNEL, constant(udp_goodput=90e6), tie=constant(udp_goodput=300e6), on_tie=UNDECIDED
        ),
        "UDP: MPT-GRE loses none of 90 % of what the paths carry (ours)": case(
            IPV6_TUNNEL, constant(udp_lost=5.0), tie=constant(udp_lost=0.1), on_tie=UNDECIDED
        ),
        "processor time increases with the number of paths": case(
            {**IPV6_MPTCP, "paths": 4}, times("cpu_total", 0.1), {**IPV6_MPTCP, "paths": 1}
        ),
        "processor time increases with the number of paths: almost linearly": case(
            {**IPV6_MPTCP, "paths": 3}, times("cpu_total", 2), on_tie=YES
        ),
        "repetitions deviate by one per cent at most": case(
            {},
            lambda point, values: {},
            _of("mptcp6", "veno"),
            tie=lambda point, values: {},
            on_tie=YES,
            noise=(0.99, 1.01),
            noise_of_opposite=(0.9, 1.0, 1.1),
        ),
    },
    of_series=("busy_iperf3",),
)

SHARES = {
    "mptcp": {"equal": 95, "bandwidth": 95, "delay": 92, "loss": 60},
    "round robin": {"equal": 97, "bandwidth": 40, "delay": 93, "loss": 25},
    "weighted": {"bandwidth": 95},
    "adaptive": {"bandwidth": 90},
    "no reordering": {"delay": 40},
    "redundant": {"equal": 49, "loss": 48},
}


def _share(point: Point, value: float, tie: float) -> Case:
    """A share that refutes the claim for some cells, and one at the claim's bound."""
    return case(point, constant(share_of_sum=value), tie=constant(share_of_sum=tie), on_tie=UNDECIDED)


def _unequal(transport: str, paths: str) -> Point:
    return {"transport": transport, "paths": paths}


def _vegas_over(paths: str, algorithm: str = "vegas") -> Point:
    return {"congestion_control": algorithm, "paths": paths}


UNEQUAL = World(
    grid(MultipathUnequal.axes),
    lambda point: {"share_of_sum": SHARES.get(point["transport"], {}).get(point["paths"], 50)},
    {
        "MPTCP gets the sum of paths that are equal or differ in bandwidth or delay": _share(
            _unequal("mptcp", "delay"), 30, 85
        ),
        "round robin gets the sum of equal paths, and of 5 ms against 50 ms": _share(
            _unequal("round robin", "equal"), 30, 85
        ),
        "known weights get the sum of unequal bandwidths": _share(_unequal("weighted", "bandwidth"), 30, 85),
        "adaptive weights find the bandwidths by themselves": _share(_unequal("adaptive", "bandwidth"), 30, 85),
        "equal weights get twice the narrower path": _share(_unequal("round robin", "bandwidth"), 90, 44),
        "with unequal delays and no reordering buffer, two paths are no better than one": _share(
            _unequal("no reordering", "delay"), 90, 55
        ),
        "redundancy costs the second path": _share(_unequal("redundant", "equal"), 90, 55),
        "a path that loses packets slows TCP in the tunnel more than MPTCP, whose other path goes on": case(
            {"transport": "round robin"}, constant(share_of_sum=90), {"transport": "mptcp", "paths": "loss"}
        ),
        "redundancy hides the loss of one path": _share(_unequal("redundant", "loss"), 20, 42.5),
    },
)

VEGAS_SHARES = {"vegas": {FAST: 31.0, ONE: 57.0}, "vegas_x4": {FAST: 48.0}}


def _vegas(point: Point) -> Values:
    share = VEGAS_SHARES.get(point["congestion_control"], {}).get(point["paths"], 99.0)
    return {
        "share_of_sum": share,
        "goodput": share * 4e6,
        "rtt": 15.0 if is_at(point, congestion_control="cubic") else 5.0,
    }


VEGAS = World(
    grid(VegasThresholds.axes),
    _vegas,
    {
        "Vegas in a tunnel over four paths of 100 Mbit/s stays behind": _share(_vegas_over(FAST), 99, 75),
        "one link of the same sum, without a tunnel, is not full either": _share(_vegas_over(ONE), 99, 75),
        "the same tunnel with all times ten times as long is full": _share(_vegas_over(SLOW), 50, 95),
        "the tunnel is also full with thresholds 16 times as wide": _share(_vegas_over(FAST, "vegas_x16"), 50, 95),
        "the wider the thresholds, the more Vegas gets": case(
            {"congestion_control": "vegas_x16"}, constant(goodput=1e6), _vegas_over(FAST, "vegas_x4")
        ),
        "with wide thresholds the queue stays shorter than cubic's": case(
            {"congestion_control": "vegas_x16"}, constant(rtt=200.0), {"congestion_control": "cubic"}
        ),
    },
)


def _league(point: Point) -> Values:
    """Two transports have the sum of two paths; QUIC is slower over fast ones, and its receiver is busier."""
    is_quic = str(point["transport"]).startswith("quic")
    return {
        "share_of_sum": 97.0 if point["transport"] in ("mptcp", "mpquic noq") else 50.0,
        "goodput": 6e7 if is_quic and point["paths"] == "near" else 1e8,
        "cpu_receiver": 60.0 if is_quic else 20.0,
    }


def _bulk(transport: object, paths: str) -> Point:
    return {"transport": transport, "paths": paths, "workload": "bulk"}


LEAGUE = World(
    grid(TransportLeague.axes, paths=("equal", "unequal", "swapped", "near"), workload=("bulk", "stream")),
    _league,
    {
        "on two equal paths MPTCP and the best multipath QUIC get the sum": case(
            _bulk("mpquic noq", "equal"),
            constant(share_of_sum=40.0),
            _bulk(MULTIPATH_QUICS, "equal"),
            tie=constant(share_of_sum=SUM_PERCENT),
            on_tie=UNDECIDED,
        ),
        "the order of two unequal paths does not matter to MPTCP and multipath QUIC": case(
            _bulk("mptcp", "swapped"), times("goodput", 0.8), tie=constant(goodput=1e8), on_tie=YES
        ),
        "over 1 Gbit/s and 2 ms a download by QUIC is slower than by TCP": case(
            _bulk("quic noq", "near"), constant(goodput=2e8)
        ),
        "at the same rate QUIC's receiver takes more processor time than TCP's": case(
            _bulk("quic noq", "equal"), constant(cpu_receiver=5.0)
        ),
    },
)

WORLDS = {
    "transport_league": LEAGUE,
    "multipath_10gbe": TENGBE,
    "multipath_10gbe modelled": TENGBE_MODEL,
    "congestion_quadpath": QUADPATH,
    "multipath_unequal": UNEQUAL,
    "vegas_thresholds": VEGAS,
}
