"""Runs for the claims about L4S beside classic TCP."""

from results.records import ClaimVerdict
from scenarios.congestion.l4s_claims import COEXISTING, PUBLISHED_RATIOS
from scenarios.l4s_coexistence import L4sCoexistence
from tests.support.claim_cases.case import Case, Point, Values, World, case, constant, grid, times

YES, UNDECIDED = ClaimVerdict.REPRODUCED, ClaimVerdict.NOT_DECIDED
DUAL = {"queue": "dualpi2"}
WILD = (1e-6, 1e-3, 1.0, 1e3, 1e6)
"""Factors of repetitions that say nothing of values that differ by a factor of ten."""
ONE_POINT = {**DUAL, "rate_mbps": 40, "rtt_ms": 20}


def _as_published(point: Point) -> Values:
    """With PIE, DCTCP leaves cubic a tenth of what it has with DualPI2; in a plain queue it is cubic that has more."""
    if point["queue"] != "dualpi2":
        return {"rival_goodput": 2e6, "rate_ratio": {"pie": 10.0, "droptail": 0.2, "fq_codel": 1.02}[point["queue"]]}
    return {
        "rival_goodput": 2e7,
        "rate_ratio": _published(point),
        "rival_queue_delay_mean": 0.5,  # so little more that noise can hide it
        "queue_delay_mean": 0.3,
        "queue_delay_p50": 0.2,
        "queue_delay_p99": 1.2,
        "dropped": 0.0,
        "utilisation": 98.0,
    }


def _published(point: Point) -> float:
    """The published ratio of rates; at 40 Mbit/s, of which nothing was published, one that no source is against."""
    return PUBLISHED_RATIOS.get((point["rate_mbps"], point["rtt_ms"]), 1.1)


def _beyond(metric: str, wrong: float, bound: float) -> Case:
    """The case of a value within a bound: another one at one point of many, and exactly the bound."""
    return case(ONE_POINT, constant(**{metric: wrong}), tie=constant(**{metric: bound}), on_tie=UNDECIDED)


L4S = World(
    grid(L4sCoexistence.axes, flows=(COEXISTING,), rate_mbps=(10, 40), rtt_ms=(20, 80)),
    _as_published,
    {
        "coupled queues give cubic more beside DCTCP than one queue does that marks for both": case(
            ONE_POINT, times("rival_goodput", 0.05), tie=constant(rival_goodput=1e7), noise=WILD
        ),
        "coupled, DCTCP and cubic run at roughly the same rate": _beyond("rate_ratio", 3.0, 2.0),
        "DCTCP's packets wait less than those of cubic beside them": case(
            ONE_POINT, constant(queue_delay_mean=20.0), tie=constant(queue_delay_mean=0.5)
        ),
        "the average queueing delay of DCTCP is below a millisecond, or two packets if one takes longer": _beyond(
            "queue_delay_mean", 1.5, 1.0
        ),
        "the median queueing delay of DCTCP is 100 to 300 us": _beyond("queue_delay_p50", 0.05, 0.3),
        "the 99th percentile of DCTCP's queueing delay is below 2 ms": _beyond("queue_delay_p99", 2.5, 2.0),
        "DCTCP loses no packet by congestion": case(
            ONE_POINT,
            constant(dropped=0.01),
            tie=constant(dropped=0.0),
            on_tie=YES,
            on_noise=YES,  # nothing is nothing, however often
            on_one=UNDECIDED,
        ),
        "the link is close to fully used": _beyond("utilisation", 80.0, 95.0),
        "with DualPI2, DCTCP has more than cubic beside it over the same round trip": case(
            ONE_POINT, constant(rate_ratio=0.8), tie=constant(rate_ratio=1.0)
        ),
        "with DualPI2, DCTCP has more than cubic beside it over the same round trip: by how much": case(
            {**DUAL, "rate_mbps": 10, "rtt_ms": 80},
            constant(rate_ratio=1.3),
            tie=lambda point, values: {"rate_ratio": 1.1 * _published(point)},
            on_tie=UNDECIDED,
        ),
        "with a plain queue, cubic has more than DCTCP beside it": case(
            {**ONE_POINT, "queue": "droptail"}, constant(rate_ratio=2.0), tie=constant(rate_ratio=1.0)
        ),
        "with FQ-CoDel, both have the same": case(
            {**ONE_POINT, "queue": "fq_codel"},
            constant(rate_ratio=1.3),
            tie=constant(rate_ratio=1.05),
            on_tie=UNDECIDED,
        ),
    },
)

WORLDS = {"l4s_coexistence": L4S}
