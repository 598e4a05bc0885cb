"""Claims of published work about L4S beside classic TCP, for each rate and round trip that was measured.

RFC 9332: De Schepper, Briscoe, White, "Dual-Queue Coupled Active Queue Management (AQM) for Low Latency, Low Loss, and
Scalable Throughput (L4S)", 2023; section 1.4 has the numbers of its experiments. DualQ 2022: De Schepper, Albisser,
Tilmans, Briscoe, "Dual Queue Coupled AQM: Deployable Very Low Queuing Delay for All", arXiv:2209.01078; so does its
abstract. Heist, Morton 2020: "L4S Tests", evidence in opposition to L4S, github.com/heistp/l4s-tests at commit
0923ac856b65, of TCP Prague at 10 and 50 Mbit/s; its fairness table has the rates.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence

from experiments.claims import ClaimCheck, Evidence
from experiments.judging import (
    ABOUT_PERCENT,
    EQUAL_PERCENT,
    LESS,
    MORE,
    Found,
    Members,
    NotMeasured,
    Point,
    Range,
    about,
    change,
    claim,
    found,
    growth,
    level,
    sample,
)
from results.records import CellResult
from results.statistics.estimates import usable
from topologies.links.spec import LinkSpec

COEXISTING = "dctcp+cubic"
ROUGHLY = 2.0
"""Largest ratio of rates that are roughly the same; the source names none."""

PUBLISHED_RATIOS: Mapping[tuple[int, int], float] = {
    (10, 10): 2.13,
    (10, 20): 1.83,
    (10, 80): 1.72,
    (50, 10): 2.67,
    (50, 20): 2.11,
    (50, 80): 1.68,
}
"""Rate of Prague over that of cubic, by Mbit/s and round trip in ms: the mean of both orders of start."""

_RATES_MBPS, _ROUND_TRIPS_MS = Range(10, 50), Range(10, 80)
"""Range of that source, in which its directions are judged."""

_ABOUT, _SAME = 0.1, 0.05
_FULL_PERCENT = 100 - ABOUT_PERCENT
_COUPLED, _ONE_QUEUE, _PLAIN, _BY_FLOW = "dualpi2", "pie", "droptail", "fq_codel"


def l4s_claims() -> tuple[ClaimCheck, ...]:
    """Returns all claims of the scenario."""
    return (
        claim(
            "coupled queues give cubic more beside DCTCP than one queue does that marks for both",
            "more than with PIE (RFC 9332)",
            _members(lambda evidence, point: change(evidence, "rival_goodput", _at(point, _ONE_QUEUE), _at(point))),
            MORE,
        ),
        claim(
            "coupled, DCTCP and cubic run at roughly the same rate",
            f"a ratio from {1 / ROUGHLY:g} to {ROUGHLY:g} (RFC 9332: roughly)",
            _levels("rate_ratio"),
            Range(1 / ROUGHLY, ROUGHLY),
            form="{:.2f}",
        ),
        claim(
            "DCTCP's packets wait less than those of cubic beside them",
            "less (RFC 9332)",
            _members(_against_rival),
            LESS,
        ),
        claim(
            "the average queueing delay of DCTCP is below a millisecond, or two packets if one takes longer",
            "below 1 ms, or 2 packets (RFC 9332, section 1.4)",
            _members(_of_bound),
            Range(most=1.0),
            form="{:.2f} of that",
        ),
        claim(
            "the median queueing delay of DCTCP is 100 to 300 us",
            "100 to 300 us (DualQ 2022)",
            _levels("queue_delay_p50", 1e3),
            Range(100, 300),
            form="{:.0f} us",
        ),
        claim(
            "the 99th percentile of DCTCP's queueing delay is below 2 ms",
            "below 2 ms (RFC 9332, section 1.4)",
            _levels("queue_delay_p99"),
            Range(most=2.0),
            form="{:.2f} ms",
        ),
        claim(
            "DCTCP loses no packet by congestion",
            "none (RFC 9332, section 1.4)",
            _levels("dropped"),
            Range(most=0.0),
            form="{:.3f} %",
        ),
        claim(
            "the link is close to fully used",
            f"at least {_FULL_PERCENT:g} % (DualQ 2022: close to full)",
            _levels("utilisation"),
            Range(least=_FULL_PERCENT),
            form="{:.1f} %",
        ),
        claim(
            "with DualPI2, DCTCP has more than cubic beside it over the same round trip",
            "more (Heist, Morton 2020, of Prague)",
            _ratios(_COUPLED),
            Range(least=1 + EQUAL_PERCENT / 100),
            form="{:.2f}",
        ),
        claim(
            "with DualPI2, DCTCP has more than cubic beside it over the same round trip: by how much",
            f"the published ratio ± {_ABOUT:.0%} (Heist, Morton 2020, of Prague: 1.68 to 2.67)",
            _of_published,
            about(1.0, _ABOUT),
            form="{:.2f} of that",
        ),
        claim(
            "with a plain queue, cubic has more than DCTCP beside it",
            "less for DCTCP (Heist, Morton 2020, of Prague)",
            _ratios(_PLAIN),
            Range(most=1 - EQUAL_PERCENT / 100),
            form="{:.2f}",
        ),
        claim(
            "with FQ-CoDel, both have the same",
            f"a ratio of 1 ± {_SAME:g} (Heist, Morton 2020, of Prague: 1.01 to 1.03, up to 20 ms)",
            _ratios(_BY_FLOW, most_ms=20),
            about(1.0, _SAME),
            form="{:.2f}",
        ),
    )


def answer(cells: Sequence[CellResult]) -> list[str]:
    """Returns how DCTCP and cubic share the link with each queue, and how long their packets wait."""
    coexisting = Evidence(usable(cells), "").where(flows=COEXISTING)
    return [_sentence(str(queue), part) for queue, part in coexisting.by("queue").items()]


def _sentence(queue: str, part: Evidence) -> str:
    metrics = ("rate_ratio", "queue_delay_p99", "rival_queue_delay_p99")
    ratio, own, others = (_range(part, metric) for metric in metrics)
    return (
        f"{queue}: DCTCP has {ratio} times the rate of cubic beside it. At the 99th percentile, its packets wait "
        f"{own} ms, and those of cubic {others} ms."
    )


def _range(evidence: Evidence, metric: str) -> str:
    values = evidence.values(metric)
    least, most = (f"{value:.2g}" for value in (min(values), max(values)))
    return least if least == most else f"{least} to {most}"


def _at(point: Point, queue: str = _COUPLED) -> Point:
    return {**point, "queue": queue, "flows": COEXISTING}


def _members(measure: Callable[[Evidence, Point], Found]) -> Members:
    """Returns what finds a value for each rate and round trip."""

    def members(evidence: Evidence) -> Mapping[str, Found]:
        return {name: measure(evidence, point) for name, point in _points(evidence)}

    return members


def _levels(metric: str, scale: float = 1) -> Members:
    return _members(lambda evidence, point: level(evidence, metric, scale=scale, **_at(point)))


def _ratios(queue: str, most_ms: float = _ROUND_TRIPS_MS.most) -> Members:
    """Returns what finds the ratio of rates with a queue at each point in the range of Heist and Morton."""

    def members(evidence: Evidence) -> Mapping[str, Found]:
        return {
            name: level(evidence, "rate_ratio", scale=1, **_at(point, queue))
            for name, point in _points(evidence)
            if _RATES_MBPS.least <= int(str(point["rate_mbps"])) <= _RATES_MBPS.most
            and _ROUND_TRIPS_MS.least <= int(str(point["rtt_ms"])) <= most_ms
        } or {"": NotMeasured("10 to 50 Mbit/s and 10 to 80 ms")}

    return members


def _of_published(evidence: Evidence) -> Mapping[str, Found]:
    """Returns the ratio of rates as a fraction of the published one, at each point that was published."""
    measured: dict[str, Found] = {}
    for name, point in _points(evidence):
        if ratio := PUBLISHED_RATIOS.get((int(str(point["rate_mbps"])), int(str(point["rtt_ms"])))):
            measured[name] = level(evidence, "rate_ratio", scale=1 / ratio, **_at(point))
    return measured or {"": NotMeasured("10 or 50 Mbit/s and 10, 20 or 80 ms")}


def _of_bound(evidence: Evidence, point: Point) -> Found:
    """Returns the mean delay as a fraction of what the source allows at a rate."""
    link = LinkSpec(bandwidth_bps=1_000_000 * int(str(point["rate_mbps"])))
    packet_ms = 1e3 * link.serialisation_s(link.frame_bytes)
    bound_ms = 2 * packet_ms if packet_ms > 1 else 1.0
    return level(evidence, "queue_delay_mean", scale=1 / bound_ms, **_at(point))


def _against_rival(evidence: Evidence, point: Point) -> Found:
    both = ("rival_queue_delay_mean", "queue_delay_mean")
    return found(lambda: growth(*(sample(evidence, metric, _at(point)) for metric in both)))


def _points(evidence: Evidence) -> Iterator[tuple[str, Point]]:
    for rate in evidence.tried("rate_mbps"):
        for round_trip in evidence.tried("rtt_ms"):
            yield f"{rate} Mbit/s, {round_trip} ms", {"rate_mbps": rate, "rtt_ms": round_trip}
