"""Text and pages of `flightpath results`, from the store alone."""

import base64
import hashlib
import html
import io
import json
import re
import types
from dataclasses import replace
from unittest.mock import Mock

import pytest
from matplotlib.figure import Figure
from rich.console import Console

from experiments.claims import check_claims
from flightpath.project import PROJECT
from results.commands.scenarios import question_of
from results.pages.html_report import render_html
from results.pages.json_output import run_json
from results.pages.terminal import print_certificates, print_claims, print_runs, print_summary
from results.recording.blocks import FOLDER, append_description, file_name
from results.records import Certificate, Claim, ClaimVerdict, Measurement, Metric, Verdict
from results.summary.claims import claims_table
from results.summary.means import means_table, metric_names
from scenarios.mptcp_load import MptcpLoad
from scenarios.web_load.claims import mptcp_load_claims
from tests.fuzz.views import look_at_page
from tests.support.made_up_runs import judged, like_the_paper
from tests.support.stored_runs import begin, hostile_run

LOADS = (500.0, 800.0)
YES, NO, NOT_DECIDED, NOT_TESTED = ClaimVerdict
NARROW = {"width": 80, "force_terminal": True, "color_system": None}


@pytest.fixture
def run_id(store) -> str:
    words = ["python", "-m", "x", "--only", "a b"]
    run_id = store.begin_run("mptcp_load", {"form": "full"}, {"kernel": "6.1 <b>"}, words)
    cells = like_the_paper(2, LOADS)
    cells[3] = judged(cells[3], Verdict.DEGRADED, "busy <script>")
    for order, result in enumerate(cells):
        store.record(run_id, result, order)
    store.record_claims(run_id, check_claims(mptcp_load_claims(), cells, "full"))
    store.finish_run(run_id, "done")
    return run_id


def printed(show, *shown, **terminal) -> str:
    out = io.StringIO()
    show(Console(file=out, **terminal), *shown)
    return out.getvalue()


def test_json_is_the_agreed_object(store, run_id, told):
    shown = json.loads(told(store.folder, "show", run_id[:20], "--json").out)
    assert shown == run_json(store, run_id)
    assert list(shown) == ["run", "scenario", "verdict", "cells", "claims"]
    assert (shown["run"], shown["scenario"], shown["verdict"]) == (run_id, "mptcp_load", "degraded")
    assert len(shown["cells"]) == 8 and len(shown["claims"]) == 19
    cell, claim = shown["cells"][0], shown["claims"][0]
    assert list(cell) == ["parameters", "repetition", "verdict", "metrics"]
    assert list(cell["metrics"]["run_time"]) == ["value", "unit", "low", "high"]
    assert list(claim) == ["claim", "paper", "measured", "verdict"]


def test_json_says_why_a_claim_was_not_judged_and_a_run_without_cells_has_no_verdict(store):
    empty = store.begin_run("s", {}, {}, "x")
    unjudged = [Claim("c", "p", "", verdict, "why") for verdict in (NOT_TESTED, NOT_DECIDED)]
    store.record_claims(empty, [*unjudged, Claim("c", "p", "m", YES, "why")])
    shown = run_json(store, empty)
    assert shown["verdict"] is None
    verdicts = [claim["verdict"] for claim in shown["claims"]]
    assert verdicts == ["not tested here (why)", "not decided (why)", "reproduced"]


def test_show_prints_means_intervals_verdicts_and_claims(store, run_id, told):
    out = told(store.folder, "show", "latest").out
    for words in (run_id, "requests_per_s", "±", "mptcp", "degraded", "busy <script>", "reproduced", "--only 'a b'"):
        assert words in out
    metric = "latency_intended_p99"
    assert metric in told(store.folder, "show", "latest", "--metrics", metric).out
    assert metric in told(store.folder, "show", "latest", "--metrics", "nonsense", code=2).err


