"""The transport league: paths and workloads, its record and its page."""

import dataclasses
from unittest.mock import Mock

import pytest

from flightpath.errors import MeasurementFailed, UsageError
from probes.counters.sampling import CounterLog
from results.records import CellResult, Certificate, ClaimVerdict, Measurement, Metric, Series, Verdict
from results.store.store import Store
from scenarios.league import __main__ as command
from scenarios.league import page, record
from scenarios.league.causes import RULE
from scenarios.league.paths import PATHS
from scenarios.league.workloads import WORKLOADS, Rival
from scenarios.transport_league import TRANSPORTS, TransportLeague, require_possible
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
    return [dataclasses.replace(point, certificate=certificate) for point in points]


def stored(store: Store, results: list[CellResult], commit: str = COMMIT, scenario: str = "transport_league") -> str:
    run = store.begin_run(scenario, {"form": "full"}, {"commit": commit}, ["flightpath", "run", scenario, "--full"])
    for order, result in enumerate(results):
        store.record(run, result, order)
    return run


@pytest.fixture
def store(tmp_path) -> Store:
    return Store.open(tmp_path / "store")


def row_of(text: str, title: str) -> list[str]:
    """The entries of the row for equal paths in a section of the page."""
    (line,) = (line for line in text.split(title)[1].split("\n\n")[1].splitlines() if line.startswith("| `equal`"))
    return [entry.strip() for entry in line.strip("|").split("|")][1:]


def test_the_best_is_bold_and_whatever_cannot_be_told_from_it(store):
    fast = {"tcp": (50e6, 50e6, 50e6), "mptcp": (95e6, 95.1e6, 95.2e6), "mpquic noq": (80e6, 95e6, 110e6)}
    waits = {"tcp": (40.0, 40.1, 40.2), "mptcp": (30.0, 30.1, 30.2)}
    runs = [
        stored(store, cells("bulk", "goodput", fast)),
        stored(store, cells("requests", "latency_service_mean", waits)),
    ]
    found = record.record_of(store, runs)
    text = page.page_of(found)
    tcp, mptcp, mpquic = row_of(text, "## A download")
    assert tcp == "50" and mptcp.startswith("**95.1 (") and mpquic.startswith("**95 ("), "it varies a lot"
    tcp, mptcp = row_of(text, "## 100 requests of 100 kB")
    assert not tcp.startswith("**") and mptcp.startswith("**30.1"), "less is better"
    assert COMMIT in text and text.count("flightpath run transport_league --full") == 2


def test_the_page_says_why_and_by_which_rule(store):
    found = record.record_of(store, [stored(store, cells("bulk", "goodput", {"tcp": (5e7,), "mptcp": (9e7,)}))])
    assert "Why:" not in page.page_of(found), "these cells have no counters"
    points = [dataclasses.replace(point, why=f"{point.parameters['transport']} is why") for point in found.points]
    text = page.page_of(dataclasses.replace(found, points=points))
    assert row_of(text, "Why:") == ["tcp is why", "mptcp is why"] and RULE in text


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
    [
        (f"{COMMIT}, modified 1f3a9c2b", "transport_league", "modified checkout"),
        (COMMIT, "dtn_mss", "is a run of dtn_mss"),
    ],
)
def test_a_run_that_does_not_belong_there_is_refused(store, capsys, commit, scenario, message):
    run = stored(store, cells("bulk", "goodput", {"tcp": (5e7,)}), commit, scenario)
    assert command.main([run, "--results", str(store.folder)]) == 2
    assert message in capsys.readouterr().err


def test_every_cell_has_paths_a_workload_and_events_that_fit():
    scenario = TransportLeague()
    plan = plan_of(scenario, "--full")
    assert len(plan.cells()) == len(TRANSPORTS) * len(PATHS) * len(WORKLOADS) * plan.repeat
    for cell in plan.cells():
        assert [link.bandwidth_bps for link in PATHS[cell.parameters["paths"]].links if link.bandwidth_bps]
        assert len(scenario.link_events(cell, plan)) == len(PATHS[cell.parameters["paths"]].events)


def test_the_flow_beside_a_download_is_measured_until_that_ends_and_not_until_its_program_does(tmp_path):
    rival = Rival(Mock(folder=tmp_path), alone_s=1.0)
    rival._sampler.log = CounterLog([5.0, 6.0, 7.0, 8.0], [{"received": count} for count in (0, 1e6, 2e6, 10e6)])
    assert rival.measurement(2.0).metrics["rival_goodput"].value == pytest.approx(8e6), "then it is alone"
    assert rival.measurement(1.5).metrics["rival_goodput"].value == pytest.approx(8e6)
    rival._sampler.log = CounterLog([5.0, 6.0], [{"received": count} for count in (1e6, 0)])
    with pytest.raises(MeasurementFailed, match="has ended"):
        rival.measurement(1.0)


def test_no_path_carries_more_than_it_can_also_with_the_flow_beside_the_download():
    """1 Gbit/s seemed to carry 108 % of its payload while the other flow was measured for too long."""
    rates = {"goodput": Metric(730e6, "bit/s"), "rival_goodput": Metric(220e6, "bit/s")}
    first = {"share_path1": 1.0, "share_path2": 0.0}
    require_possible(rates, first, PATHS["near"])
    for wrong, shares in (
        ({"rival_goodput": Metric(304e6, "bit/s")}, first),
        ({"goodput": Metric(1e9, "bit/s")}, {"share_path1": 0.0, "share_path2": 1.0}),
    ):
        with pytest.raises(MeasurementFailed, match="of what it can: a rate is wrong"):
            require_possible({**rates, **wrong}, shares, PATHS["near"])


def test_what_comes_after_its_deadline_is_not_on_time():
    times = Measurement(series={"latency": Series("ms", (0.0, 0.1, 0.2, 0.3), (20.0, 100.0, 100.1, 500.0))})
    assert WORKLOADS["stream"].judged(times).metrics["on_time"].value == 50.0
    assert WORKLOADS["bulk"].judged(times) is times
