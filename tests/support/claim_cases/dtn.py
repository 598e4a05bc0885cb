"""Runs for the claims of "Net-Preflight Check" and on parallel streams."""

from results.records import ClaimVerdict
from scenarios.dtn.cross_traffic import CROSS, ISOLATED
from scenarios.dtn.transfer import KERNEL_DEFAULT
from scenarios.dtn_bottleneck import DtnBottleneck
from scenarios.dtn_buffers import DtnBuffers
from scenarios.dtn_congestion import SMALL_KIB, DtnCongestion
from scenarios.dtn_mss import DtnMss
from scenarios.dtn_multihomed import HASHED, ONE, STREAMS, SUBFLOWS, DtnMultihomed
from scenarios.dtn_streams import DtnStreams
from scenarios.dtn_tools import DtnTools
from scenarios.dtn_window import DtnWindow
from tests.support.claim_cases.case import (
    SAME,
    Case,
    Change,
    Point,
    Values,
    World,
    case,
    constant,
    grid,
    is_at,
    times,
    where,
)
from topologies.links.spec import PAYLOAD_SHARE

YES, UNDECIDED = ClaimVerdict.REPRODUCED, ClaimVerdict.NOT_DECIDED


def _by(parameter: str, power: float) -> Change:
    """A goodput that follows a parameter alone."""
    return lambda point, values: {"goodput": 1e8 * _number(point[parameter]) ** power}


def _number(value: object) -> float:
    """The number of a parameter; the kernel's default buffers are like some that are between the others."""
    return 1500.0 if value == KERNEL_DEFAULT else float(value)


def _saturating(buffer_kib: float) -> float:
    return buffer_kib if buffer_kib <= 2048 else 2000 + buffer_kib / 32


BUFFERS = World(
    grid(DtnBuffers.axes),
    lambda point: {"goodput": 1e6 * _saturating(_number(point["buffer_kib"])) / point["size_mb"] ** 0.5},
    {
        "an increase of the buffer increases the throughput": case(
            {}, _by("buffer_kib", -0.5), {"size_mb": 5, "buffer_kib": 1024}
        ),
        "from 2048 KiB on the buffer has little effect": case(
            {"buffer_kib": 3072, "size_mb": 5}, times("goodput", 2), {"buffer_kib": 3072, "size_mb": 5}, on_tie=YES
        ),
        "an increase of the file size decreases the throughput": case(
            {}, _by("size_mb", 0.5), {"size_mb": 20, "buffer_kib": 512}
        ),
        "a buffer set by hand is faster than the kernel's default settings (ours)": case(
            {"buffer_kib": KERNEL_DEFAULT, "size_mb": 20},
            times("goodput", 5),
            {"buffer_kib": KERNEL_DEFAULT, "size_mb": 5},
        ),
    },
)

LEADS = {"bic": 3, "htcp": 2, "cubic": 2, "reno": 1}
LARGEST = {"buffer_kib": 3072}


def _as_ranked(point: Point, step: float = 0.1) -> Values:
    """Leads and the size of the file matter, but little with the larger buffers."""
    is_small = is_at(point, buffer_kib=SMALL_KIB)
    lead = 1 + (step if is_small else 0.01) * LEADS[point["congestion_control"]]
    return {"goodput": 1e8 * lead * (point["size_mb"] ** -0.1 if is_small else 1.0)}


CONGESTION = World(
    grid(DtnCongestion.axes),
    _as_ranked,
    {
        "bic performs best in all cases, followed by htcp and cubic, then reno": case(
            # In one case of many: a mean over all would still have bic first.
            {"congestion_control": "bic", "size_mb": 5, "buffer_kib": 512},
            times("goodput", 0.5),
            {"congestion_control": "htcp", "size_mb": 20},
            tie=where({"size_mb": 40}, SAME),
        ),
        "with the larger buffers the algorithms are alike": case(
            {**LARGEST, "congestion_control": "reno"}, times("goodput", 0.5), on_tie=YES
        ),
        "with the smaller buffers a larger file is slower": case(
            {"congestion_control": "reno", "size_mb": 100}, times("goodput", 1.5), {"buffer_kib": 1024, "size_mb": 20}
        ),
    },
)