def test_plot_uses_the_scenarios_own_figures(store, told, monkeypatch, tmp_path):
    figure = Mock(return_value=Figure())
    made_up = types.SimpleNamespace(summary="", figures={"made_up": figure})
    catalogue = types.SimpleNamespace(of_plan=lambda name, settings: made_up if name == "made_up" else None)
    monkeypatch.setattr("results.commands.scenarios.contributions", lambda group: {"test": catalogue})
    run_id = begin(store, like_the_paper(1, LOADS)[0], scenario="made_up")
    printed = told(store.folder, "plot", run_id, "--output", str(tmp_path / "here")).out
    figure.assert_called_once_with(store.cells(run_id))
    assert printed.split() == [str(tmp_path / "here" / f"made_up.{kind}") for kind in ("png", "svg")]
    assert {str(path) for path in (tmp_path / "here").iterdir()} == {*printed.split()}


@pytest.mark.parametrize("words", [["plot", "latest"], ["report", "latest"]], ids=["plot", "report"])
def test_a_figure_that_fails_is_named_and_the_others_are_drawn(store, run_id, told, monkeypatch, words):
    def fail(cells):
        raise ValueError("\x1b[2J")

    made_up = types.SimpleNamespace(summary="", figures={"broken": fail, "drawn": lambda cells: Figure()})
    monkeypatch.setattr("results.commands.scenarios.scenario_named", lambda *_: made_up)
    said = told(store.folder, *words).err
    assert "the figure broken cannot be drawn" in said and "\x1b" not in said
    folder = store.artifacts(run_id)
    assert (folder / "drawn.svg").exists() and not (folder / "broken.svg").exists()
    assert "in fail" in (folder / "figures.log").read_text()


@pytest.mark.parametrize("scenario", ["gone", "not a name", "os.path"])
def test_plot_of_a_scenario_that_is_not_here_is_a_usage_error(store, told, scenario):
    store.begin_run(scenario, {}, {}, "x")
    assert "not in this installation" in told(store.folder, "plot", "latest", code=2).err


def fetched_by(page: str) -> list[str]:
    """Addresses that a page would fetch, or that lead outside of it."""
    return re.findall(r'[\s:](?:src|href)="([^"#][^"]*)"', page)


def test_report_is_one_page_that_tells_all_of_the_run_and_needs_no_other(store, run_id, told, monkeypatch):
    few = {name: MptcpLoad.figures[name] for name in ("fig4_error_rate", "fig5_run_time")}
    monkeypatch.setattr(MptcpLoad, "figures", few)
    path = store.artifacts(run_id) / "report.html"
    recorded, damaged, *_ = (path.parent / FOLDER / file_name(cell.cell.label) for cell in store.cells(run_id))
    recorded.parent.mkdir()
    damaged.write_bytes(b"no recording")
    way = {"specification": "1Mbit", "bandwidth_bps": 10**6, "delay_ns": 0, "queue_bytes": 9000, "lossy": False}
    link = {"name": "h1-eth0:h2-eth0", "nodes": ["h1", "h2"], "directions": [way, way]}
    append_description(recorded, {"hosts": ["h1", "h2"], "links": [link], "began_ns": 0, "ended_ns": 9})
    written = told(store.folder, "report", run_id)
    assert written.out.split() == [str(path)] and f"{damaged} is no recording" in written.err
    text = path.read_text()
    look_at_page(text, scripts=1)
    assert text.count('<svg role="img" aria-label="') == len(few)
    assert fetched_by(text) == [f"watch-{recorded.stem}.html"]
    assert (path.parent / f"watch-{recorded.stem}.html").exists()
    assert "<b>" not in text, "text is escaped"
    script = re.search(r"<script>(.*?)</script>", text, re.DOTALL)[1]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = html.unescape(re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)[1])
    assert "default-src 'none'" in policy and f"script-src 'sha256-{digest}'" in policy
    ids = re.findall(r'\sid="([^"]*)"', text)
    assert ids and len(ids) == len(set(ids))
    cells = store.cells(run_id)
    assert text.count('class="mark faithful"') + text.count('class="mark degraded"') >= 2 * len(cells)
    for cell in cells:
        for name, metric in cell.measurement.metrics.items():
            assert f'data-value="{metric.value!r}"' in text, f"{cell.cell.label}: {name}"
    question = html.escape(question_of(store.run(run_id)))
    for words in (question, "busy &lt;script&gt;", "--only &#39;a b&#39;", "6.1 &lt;b&gt;", "sudo make setup"):
        assert words in text


