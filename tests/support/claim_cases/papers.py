"""Findings of the papers and of our own experiments, cell by cell."""

import itertools
from collections.abc import Sequence

from experiments import catalogue
from scenarios.congestion.l4s_claims import COEXISTING, PUBLISHED_RATIOS
from scenarios.dtn.transfer import KERNEL_DEFAULT
from scenarios.dtn_congestion import SMALL_KIB
from scenarios.dtn_multihomed import HASHED, ONE, STREAMS, SUBFLOWS
from scenarios.multipath.multipath import BASELINE, MPTCPS, PROCESSOR_TIMES
from scenarios.multipath.quadpath_cases import PAPERS
from scenarios.multipath.quadpath_claims import PLAIN
from scenarios.multipath.tengbe_claims import PLAIN as PLAIN_10GBE
from scenarios.multipath.tengbe_claims import PLAIN_IPV6
from scenarios.steering.claims import PATH_BPS
from scenarios.vegas_thresholds import FAST
from scenarios.vegas_thresholds import ONE as ONE_LINK
from tests.support.claim_cases.case import Point, Values, World
from tests.support.made_up_runs import PATH_CAPACITY, REQUESTS
from topologies.links.spec import PAYLOAD_SHARE

# --- L4S beside classic TCP ---


def _l4s(point: Point) -> Values:
    """With PIE, DCTCP leaves cubic a tenth of what it has with DualPI2; in a plain queue it is cubic that has more."""
    if point["queue"] != "dualpi2":
        return {"rival_goodput": 2e6, "rate_ratio": {"pie": 10.0, "droptail": 0.2, "fq_codel": 1.02}[point["queue"]]}
    return {
        "rival_goodput": 2e7,
        # At 40 Mbit/s nothing was published: one that no source is against.
        "rate_ratio": PUBLISHED_RATIOS.get((point["rate_mbps"], point["rtt_ms"]), 1.1),
        "rival_queue_delay_mean": 0.5,  # so little more that noise can hide it
        "queue_delay_mean": 0.3,
        "queue_delay_p50": 0.2,
        "queue_delay_p99": 1.2,
        "dropped": 0.0,
        "utilisation": 98.0,
    }


# --- "Net-Preflight Check", and parallel streams ---


def _buffers(point: Point) -> Values:
    buffer_kib = 1500.0 if point["buffer_kib"] == KERNEL_DEFAULT else point["buffer_kib"]
    saturating = buffer_kib if buffer_kib <= 2048 else 2000 + buffer_kib / 32
    return {"goodput": 1e6 * saturating / point["size_mb"] ** 0.5}


LEADS = {"bic": 3, "htcp": 2, "cubic": 2, "reno": 1}


def _ranked(point: Point) -> Values:
    """Leads and the size of the file matter, but little with the larger buffers."""
    is_small = point["buffer_kib"] in SMALL_KIB
    lead = 1 + (0.1 if is_small else 0.01) * LEADS[point["congestion_control"]]
    return {"goodput": 1e8 * lead * (point["size_mb"] ** -0.1 if is_small else 1.0)}


def _bottleneck(point: Point) -> Values:
    """All of the link with the largest file, less of the faster ones with smaller files."""
    unfilled = 0.1 * point["bandwidth_mbps"] / 10_000 * (1 - point["size_mb"] / 500)
    return {"goodput": 0.95e6 * point["bandwidth_mbps"] * PAYLOAD_SHARE * (1 - unfilled)}


def _window(point: Point) -> Values:
    window_kib = point["window_kib"]
    return {"goodput": 1e6 * (window_kib if window_kib <= 128 else 120 - window_kib / 64)}


def _streams(point: Point) -> Values:
    return {"goodput": 1e8 * min(2, point["streams"]) * (1 + point["size_mb"] / 1e4) * (1 + point["buffer_kib"] / 1e5)}


def _mathis(point: Point) -> Values:
    limit = 480e6 if point["loss"] == "0" else 1e7 * point["streams"] * point["mtu"] / 1500
    return {"goodput": min(480e6, limit)}


_SECONDS = {ONE: 8, STREAMS: 2, SUBFLOWS: 2, HASHED: 4}


def _multihomed(point: Point) -> Values:
    """Streams wait for the worst path where paths differ; subflows do not."""
    waits = point["transport"] == STREAMS and point["paths"] in ("unequal", "lossy")
    seconds = _SECONDS[point["transport"]] * point["size_mb"] / 250 * (3 if waits else 1)
    return {"download": seconds, "share_of_sum": 180 / _SECONDS[point["transport"]]}


