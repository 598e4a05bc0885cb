"""Runs for the claims on multi-homed data transfer nodes."""

from results.records import ClaimVerdict
from scenarios.dtn_multihomed import HASHED, ONE, STREAMS, SUBFLOWS, DtnMultihomed
from tests.support.claim_cases.case import Case, Point, Values, World, case, constant, grid, times, where

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
        on_tie=ClaimVerdict.NOT_DECIDED,
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
            on_tie=ClaimVerdict.REPRODUCED,
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