def test_a_long_run_has_a_page_that_says_what_it_lacks(store, monkeypatch):
    monkeypatch.setattr("results.pages.content.MAX_WITH_ALL_METRICS", 6)
    monkeypatch.setattr("results.pages.content.MAX_WITH_DETAILS", 5)
    monkeypatch.setattr("results.pages.content.MAX_WITH_SERIES", 4)
    run_id = store.begin_run("s", {"headlines": ["run_time"]}, {}, "x")
    for order, result in enumerate(like_the_paper(2, LOADS)):
        store.record(run_id, result, order)
    text = render_html(store, run_id)
    assert text.count("<details><summary>protocol=") == 5 and text.count("<summary>Over time") == 4
    over_time = re.search(r'id="cells-over-time"[^>]*><script type="application/json">(.*?)</script>', text)[1]
    assert len(json.loads(over_time)) == 4
    assert "With 8 cells this page would be too long" in text and "lost writes" not in text


def test_a_hostile_run_does_nothing_to_the_page(store):
    text = render_html(store, hostile_run(store))
    look_at_page(text, scripts=1)
    assert fetched_by(text) == []
    assert "{{7*7}}" in text and "49" not in re.findall(r">(\d+)<", text)


def test_facts_that_are_not_as_expected_are_named_and_the_others_are_shown(store, told):
    facts = {"links_during_load": {"h1_a": {"a_to_b": {"packets": "many"}}}, "idle_cpu_percent": [80.0, 40.0]}
    certificate = Certificate(Verdict.FAITHFUL, (), facts)
    run_id = begin(store, replace(like_the_paper(1, LOADS)[0], certificate=certificate))
    for shown in (render_html(store, run_id), told(store.folder, "show", run_id, "--certificates").out):
        assert "links_during_load.h1_a.a_to_b.packets: input should be a valid integer" in shown
        assert "60 % (least 40 %)" in shown and "cannot be shown" in shown


def test_a_hostile_run_does_nothing_to_the_terminal(store, told):
    run_id = store.begin_run("s\x1b[2J", {"form": "\x1b]0;owned\x07"}, {"a": "\x9b31m"}, ["\x1b[31m"])
    store.record_claims(run_id, [Claim("\x1bc", "p", "", NOT_TESTED)])
    for words in (["list"], ["show", run_id], ["show", hostile_run(store), "--certificates"]):
        assert not set(told(store.folder, *words).out) & set("\x1b\x07\x9b")


def test_report_without_the_scenario_has_tables_but_no_figures(store, told):
    run_id = store.begin_run("gone", {}, {}, "x")
    told(store.folder, "report", "latest")
    store.record(run_id, like_the_paper(1, LOADS)[0], 0)
    assert "no figures" in told(store.folder, "report", "latest").err


def test_means_mark_what_was_left_out():
    cells = like_the_paper(3, LOADS)
    cells = [judged(c, Verdict.UNUSABLE, "x") if c.cell.repetition == 2 else c for c in cells]
    shown = means_table(cells, ["throughput_h1_h2_mean", "run_time"])
    assert shown.columns == {"throughput_h1_h2_mean": "Mbit/s", "run_time": "s"}
    assert {row.verdict for row in shown.rows} == {Verdict.FAITHFUL}
    assert {row.note for row in shown.rows} == {" (2 of 3)"}


def test_a_summary_fits_a_terminal_of_80_columns():
    cells = [judged(each, Verdict.DEGRADED, "[red]x[/]") for each in like_the_paper(3, LOADS)]
    metrics = [*metric_names(cells)[:9], "retransmissions"]
    zero = Measurement({"retransmissions": Metric(0.0, "1")})
    cells = [replace(each, measurement=each.measurement.merged(zero)) for each in cells]
    *tables, _, verdict = printed(print_summary, cells, metrics, **NARROW).splitlines()
    assert "[red]x[/]" in verdict, "markup is printed as it is"
    assert max(map(len, tables)) <= 80
    assert sum("protocol" in line for line in tables) > 1, "the metrics were to be spread over several tables"
    assert not any("…" in line for line in tables)
    assert any("retransmissions" in line for line in tables), "no word of a heading is split"
    assert sum("degraded" in line for line in tables) == len(means_table(cells, metrics).rows)