# --- several paths ---

FTP_OF_TUNNELS = {"tun4_path4": 2.94, "tun4_path6": 2.97, "tun6_path4": 2.83, "tun6_path6": 2.84}


def _10gbe(point: Point) -> Values:
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
    return {"goodput": goodput * 1e9, "ftp_goodput": ftp * 1e9, **dict.fromkeys(PROCESSOR_TIMES.values(), cpu)}


def _10gbe_modelled(point: Point) -> Values:
    """The paper's values, of which the model knows the tunnel's."""
    two, name = point["paths"] == 2, point["configuration"]
    goodput, ftp = {"mptcp4": (18.4, 5.93), BASELINE: (9.56, 8.78)}.get(name, (3.83 if two else 4.14, 2.97))
    cpu = 0.99 * 8 * (23.4 if two else 23.3)
    of_model = {} if name in ("mptcp4", BASELINE) else {"modelled_cpu_sender": cpu, "modelled_cpu_receiver": cpu}
    return {"goodput": goodput * 1e9, "ftp_goodput": ftp * 1e9, **of_model}


def _quadpath(point: Point) -> Values:
    name, algorithm = point["configuration"], point["congestion_control"]
    in_tunnel = name.startswith("tun")
    alone, vegas = name.startswith("baseline"), algorithm == "vegas" and in_tunnel
    rate = 90.0 if alone else 99.0 if vegas else 360.0
    cpu = (5.0 if in_tunnel and not vegas else 3.75) * int(point["paths"])
    ftp = rate + (5.0 if algorithm == "cubic" and not alone else 0) + (9.0 if name == "mptcp6" else 0)
    return {
        "goodput": rate * 1e6,
        "ftp_goodput": ftp * 1e6,
        "ftp_download": 8e3 / ftp,
        "udp_goodput": 340e6,
        "udp_lost": 0.05,
        "spread": 0.1 if name == "mptcp6" else 1.0,
        "cpu_per_gbps": 10.0 if algorithm == "cubic" else 12.0,
        **dict.fromkeys(PROCESSOR_TIMES.values(), cpu),
        "busy_iperf3": 2.0 if in_tunnel else 1.0,
        **({"modelled_cpu_sender": 9.0} if name == PLAIN else {}),
    }


SHARES = {
    "mptcp": {"equal": 95, "bandwidth": 95, "delay": 92, "loss": 60},
    "round robin": {"equal": 97, "bandwidth": 40, "delay": 93, "loss": 25},
    "weighted": {"bandwidth": 95},
    "adaptive": {"bandwidth": 90},
    "no reordering": {"delay": 40},
    "redundant": {"equal": 49, "loss": 48},
}


def _unequal(point: Point) -> Values:
    return {"share_of_sum": SHARES.get(point["transport"], {}).get(point["paths"], 50)}


VEGAS_SHARES = {"vegas": {FAST: 31.0, ONE_LINK: 57.0}, "vegas_x4": {FAST: 48.0}}


def _vegas(point: Point) -> Values:
    name = point["congestion_control"]
    share = VEGAS_SHARES.get(name, {}).get(point["paths"], 99.0)
    return {"share_of_sum": share, "goodput": share * 4e6, "rtt": 15.0 if name == "cubic" else 5.0}


def _league(point: Point) -> Values:
    """Two transports have the sum of two paths; QUIC is slower over fast ones, and its receiver is busier."""
    is_quic = str(point["transport"]).startswith("quic")
    return {
        "share_of_sum": 97.0 if point["transport"] in ("mptcp", "mpquic noq") else 50.0,
        "goodput": 6e7 if is_quic and point["paths"] == "near" else 1e8,
        "cpu_receiver": 60.0 if is_quic else 20.0,
    }


# --- steering and routing ---

PATHS_USED = {"none": 4.0, "single": 1.0, "ecmp": 2.7, "disjoint": 3.9}


def _steering(point: Point) -> Values:
    used = PATHS_USED.get(point["policy"], 3.9) if point["protocol"] == "mptcp" else 1.0
    used = 3.9 if point["policy"] == "least-loaded" else used
    return {"goodput": used * PATH_BPS, "silence_cut": 150.0, "silence_black_hole": 150.0, "path_bps": PATH_BPS}