def _bottleneck(point: Point) -> Values:
    """All of the link with the largest file, less of the faster ones with smaller files."""
    unfilled = 0.1 * point["bandwidth_mbps"] / 10_000 * (1 - point["size_mb"] / 500)
    return {"goodput": 0.95e6 * point["bandwidth_mbps"] * PAYLOAD_SHARE * (1 - unfilled)}


BOTTLENECK = World(
    grid(DtnBottleneck.axes),
    _bottleneck,
    {
        "a smaller link capacity gives a smaller measured throughput": case(
            {}, _by("bandwidth_mbps", -1), {"bandwidth_mbps": 2000}
        ),
        "the larger the file, the clearer the difference between the link capacities": case(
            {"bandwidth_mbps": 10_000, "size_mb": 500},
            times("goodput", 0.3),
            {"bandwidth_mbps": 10_000},
            noise=(0.8, 0.9, 1.0, 1.1),
        ),
        "the tool measures the bottleneck (ours)": case(
            {"bandwidth_mbps": 10_000},
            times("goodput", 0.5),
            {"bandwidth_mbps": 10_000, "size_mb": 500},
            tie=times("goodput", 0.85 / 0.95),
            on_tie=UNDECIDED,
        ),
    },
)

WINDOW = World(
    grid(DtnWindow.axes),
    lambda point: {"goodput": 1e6 * (w if (w := point["window_kib"]) <= 128 else 120 - w / 64)},
    {
        "the probe's throughput is largely in agreement with iperf's": case(
            {"tool": "iperf3", "window_kib": 512, "traffic": ISOLATED},
            times("goodput", 1.2),
            tie=where({"tool": "iperf3"}, times("goodput", 1.0)),
            on_tie=YES,
        ),
        "beside other traffic the probe's throughput is largely in agreement with iperf's": case(
            {"tool": "iperf3", "window_kib": 512, "traffic": CROSS}, times("goodput", 1.2), on_tie=YES
        ),
        "the window decides: smaller ones than the paper's best are slower": case(
            {}, _by("window_kib", -0.5), {"window_kib": 128, "tool": "preflight", "traffic": ISOLATED}
        ),
        "larger windows than the paper's best are slower": case(
            {"traffic": ISOLATED}, _by("window_kib", 0.5), {"window_kib": 128, "tool": "preflight", "traffic": ISOLATED}
        ),
        "beside other traffic, larger windows than the paper's best are slower": case(
            {"traffic": CROSS}, _by("window_kib", 0.5), {"window_kib": 128, "tool": "preflight", "traffic": CROSS}
        ),
    },
)

TOOLS = World(
    grid(DtnTools.axes),
    lambda point: {"goodput": 1e6 * point["buffer_kib"] * point["size_mb"] ** 0.5},
    {
        "the probe's measurements are largely in agreement with iperf's": case(
            # At one point of many: a mean over all would still agree.
            {"tool": "preflight", "size_mb": 20, "buffer_kib": 4096},
            times("goodput", 0.8),
            {"tool": "iperf3", "size_mb": 20, "buffer_kib": 512},
            on_tie=YES,
        ),
        "with both tools an increase of the buffer increases the throughput": case(
            {"tool": "iperf3"}, _by("buffer_kib", -0.5), {"tool": "iperf3", "size_mb": 100, "buffer_kib": 1024}
        ),
    },
)


def _streams(point: Point) -> Values:
    rate = 1e8 * min(2, point["streams"]) * (1 + point["size_mb"] / 1e4) * (1 + point["buffer_kib"] / 1e5)
    return {"goodput": rate}


DTN_STREAMS = World(
    grid(DtnStreams.axes),
    _streams,
    {
        "a change is noticed between one stream and two": case(
            {"streams": 2, "size_mb": 200}, times("goodput", 0.5), {"streams": 1, "size_mb": 500}
        ),
        "between four, six and eight streams there is no significant change": case(
            {"streams": 6}, times("goodput", 1.3), on_tie=YES
        ),
        "larger files give a larger aggregated throughput": case(
            {}, _by("size_mb", -0.5), {"streams": 4, "size_mb": 500}
        ),
        "an increase of the buffer from 2048 to 4096 KiB increases the aggregated throughput": case(
            {"buffer_kib": 4096}, times("goodput", 0.5), {"buffer_kib": 4096, "streams": 4}
        ),
    },
)


