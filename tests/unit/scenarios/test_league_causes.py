"""Why a transport of the league is as fast as it is: the rule, on counters of cells."""

import re
from collections.abc import Mapping, Sequence

import pytest

from results.records import Cell, CellResult, Certificate, Measurement, Metric, Series, Verdict
from scenarios.league.causes import RULE, cause

TCP, MPTCP, QUIC, MPQUIC = "tcp", "mptcp", "quic noq", "mpquic noq"
LATE_AT_FIRST = ([0.1, 0.2, 5.0], [300.0, 200.0, 30.0])
LATE_LATER = ([0.1, 5.0, 7.0], [30.0, 300.0, 200.0])
LATE_AT_THE_CHANGE = ([0.1, 1.95, 4.5], [30.0, 300.0, 200.0])


def cells(
    place: str,
    *,
    drops: Mapping[str, int] | None = None,
    counters: Mapping[str, int] | None = None,
    facts: Mapping[str, object] | None = None,
    late: tuple[Sequence[float], Sequence[float]] = ((), ()),
    **metrics: float,
) -> list[CellResult]:
    """A cell of `TRANSPORT/PATHS/WORKLOAD`; both hosts have the same counters of TCP."""
    drops = drops or {}
    transport, paths, workload = place.split("/")
    found = {
        "load_s": 5.0,
        "links_during_load": {
            "path1": {"b_to_a": {"packets": 9000, "drops": {"queue": 0, "loss": 0, **drops}}},
            "path2": {"b_to_a": {"packets": 1000 - sum(drops.values()), "drops": {"queue": 0, "loss": 0}}},
        },
        "tcp_counters": dict.fromkeys(("h1", "h2"), counters or {}),
    }
    shares = {"share_path1": 100 - metrics.get("share_path2", 0.0)}
    return [
        CellResult(
            Cell({"transport": transport, "paths": paths, "workload": workload}, 1),
            Measurement(
                {name: Metric(value, "1") for name, value in {**metrics, **shares}.items()},
                {"latency": Series("ms", *map(tuple, late))} if late[0] else {},
                facts or {},
            ),
            Certificate(Verdict.FAITHFUL, found=found),
        )
    ]


@pytest.mark.parametrize(
    ("place", "found", "expected"),
    [
        # A download: 47.6 Mbit/s are the payload of 50, and 95 % of that are 45.3.
        (f"{TCP}/equal/bulk", {"goodput": 46e6, "drops": {"queue": 9}}, "full (96.2 %)"),
        (f"{TCP}/equal/bulk", {"goodput": 44e6, "drops": {"queue": 9}}, "queue (0.09 %)"),
        (f"{TCP}/equal/bulk", {"goodput": 44e6, "facts": {"limit": "client-limited"}}, "processor"),
        (f"{TCP}/equal/shared", {"goodput": 20e6, "rival_goodput": 26e6}, "full (96.2 %)"),
        (f"{MPTCP}/equal/bulk", {"goodput": 46e6, "share_path2": 50.0}, "window"),
        (f"{TCP}/loss/bulk", {"goodput": 20e6, "drops": {"loss": 10, "queue": 90}}, "loss (0.1 %)"),
        (f"{TCP}/equal/bulk", {"goodput": 20e6, "counters": {"Tcp.RetransSegs": 9}}, "reordering (9 again, 0 dro"),
        (
            f"{QUIC}/equal/bulk",
            {"goodput": 20e6, "drops": {"queue": 9}, "facts": {"lost_packets": 9}},
            "queue (0.09 %)",
        ),
        (f"{TCP}/cut/bulk", {"goodput": 20e6, "drops": {"down": 9}}, "change"),
        # Requests: an empty path takes 20 + 16.7 ms of `equal`, 20 + 2.8 and 60 + 10.5 of `unequal`.
        (f"{MPTCP}/equal/requests", {"latency_service_mean": 37.0, "share_path2": 40.0}, "full (emp"),
        (f"{TCP}/unequal/requests", {"latency_service_mean": 25.0, "latency_service_p50": 22.8}, "start (+2.2 ms)"),
        (f"{QUIC}/unequal/requests", {"latency_service_mean": 39.0, "latency_service_p50": 39.0}, "window (+16.2 ms)"),
        (
            f"{MPTCP}/unequal/requests",
            {"latency_service_mean": 42.0, "share_path2": 10.0, "counters": {"MPTcpExt.OFOQueue": 3000}},
            "scheduler (10 % on the slower path); 30 % behind gaps",
        ),
        (
            f"{MPQUIC}/swapped/requests",
            {"latency_service_mean": 42.0, "share_path2": 90.0, "counters": {"MPTcpExt.OFOQueue": 3000}},
            "scheduler (10 % on the slower path)",
        ),
        # A stream.
        (f"{TCP}/equal/stream", {"late": ([0.1], [99.0])}, "in time"),
        (f"{TCP}/equal/stream", {"late": LATE_AT_FIRST}, "start"),
        (f"{TCP}/equal/stream", {"late": LATE_LATER}, "window"),
        (f"{TCP}/wireless/stream", {"drops": {"queue": 9}, "late": LATE_AT_THE_CHANGE}, "change"),
        (f"{TCP}/wireless/stream", {"drops": {"queue": 9}, "late": LATE_LATER}, "queue (0.09 %)"),
        (f"{TCP}/long/stream", {"late": LATE_LATER}, "round trip (100 ms)"),
        (
            f"{TCP}/loss/stream",
            {"drops": {"loss": 10}, "counters": {"TcpExt.TCPOFOQueue": 500}, "late": LATE_AT_FIRST},
            "loss (0.1 %); 5 % behind gaps",
        ),
    ],
)
def test_the_first_cause_that_the_counters_show(place, found, expected):
    shown = cause(cells(place, **found))
    assert shown.startswith(expected)
    assert f"`{re.split(r'[(;]', shown)[0].strip()}`" in RULE, "the page explains it"


def test_without_counters_there_is_no_cause():
    (cell,) = cells(f"{TCP}/equal/bulk", goodput=46e6)
    cell.certificate.found.clear()
    assert cause([cell]) == ""