def _converging(point: Point) -> Values:
    """Each protocol waits for as long as its timers say."""
    waits_s = {"ospf": 35.0, "bgp": 150.0, "bgp_fast": 8.0}
    ping_s = waits_s.get(str(point["routing"]), 0.7) if point["failure"] == "black_hole" else 0.5
    return {"silence_ping": 1e3 * ping_s, "silence_tcp": 300.0}


# --- MPTCP under load ---

LOADS = (50.0, 500.0, 571.0, 667.0, 800.0)
TCP_RATES = {50.0: 49.0, 500.0: 478.0, 571.0: 510.0, 667.0: 535.0, 800.0: 554.5}
MPTCP_RATES = {50.0: 50.0, 500.0: 536.0, 571.0: 600.0, 667.0: 700.0, 800.0: 804.0}


def _web_load(point: Point) -> Values:
    """The growths of 50 and 16 %, and the lead of 45 %; what MPTCP's rates exceed is the paper's contradiction."""
    load, is_tcp = point["load"], point["protocol"] == "tcp"
    ramp = REQUESTS / load
    late_s = 10.0 if is_tcp else 1.0
    error_rate = 19.0 * load / 800 if is_tcp else 0.0
    return {
        "requests_per_s": (TCP_RATES if is_tcp else MPTCP_RATES)[load],
        "run_time": 165 + load / 25 if is_tcp and load > LOADS[0] else ramp + 1 + late_s,
        "ramp": ramp,
        "schedule": ramp + 1,
        "error_rate": error_rate,
        "errors": error_rate * REQUESTS / 100,
        "request_size": 50e6 / 8 / PATH_CAPACITY,
        "path_capacity": PATH_CAPACITY,
        "throughput_h1_h2_mean": (TCP_RATES if is_tcp else MPTCP_RATES)[load] * 90e3,
    }


def _cells(scenario: str, **more: Sequence[object]) -> list[Point]:
    """The cells of the full form: of all axes, with other values for some of them, or further parameters."""
    values = {axis.name: axis.full or axis.quick for axis in catalogue.get(scenario).axes} | more
    return [dict(zip(values, point, strict=True)) for point in itertools.product(*values.values())]


_MODELLED = (BASELINE, PLAIN_10GBE, PLAIN_IPV6, "mptcp4")
_LEAGUE_PATHS = ("equal", "unequal", "swapped", "near")
WORLDS: dict[str, World] = {
    "l4s_coexistence": World(_cells("l4s_coexistence", flows=(COEXISTING,), rate_mbps=(10, 40), rtt_ms=(20, 80)), _l4s),
    "dtn_buffers": World(_cells("dtn_buffers"), _buffers),
    "dtn_congestion": World(_cells("dtn_congestion"), _ranked),
    "dtn_bottleneck": World(_cells("dtn_bottleneck"), _bottleneck),
    "dtn_window": World(_cells("dtn_window"), _window),
    "dtn_tools": World(_cells("dtn_tools"), lambda at: {"goodput": 1e6 * at["buffer_kib"] * at["size_mb"] ** 0.5}),
    "dtn_streams": World(_cells("dtn_streams"), _streams),
    "dtn_mss": World(_cells("dtn_mss"), _mathis),
    "dtn_multihomed": World(_cells("dtn_multihomed"), _multihomed),
    "multipath_10gbe": World(_cells("multipath_10gbe"), _10gbe),
    "multipath_10gbe modelled": World(_cells("multipath_10gbe", configuration=_MODELLED), _10gbe_modelled),
    "congestion_quadpath": World(
        _cells("congestion_quadpath", congestion_control=PAPERS, paths=range(1, 5)), _quadpath
    ),
    "multipath_unequal": World(_cells("multipath_unequal"), _unequal),
    "vegas_thresholds": World(_cells("vegas_thresholds"), _vegas),
    "transport_league": World(_cells("transport_league", paths=_LEAGUE_PATHS, workload=("bulk", "stream")), _league),
    "routing_convergence": World(_cells("routing_convergence"), _converging),
    "subflow_steering": World(_cells("subflow_steering"), _steering),
    "mptcp_load": World(
        [{"protocol": protocol, "load": load} for protocol in ("tcp", "mptcp") for load in LOADS],
        _web_load,
        exact=("schedule", "ramp", "path_capacity", "request_size"),
    ),
    "mptcp_load study": World(
        [{"protocol": "mptcp", "load": LOADS[-1], "receive_buffer": size} for size in ("auto", "64k", "4M")],
        lambda at: {"requests_per_s": 600.0 if at["receive_buffer"] == "4M" else 500.0},
    ),
}
