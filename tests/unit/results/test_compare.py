"""Differences between runs are shown with their intervals; what the data cannot show is not called a difference."""

import json
import random
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from results.comparison.clocks import machine_or_protocol
from results.comparison.compare import Change, compare_runs, compare_with_history
from results.comparison.differences import differences
from results.dashboard.trends import trends
from results.pages.explored import means_chart
from results.records import Certificate, Verdict
from results.store.query import RunQuery
from tests.support.made_up_runs import cell, changed, judged, like_the_paper, measured, run_record, varied
from tests.support.stored_runs import simple

LOADS = (500.0, 800.0)
PLAN = {"form": "full", "axes": {"protocol": ["tcp", "mptcp"], "load": [500, 800]}, "settings": {"threads": 4000}}
VIRTUAL = {**PLAN, "settings": {"threads": 4000, "clock": "virtual"}}


def times(factor, cells, *names):
    """The same cells with metrics so many times as large."""
    return [changed(c, **{name: c.measurement.metrics[name].value * factor for name in names}) for c in cells]


def slower_mptcp(cells, factor=0.9):
    slower = times(factor, cells, "requests_per_s")
    return [s if s.cell.parameters["protocol"] == "mptcp" else c for s, c in zip(slower, cells, strict=True)]


def kept(store, cells, *, plan=PLAN, environment=None):
    run_id = store.begin_run("mptcp_load", plan, environment or {"kernel": "6.1", "host": "lab1"}, "x")
    for order, result in enumerate(cells):
        store.record(run_id, replace(result, measurement=replace(result.measurement, series={})), order)
    store.finish_run(run_id, "done")
    return store.run(run_id), store.cells(run_id)


def by_point(compared):
    return {(c.metric, c.parameters["protocol"], c.parameters["load"]): c for c in compared.comparisons}


def test_runs_of_different_clocks_are_compared_with_a_warning(store):
    real, virtual = kept(store, like_the_paper()), kept(store, like_the_paper(), plan=VIRTUAL)
    note, *sentences = compare_runs(real, virtual).notes
    assert sentences and all("the protocol reaches" in sentence for sentence in sentences)
    assert note.startswith(f"{virtual[0].run_id} was measured in virtual time")
    assert not compare_runs(virtual, virtual).notes
    assert any(each.name == "settings.clock" for each in differences([real, virtual]))


@pytest.mark.parametrize(
    ("here", "cpu", "idle", "said"),
    [
        (0.31e9, 100.0, 50.0, "here 0.31 Gbit/s: `client` has no more processor time"),
        (4.75e9, 80.0, 50.0, "here it reaches the same, 4.75 Gbit/s, and `client` uses 80 %"),
        (0.31e9, 60.0, 4.0, "the machine's processors are full (4 % idle; `client` uses 60 %"),
        (0.31e9, 3.0, 90.0, "no processor is full (90 % of the machine is idle; the emulator of link l uses 12 %"),
    ],
)
def test_the_process_that_limits_a_protocol_on_this_machine_is_named(here, cpu, idle, said):
    def side(clock, found, **metrics):
        cell = replace(measured({"size": 1}, **metrics), certificate=Certificate(Verdict.FAITHFUL, (), found))
        return run_record(clock=clock), [cell]

    links = {"l": {"a_to_b": {"cpu_percent": 12.0}, "b_to_a": {"cpu_percent": None}}}
    virtual = side("virtual", {"clock": "virtual", "path_bps": 4.9e9}, goodput=4.8e9)
    real = side("real", {"links_during_load": links}, goodput=here, cpu_client=cpu, cpu_total=150.0, idle_cpu=idle)
    (sentence,) = machine_or_protocol(real, virtual, ["goodput", "gone"])
    assert "the path carries 4.9 Gbit/s with all headers; the protocol reaches 4.8 Gbit/s" in sentence
    assert said in sentence
    assert not machine_or_protocol(virtual, virtual, ["goodput"])