def _mathis(point: Point) -> Values:
    limit = 480e6 if point["loss"] == "0" else 1e7 * point["streams"] * point["mtu"] / 1500
    return {"goodput": min(480e6, limit)}


MSS = World(
    grid(DtnMss.axes),
    _mathis,
    {
        "parallel streams are equivalent to a large segment on one connection (with loss)": case(
            {"mtu": 1500}, times("goodput", 0.5), {"mtu": 9000, "streams": 1, "loss": "0.01%"}, on_tie=YES
        ),
        "without congestion parallel streams are equivalent to a large segment on one connection": case(
            {"mtu": 1500, "streams": 6}, times("goodput", 0.5), {"mtu": 1500, "streams": 6, "loss": "0"}, on_tie=YES
        ),
        "without loss one stream of small segments is as fast, too (ours)": case(
            {"mtu": 1500, "streams": 1}, times("goodput", 0.5), {"mtu": 1500, "streams": 1, "loss": "0"}, on_tie=YES
        ),
    },
)

_SECONDS = {ONE: 8, STREAMS: 2, SUBFLOWS: 2, HASHED: 4}


def _multihomed(point: Point) -> Values:
    """Streams wait for the worst path where paths differ; subflows do not."""
    waits = point["transport"] == STREAMS and point["paths"] in ("unequal", "lossy")
    seconds = _SECONDS[point["transport"]] * point["size_mb"] / 250 * (3 if waits else 1)
    return {"download": seconds, "share_of_sum": 180 / _SECONDS[point["transport"]]}


def _waits(paths: str) -> Case:
    """Of the claim that subflows win on some paths."""
    subflows = {"transport": SUBFLOWS, "paths": paths}
    return case(
        {**subflows, "size_mb": 50},
        times("download", 9),
        {**subflows, "size_mb": 100},
        tie=where({"paths": paths}, constant(download=5)),
    )


def _gets_the_sum(transport: str) -> Case:
    largest = {"transport": transport, "paths": "four", "size_mb": 500}
    return case(
        largest,
        times("share_of_sum", 0.5),
        tie=where(largest, times("share_of_sum", 85 / 90)),
        on_tie=UNDECIDED,
    )


MULTIHOMED = World(
    grid(DtnMultihomed.axes),
    _multihomed,
    {
        "MPTCP downloads a file over several paths in less time than one TCP stream does": case(
            {"transport": SUBFLOWS, "paths": "lossy"},
            times("download", 9),
            {"transport": SUBFLOWS, "paths": "two", "size_mb": 50},
        ),
        "TCP streams get the sum of equal paths": _gets_the_sum(STREAMS),
        "MPTCP subflows get the sum of equal paths": _gets_the_sum(SUBFLOWS),
        "on equal paths subflows and streams are alike": case(
            {"transport": STREAMS, "paths": "two"},
            times("download", 2),
            {"transport": STREAMS, "paths": "four", "size_mb": 50},
            on_tie=YES,
        ),
        "on unequal paths subflows win: the stream on the slowest path ends last": _waits("unequal"),
        "on paths of which one loses packets subflows win": _waits("lossy"),
        "streams whose paths are hashed meet on the same paths, and take longer than streams that are placed": case(
            {"transport": HASHED, "paths": "four"},
            times("download", 0.1),
            {"transport": HASHED, "paths": "four", "size_mb": 100},
        ),
    },
)

WORLDS = {
    "dtn_multihomed": MULTIHOMED,
    "dtn_buffers": BUFFERS,
    "dtn_congestion": CONGESTION,
    "dtn_bottleneck": BOTTLENECK,
    "dtn_window": WINDOW,
    "dtn_tools": TOOLS,
    "dtn_streams": DTN_STREAMS,
    "dtn_mss": MSS,
}