def test_no_word_is_cut_or_split_on_a_terminal_of_80_columns(store, run_id):
    host = "dtn-gateway-2.example.org"
    listed = [(replace(record, environment={"host": host}), {Verdict.DEGRADED: 8}) for record in store.runs()]
    shown = printed(print_runs, listed, **NARROW) + printed(print_certificates, store.cells(run_id), **NARROW)
    assert max(map(len, shown.splitlines())) <= 80 and "…" not in shown
    for word in (run_id, "scenario: mptcp_load", f"machine: {host}", "verdict: degraded", "protocol=mptcp"):
        assert word in shown


def test_claims_that_are_all_untested_for_one_cause_are_one_line():
    claims = [Claim(text, "p", "", NOT_TESTED, "this run varies queue") for text in "ab"]
    assert printed(print_claims, claims, width=80) == "None of the 2 claims is tested: this run varies queue\n"


def test_claims_are_printed_without_repetition_and_markup_as_it_is():
    claims = [
        Claim("mptcp is faster", "more", "+105 %", YES),
        Claim("mptcp is faster: by how much", "+380 %", "+105 %", NO),
        Claim("mptcp is faster on Sundays", "[bold]", "", NOT_DECIDED, "[/]"),
    ]
    golden = (PROJECT / "tests/data/golden/claims.txt").read_text()
    assert [line.rstrip() for line in printed(print_claims, claims, width=120).splitlines()] == golden.splitlines()


@pytest.mark.parametrize(
    ("claims", "reasons", "remarks"),
    [
        (  # a reason of all claims of a verdict
            [(NOT_DECIDED, "one; at 800/s"), (YES, "one"), (NOT_DECIDED, "one"), (NO, "")],
            ["at 800/s", "one", "", ""],
            ["not decided: one"],
        ),
        (  # a reason of some moves only from those that have no other
            [(NOT_TESTED, "a"), (NOT_TESTED, "a"), (NOT_TESTED, "a; b"), (NOT_TESTED, "c"), (YES, "")],
            ["", "", "a; b", "c", ""],
            ["not tested here, where nothing else is said: a"],
        ),
        ([(YES, "near; 1 cell"), (NO, "1 cell")], ["near", ""], ["all claims: 1 cell"]),
        ([(NOT_DECIDED, "one"), (NO, "far")], ["one", "far"], []),  # said once anyway
        ([(NOT_TESTED, "one")], ["one"], []),
        ([], [], []),
    ],
)
def test_a_reason_that_several_claims_share_is_a_remark(claims, reasons, remarks):
    shown = claims_table([Claim(f"claim {n}", "p", "m", *claim) for n, claim in enumerate(claims)])
    assert ([claim.why for claim in shown.claims], list(shown.remarks)) == (reasons, remarks)


def test_what_claims_have_in_common_is_said_once_on_every_page(store, run_id, told):
    reason = "one repetition has no interval: --repeat 3"
    claims = [
        *(Claim(text, "p", "m", NOT_DECIDED, f"{reason}; degraded") for text in "ab"),
        Claim("c", "p", "m", YES, "degraded"),
    ]
    store.record_claims(run_id, claims)
    assert store.claims(run_id) == claims
    out = told(store.folder, "show", "latest").out
    assert out.count(f"not decided: {reason}") == out.count(reason) == out.count("all claims: degraded") == 1
    page = render_html(store, run_id, answer=["It is faster."])
    assert page.count(f"Not decided: {reason}.") == page.count(reason) == 1
    assert "It is faster." in page and "Of its 3 claims: 1 reproduced, 2 not decided." in page
    assert page.count('<span class="mark undecided">not decided</span>') == 2