def test_a_chart_of_the_history_has_a_line_for_each_plan(store):
    other = {**PLAN, "form": "quick", "settings": {"threads": 50, "link": "<1Mbit>"}}
    runs = [kept(store, like_the_paper(1, LOADS), plan=plan)[0].run_id for plan in (PLAN, other, PLAN, PLAN, other)]
    trend = trends(store, "run_time", RunQuery("mptcp_load", last=10))[0]
    assert [(dot["run_id"], dot["plan"]) for dot in trend["dots"]] == list(zip(runs, "abaab", strict=True))
    (panel,) = json.loads(trend["chart"])["panels"]
    assert [(trace["label"], trace["x"]) for trace in panel["traces"]] == [("plan a", [0, 2, 3]), ("plan b", [1, 4])]
    assert panel["traces"][1]["links"][0].startswith(f"/runs/{runs[1]}#of:load%3D500&protocol%3D")
    assert trend["plans"] == [("a", "threads=4000; link=-"), ("b", "threads=50; link=<1Mbit>")]
    (alone,) = json.loads(trends(store, "run_time", RunQuery("mptcp_load", last=1))[0]["chart"])["panels"]
    assert [trace["x"] for trace in alone["traces"]] == [[0]]


def test_runs_on_the_same_axes_have_a_line_each_and_lead_to_their_cells(store):
    runs = [kept(store, like_the_paper(2, LOADS)) for _ in range(2)]
    chart = json.loads(means_chart(runs, ["run_time", "gone"], linked=True).json)
    (panel,) = chart["panels"]
    assert (chart["x_label"], panel["y_label"]) == ("load", "(s)")
    expected = {f"{record.run_id} {protocol}" for record, _ in runs for protocol in ("tcp", "mptcp")}
    assert {trace["label"] for trace in panel["traces"]} == expected
    for trace in panel["traces"]:
        run_id = trace["label"].split()[0]
        assert trace["x"] == list(LOADS) and trace.get("dashed", False) == (run_id == runs[1][0].run_id)
        assert all(link.startswith(f"/runs/{run_id}#of:protocol%3D") for link in trace["links"])
    assert means_chart(runs[:1], ["run_time"]).panels[0].traces[0].cells[0] == ("protocol=mptcp", "load=500")
    assert means_chart([(runs[0][0], runs[0][1][:1])], ["run_time"]) is None, "one cell varies nothing"


def test_history_is_that_of_the_same_conditions(store):
    kept(store, like_the_paper(), plan={**PLAN, "settings": {"threads": 50}})
    for before in [kept(store, like_the_paper(), plan=plan)[0] for plan in (PLAN, VIRTUAL)]:
        now = replace(before, started_at=datetime.now(UTC))
        assert [each.run_id for each in store.finished_before(now, 5)] == [before.run_id]


def test_many_comparisons_of_the_same_thing_show_no_difference():
    noise = random.Random(3)

    def run(number):
        cells = [measured({"p": p}, r, requests_per_s=noise.gauss(500, 5)) for p in range(14) for r in range(1, 5)]
        return run_record(f"r{number}"), cells

    pairs = [compare_runs(run(1), run(2), ["requests_per_s"]) for _ in range(60)]
    wrong = sum(any(c.change is not Change.SAME for c in found.comparisons) for found in pairs)
    assert wrong <= 8, "in one pair of twenty one of its 14 comparisons is expected to differ by chance"
    by_interval = sum(any(not c.effect.change.contains(0) for c in found.comparisons) for found in pairs)
    assert by_interval > 15, "without considering how many there are, about half of the pairs would"


def test_a_slower_run_is_called_slower_where_it_is(store):
    before, after = kept(store, like_the_paper(4, LOADS)), kept(store, slower_mptcp(like_the_paper(4, LOADS)))
    compared = compare_runs(before, after, ["requests_per_s", "run_time", "errors"])
    found = by_point(compared)
    assert compared.sentence == f"{after[0].run_id} is slower than {before[0].run_id}."
    for load in LOADS:
        mptcp = found["requests_per_s", "mptcp", load]
        assert mptcp.change is Change.SLOWER
        assert mptcp.effect.change.value == pytest.approx(-10)
        assert mptcp.effect.change.low < -10 < mptcp.effect.change.high
        assert found["requests_per_s", "tcp", load].change is Change.SAME
        assert found["errors", "tcp", load].change is Change.SAME
    assert any(s.startswith("requests_per_s: slower at 2 of 4 points") and "-10.0 %" in s for s in compared.sentences)
    assert "faster" in compare_runs(after, before, ["requests_per_s"]).sentence


