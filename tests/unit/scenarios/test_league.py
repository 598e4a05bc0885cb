"""The transport league: paths and workloads, its record and its page, and why a transport is as fast as it is."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from unittest.mock import Mock

import pytest

from flightpath.errors import MeasurementFailed, UsageError
from probes.counters.sampling import CounterLog
from results.records import CellResult, Certificate, ClaimVerdict, Measurement, Metric, Series, Verdict
from results.store.store import Store
from scenarios.league import __main__ as command
from scenarios.league import page, record
from scenarios.league.causes import RULE, cause
from scenarios.league.paths import PATHS
from scenarios.league.workloads import WORKLOADS, Rival
from scenarios.transport_league import TransportLeague, require_possible
from tests.support.made_up_runs import measured
from tests.support.plans import plan_of

COMMIT = "0123456789ab"


def cells(workload: str, metric: str, values: dict[str, tuple[float, ...]], clock: str = "virtual") -> list[CellResult]:
    """Repetitions of some transports over equal paths."""
    certificate = Certificate(Verdict.FAITHFUL, (), {"clock": clock})
    points = [
        measured({"transport": transport, "paths": "equal", "workload": workload}, repetition, **{metric: value})
        for transport, repeated in values.items()
        for repetition, value in enumerate(repeated, start=1)
    ]
    return [replace(point, certificate=certificate) for point in points]


def stored(store: Store, results: list[CellResult], commit: str = COMMIT, scenario: str = "transport_league") -> str:
    run = store.begin_run(scenario, {"form": "full"}, {"commit": commit}, ["flightpath", "run", scenario, "--full"])
    for order, result in enumerate(results):
        store.record(run, result, order)
    return run


def row_of(text: str, title: str) -> list[str]:
    """The entries of the row for equal paths in a section of the page."""
    (line,) = (line for line in text.split(title)[1].split("\n\n")[1].splitlines() if line.startswith("| `equal`"))
    return [entry.strip() for entry in line.strip("|").split("|")][1:]


def test_what_processors_cost_is_judged_and_shown_by_cells_of_the_real_clock_alone(store):
    rates = {"tcp": (5e7, 5e7), "quic noq": (4.8e7, 4.8e7)}
    virtual = stored(store, cells("bulk", "goodput", rates))
    (without,) = (each for each in record.record_of(store, [virtual]).claims if "processor time" in each.claim)
    assert "needs the real clock" in without.why
    costs = {"tcp": (5.0, 5.2), "quic noq": (20.0, 21.0)}
    found = record.record_of(store, [virtual, stored(store, cells("bulk", "cpu_receiver", costs, "real"))])
    (judged,) = (each for each in found.claims if "processor time" in each.claim)
    assert judged.verdict is ClaimVerdict.REPRODUCED
    text = page.page_of(found)
    assert COMMIT in text and text.count("flightpath run transport_league --full") == 2
    assert "Why:" not in text, "these cells have no counters"
    assert row_of(text, "## A download") == ["**50**", "48"], "the other clock's cells are no repetitions of these"
    assert row_of(text, "Processor time of the receiver, in per cent of a core:")[0].startswith("5.1 (")


def test_the_committed_page_is_that_of_the_record():
    assert page.PAGE.read_text(encoding="utf-8") == page.page_of(record.read()), "make league writes both"


def test_a_record_is_read_as_it_was_written_and_refused_if_it_is_none(store, tmp_path):
    found = record.record_of(store, [stored(store, cells("bulk", "goodput", {"tcp": (5e7, 5e7)}))])
    record.write(found, tmp_path / "league.json")
    assert record.read(tmp_path / "league.json") == found
    (tmp_path / "other.json").write_text("{}")
    with pytest.raises(UsageError, match="is no record of the league"):
        record.read(tmp_path / "other.json")


@pytest.mark.parametrize(
    ("commit", "scenario", "message"),
    [("0123, modified 1f3a", "transport_league", "modified checkout"), (COMMIT, "dtn_mss", "is a run of dtn_mss")],
)
def test_a_run_that_does_not_belong_there_is_refused(store, capsys, commit, scenario, message):
    run = stored(store, cells("bulk", "goodput", {"tcp": (5e7,)}), commit, scenario)
    assert command.main([run, "--results", str(store.folder)]) == 2
    assert message in capsys.readouterr().err


def test_the_events_of_its_paths_happen_in_each_cell():
    scenario = TransportLeague()
    plan = plan_of(scenario, "--full")
    for cell in plan.cells():
        assert len(scenario.link_events(cell, plan)) == len(PATHS[cell.parameters["paths"]].events)


def test_the_flow_beside_a_download_is_measured_until_that_ends_and_not_until_its_program_does(tmp_path):
    rival = Rival(Mock(folder=tmp_path), alone_s=1.0)
    rival._sampler.log = CounterLog([5.0, 6.0, 7.0, 8.0], [{"received": count} for count in (0, 1e6, 2e6, 10e6)])
    assert rival.measurement(1.5).metrics["rival_goodput"].value == pytest.approx(8e6), "later it is alone"
    rival._sampler.log = CounterLog([5.0, 6.0], [{"received": count} for count in (1e6, 0)])
    with pytest.raises(MeasurementFailed, match="has ended"):
        rival.measurement(1.0)


def test_no_path_carries_more_than_it_can_also_with_the_flow_beside_the_download():
    """1 Gbit/s seemed to carry 108 % of its payload while the other flow was measured for too long."""

    def require(share_path1: float, **rates_bps: float) -> None:
        rates = {name: Metric(rate, "bit/s") for name, rate in rates_bps.items()}
        require_possible(rates, {"share_path1": share_path1, "share_path2": 1 - share_path1}, PATHS["near"])

    require(1.0, goodput=730e6, rival_goodput=220e6)
    for share_path1, goodput, rival_goodput in ((1.0, 730e6, 304e6), (0.0, 1e9, 220e6)):
        with pytest.raises(MeasurementFailed, match="of what it can"):
            require(share_path1, goodput=goodput, rival_goodput=rival_goodput)


def test_what_comes_after_its_deadline_is_not_on_time():
    times = Measurement(series={"latency": Series("ms", (0.0, 0.1, 0.2, 0.3), (20.0, 100.0, 100.1, 500.0))})
    assert WORKLOADS["stream"].judged(times).metrics["on_time"].value == 50.0
    assert WORKLOADS["bulk"].judged(times) is times


LATE_AT_FIRST = ([0.1, 0.2, 5.0], [300.0, 200.0, 30.0])
LATE_LATER = ([0.1, 5.0, 7.0], [30.0, 300.0, 200.0])
LATE_AT_THE_CHANGE = ([0.1, 1.95, 4.5], [30.0, 300.0, 200.0])
GAPS = {"latency_service_mean": 42.0, "counters": {"MPTcpExt.OFOQueue": 3000}}


def cell(
    place: str,
    *,
    drops: Mapping[str, int] = {},
    counters: Mapping[str, int] = {},
    facts: Mapping[str, object] = {},
    late: tuple[Sequence[float], Sequence[float]] = ((), ()),
    **metrics: float,
) -> CellResult:
    """A cell of `TRANSPORT/PATHS/WORKLOAD`; both hosts have the same counters of TCP."""
    there = measured(
        dict(zip(("transport", "paths", "workload"), place.split("/"), strict=True)),
        **{**metrics, "share_path1": 100 - metrics.get("share_path2", 0.0)},
    )
    found = {
        "load_s": 5.0,
        "links_during_load": {
            "path1": {"b_to_a": {"packets": 9000, "drops": {"queue": 0, "loss": 0, **drops}}},
            "path2": {"b_to_a": {"packets": 1000 - sum(drops.values()), "drops": {"queue": 0, "loss": 0}}},
        },
        "tcp_counters": dict.fromkeys(("h1", "h2"), counters),
    }
    series = {"latency": Series("ms", *map(tuple, late))}
    measurement = replace(there.measurement, series=series, metadata=facts)
    return replace(there, measurement=measurement, certificate=Certificate(Verdict.FAITHFUL, found=found))


@pytest.mark.parametrize(
    ("place", "found", "expected"),
    [
        # A download: 47.6 Mbit/s are the payload of 50, and 95 % of that are 45.3.
        ("tcp/equal/bulk", {"goodput": 46e6, "drops": {"queue": 9}}, "full (96.2 %)"),
        ("tcp/equal/bulk", {"goodput": 44e6, "drops": {"queue": 9}}, "queue (0.09 %)"),
        ("tcp/equal/bulk", {"goodput": 44e6, "facts": {"limit": "client-limited"}}, "processor"),
        ("tcp/equal/shared", {"goodput": 20e6, "rival_goodput": 26e6}, "full (96.2 %)"),
        ("mptcp/equal/bulk", {"goodput": 46e6, "share_path2": 50.0}, "window"),
        ("tcp/loss/bulk", {"goodput": 20e6, "drops": {"loss": 10, "queue": 90}}, "loss (0.1 %)"),
        ("tcp/equal/bulk", {"goodput": 20e6, "counters": {"Tcp.RetransSegs": 9}}, "reordering (9 again, 0 dropped)"),
        ("quic noq/equal/bulk", {"drops": {"queue": 9}, "facts": {"lost_packets": 9}}, "queue (0.09 %)"),
        ("tcp/cut/bulk", {"goodput": 20e6, "drops": {"down": 9}}, "change"),
        # Requests: an empty path takes 20 + 16.7 ms of `equal`, 20 + 2.8 and 60 + 10.5 of `unequal`.
        ("mptcp/equal/requests", {"latency_service_mean": 37.0, "share_path2": 40.0}, "full (empty path: 36.7 ms)"),
        ("tcp/unequal/requests", {"latency_service_mean": 25.0, "latency_service_p50": 22.8}, "start (+2.2 ms)"),
        ("quic noq/unequal/requests", {"latency_service_mean": 39.0, "latency_service_p50": 39.0}, "window (+16.2 ms)"),
        ("mptcp/unequal/requests", {**GAPS, "share_path2": 9}, "scheduler (9 % on the slower path); 30 % behind gaps"),
        ("mpquic noq/swapped/requests", {**GAPS, "share_path2": 91}, "scheduler (9 % on the slower path)"),
        # A stream.
        ("tcp/equal/stream", {"late": ([0.1], [99.0])}, "in time"),
        ("tcp/equal/stream", {"late": LATE_AT_FIRST}, "start"),
        ("tcp/equal/stream", {"late": LATE_LATER}, "window"),
        ("tcp/wireless/stream", {"drops": {"queue": 9}, "late": LATE_AT_THE_CHANGE}, "change"),
        ("tcp/wireless/stream", {"drops": {"queue": 9}, "late": LATE_LATER}, "queue (0.09 %)"),
        ("tcp/long/stream", {"late": LATE_LATER}, "round trip (100 ms)"),
        (
            "tcp/loss/stream",
            {"drops": {"loss": 10}, "counters": {"TcpExt.TCPOFOQueue": 500}, "late": LATE_AT_FIRST},
            "loss (0.1 %); 5 % behind gaps",
        ),
    ],
)
def test_the_first_cause_that_the_counters_show(place, found, expected):
    shown = cause([cell(place, **found)])
    assert shown == expected
    assert f"`{re.split(r'[(;]', shown)[0].strip()}`" in RULE, "the page explains it"