def test_less_time_is_faster_and_planned_time_is_neither(store):
    cells = like_the_paper(4, LOADS)
    sooner = times(0.5, cells, "run_time", "schedule")
    found = by_point(compare_runs(kept(store, cells), kept(store, sooner), ["run_time", "schedule"]))
    assert {found["run_time", "tcp", load].change for load in LOADS} == {Change.FASTER}
    assert {found["schedule", "tcp", load].change for load in LOADS} == {Change.LESS}


def test_one_repetition_shows_nothing_but_equality(store):
    cells = like_the_paper(1, LOADS)
    compared = compare_runs(kept(store, cells), kept(store, slower_mptcp(cells)), ["requests_per_s"])
    found = {point: c.change for point, c in by_point(compared).items()}
    assert all(found["requests_per_s", "mptcp", load] is Change.UNKNOWN for load in LOADS)
    assert all(found["requests_per_s", "tcp", load] is Change.SAME for load in LOADS)
    assert "cannot be told" in compared.sentence and "too few repetitions" in compared.sentences[0]
    again = compare_runs(kept(store, cells), kept(store, cells))
    assert {c.change for c in again.comparisons} == {Change.SAME} and again.sentence.endswith(" are equal.")


def test_unusable_cells_do_not_count_and_are_told(store):
    cells = like_the_paper(3, LOADS)
    spoilt = [judged(c, Verdict.UNUSABLE, "x") if c.cell.parameters["protocol"] == "tcp" else c for c in cells]
    compared = compare_runs(kept(store, cells), kept(store, spoilt), ["requests_per_s"])
    assert {c.parameters["protocol"] for c in compared.comparisons} == {"mptcp"}
    assert any("6 of 12 cells are unusable and left out" in note for note in compared.notes)


def test_points_of_one_side_alone_are_told(store):
    compared = compare_runs(kept(store, like_the_paper(2, LOADS)), kept(store, like_the_paper(2, (800.0, 900.0))))
    assert [point.split()[-1] for point in compared.only_before] == ["load=500", "load=500"]
    assert [point.split()[-1] for point in compared.only_after] == ["load=900", "load=900"]
    nothing = compare_runs(kept(store, like_the_paper(2, (500.0,))), kept(store, like_the_paper(2, (900.0,))))
    assert "no usable cells in common" in nothing.sentence


def test_the_same_number_is_the_same_point_whatever_its_type(store):
    whole = [varied(c, load=500) for c in like_the_paper(2, (500.0,))]
    compared = compare_runs(kept(store, whole), kept(store, like_the_paper(2, (500.0,))), ["requests_per_s"])
    assert len(compared.comparisons) == 2 and not compared.only_after


def test_figures_that_no_computer_can_square_are_not_compared(store):
    cells = [changed(c, requests_per_s=1e-200 * (1 + c.cell.repetition)) for c in like_the_paper(2, LOADS)]
    compared = compare_runs(kept(store, cells), kept(store, cells), ["requests_per_s"])
    assert {c.change for c in compared.comparisons} <= {Change.UNKNOWN, Change.SAME}
    assert compared.sentence and compared.sentences


def test_today_is_compared_with_how_runs_differ_and_not_with_how_repetitions_do(store):
    """Runs scatter by 5 %, repetitions by 0.5 %: a run that is 4 % off is as usual, one that is 30 % off is not."""
    shifts = (0.95, 1.0, 1.05, 0.97, 1.04)
    history = [kept(store, times(shift, like_the_paper(3, LOADS), "requests_per_s")) for shift in shifts]
    usual = kept(store, slower_mptcp(like_the_paper(3, LOADS), 0.96))
    unusual = kept(store, slower_mptcp(like_the_paper(3, LOADS), 0.7))
    assert {c.change for c in compare_with_history(history, usual, ["requests_per_s"]).comparisons} == {Change.SAME}
    found = by_point(compare_with_history(history, unusual, ["requests_per_s"]))
    assert found["requests_per_s", "mptcp", 800.0].change is Change.SLOWER
    few = compare_with_history(history[:2], unusual, ["requests_per_s"])
    assert {c.change for c in few.comparisons} == {Change.UNKNOWN}


def test_what_differs_in_plan_environment_and_testbed_is_named(store):
    plain = cell("tcp", 500.0)
    found = {"kernel": "6.1.0", "emulator": "netem", "idle": 3.1}
    other = replace(plain, certificate=replace(plain.certificate, found=found))
    plan = {**PLAN, "settings": {"threads": 500}, "headlines": ["x"], "seed": 2}
    runs = [kept(store, [plain]), kept(store, [other], plan=plan, environment={"kernel": "6.12", "host": "lab1"})]
    found = {(d.kind, d.name): d.values for d in differences(runs)}
    assert found == {
        ("plan", "settings.threads"): ("4000", "500"),
        ("plan", "seed"): ("-", "2"),
        ("environment", "kernel"): ("6.1", "6.12"),
        ("testbed", "emulator"): ("relay", "netem"),
    }
    assert differences([runs[0], runs[0]]) == []


def test_the_command_says_it_in_words_and_as_json(store, told):
    kept(store, like_the_paper(4, LOADS))
    before = kept(store, like_the_paper(4, LOADS))[0].run_id
    after = kept(store, slower_mptcp(like_the_paper(4, LOADS)), environment={"kernel": "7.0"})[0].run_id
    out = told(store.folder, "compare", before, after, "--metrics", "requests_per_s,run_time").out
    assert f"{after} is slower than {before}." in out and "7.0" in out and "-10.0 % (" in out
    found = json.loads(told(store.folder, "compare", before, after, "--json").out)
    assert found["runs"] == [before, after]
    changes = {(each["parameters"]["protocol"], each["change"]) for each in found["compared"][0]["comparisons"]}
    assert ("mptcp", "slower") in changes
    assert {"kind": "environment", "name": "kernel", "values": ["6.1", "7.0"]} in found["differences"]


def test_the_command_compares_with_history(store, told):
    first, *_, last = (kept(store, like_the_paper(2, LOADS))[0].run_id for _ in range(4))
    assert "the 3 runs before it" in told(store.folder, "compare", last, "--history", "10", "--metrics", "run_time").out
    told(store.folder, "compare", last, code=2)
    said = told(store.folder, "compare", first, "--history", "3", code=2).err
    assert "with the same plan was finished before" in said


def test_the_command_prints_markdown_in_which_nothing_is_markup(store, told):
    hostile = {"host": "a|b<script>@all", "kernel": "`x`"}
    for cells in (like_the_paper(4, (800.0,)), slower_mptcp(like_the_paper(4, (800.0,)))):
        kept(store, cells, environment=hostile | {"n": str(len(store.runs()))})
    first, second = [record.run_id for record in store.runs()]
    text = told(store.folder, "compare", first, second, "--markdown").out
    (row,) = [line for line in text.splitlines() if line.startswith("| requests") and "mptcp" in line]
    assert "🔴 slower" in row and len([part for part in row.replace("\\|", "").split("|") if part]) == 7
    assert "<script>" not in text and "@all" not in text
    assert "worse: requests_per_s at " in told(store.folder, "compare", first, second, "--fail-if-worse", code=1).err
    told(store.folder, "compare", second, first, "--fail-if-worse")


def test_runs_whose_plans_name_no_headlines_are_drawn_too(store, told, tmp_path):
    first, second = (kept(store, [simple(500, n, rate=factor * n) for n in (1, 2)])[0].run_id for factor in (1, 2))
    told(store.folder, "compare", first, second, "--output", str(tmp_path / "drawn"))
    assert (tmp_path / "drawn" / "compare.svg").is_file()
