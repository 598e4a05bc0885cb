"""What `flightpath results` prints and writes, from the store alone."""

import base64
import hashlib
import html
import io
import json
import re
import types
from dataclasses import replace

import pytest
from matplotlib.figure import Figure
from rich.console import Console

from experiments.claims import check_claims
from flightpath.project import PROJECT
from results.__main__ import main
from results.commands.scenarios import question_of
from results.pages.html_report import render_html
from results.pages.json_output import run_json
from results.pages.terminal import print_certificates, print_claims, print_runs, print_summary
from results.recording.blocks import FOLDER, append_description, file_name
from results.records import Certificate, Claim, ClaimVerdict, Measurement, Metric, Verdict
from results.summary.means import means_table, metric_names
from scenarios.mptcp_load import MptcpLoad
from scenarios.web_load.claims import mptcp_load_claims
from tests.fuzz.views import look_at_page
from tests.support.made_up_runs import judged, like_the_paper
from tests.support.stored_runs import hostile_run

LOADS = (500.0, 800.0)


@pytest.fixture
def run_id(store) -> str:
    run_id = store.begin_run(
        "mptcp_load", {"form": "full"}, {"kernel": "6.1 <b>"}, ["python", "-m", "x", "--only", "a b"]
    )
    cells = like_the_paper(2, LOADS)
    cells[3] = judged(cells[3], Verdict.DEGRADED, "busy <script>")
    for order, result in enumerate(cells):
        store.record(run_id, result, order)
    store.record_claims(run_id, check_claims(mptcp_load_claims(), cells, "full"))
    store.finish_run(run_id, "done")
    return run_id


def command(store, *words) -> int:
    return main([words[0], "--results", str(store.folder), *words[1:]])


def test_json_is_the_agreed_object(store, run_id, capsys):
    assert command(store, "show", run_id[:20], "--json") == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown == run_json(store, run_id)
    assert list(shown) == ["run", "scenario", "verdict", "cells", "claims"]
    assert (shown["run"], shown["scenario"], shown["verdict"]) == (run_id, "mptcp_load", "degraded")
    assert len(shown["cells"]) == 8 and len(shown["claims"]) == 19
    for cell in shown["cells"]:
        assert list(cell) == ["parameters", "repetition", "verdict", "metrics"]
        assert all(list(metric) == ["value", "unit", "low", "high"] for metric in cell["metrics"].values())
    assert all(list(claim) == ["claim", "paper", "measured", "verdict"] for claim in shown["claims"])


def test_json_says_why_a_claim_was_not_judged_and_a_run_without_cells_has_no_verdict(store):
    empty = store.begin_run("s", {}, {}, "x")
    unjudged = [Claim("c", "p", "", verdict, "why") for verdict in (ClaimVerdict.NOT_TESTED, ClaimVerdict.NOT_DECIDED)]
    store.record_claims(empty, [*unjudged, Claim("c", "p", "m", ClaimVerdict.REPRODUCED, "why")])
    shown = run_json(store, empty)
    assert shown["verdict"] is None
    verdicts = [claim["verdict"] for claim in shown["claims"]]
    assert verdicts == ["not tested here (why)", "not decided (why)", "reproduced"]


def test_show_prints_means_intervals_verdicts_and_claims(store, run_id, capsys):
    assert command(store, "show", "latest") == 0
    out = capsys.readouterr().out
    for words in (run_id, "requests_per_s", "±", "mptcp", "degraded", "busy <script>", "reproduced", "--only 'a b'"):
        assert words in out
    assert command(store, "show", "latest", "--metrics", "latency_intended_p99") == 0
    assert "latency_intended_p99" in capsys.readouterr().out
    assert command(store, "show", "latest", "--metrics", "nonsense") == 2
    assert "requests_per_s" in capsys.readouterr().err


def test_plot_uses_the_scenarios_own_figures(store, capsys, monkeypatch, tmp_path):
    drawn: list[int] = []

    def draw(cells):
        drawn.append(len(cells))
        return Figure()

    made_up = types.SimpleNamespace(summary="", figures={"made_up": draw})
    catalogue = types.SimpleNamespace(of_plan=lambda name, settings: made_up if name == "made_up" else None)
    monkeypatch.setattr("results.commands.scenarios.contributions", lambda group: {"test": catalogue})
    run_id = store.begin_run("made_up", {}, {}, "x")
    store.record(run_id, like_the_paper(1, LOADS)[0], 0)
    assert command(store, "plot", run_id, "--output", str(tmp_path / "here")) == 0
    files = capsys.readouterr().out.split()
    assert files == [str(tmp_path / "here" / f"made_up.{kind}") for kind in ("png", "svg")] and drawn == [1]
    assert {path.name for path in (tmp_path / "here").iterdir()} == {"made_up.png", "made_up.svg"}


@pytest.mark.parametrize("words", [["plot", "latest"], ["report", "latest"]], ids=["plot", "report"])
def test_a_figure_that_fails_is_named_and_the_others_are_drawn(store, run_id, capsys, monkeypatch, words):
    def fail(cells):
        raise ValueError("\x1b[2J")

    made_up = types.SimpleNamespace(summary="", figures={"broken": fail, "drawn": lambda cells: Figure()})
    monkeypatch.setattr("results.commands.scenarios.scenario_named", lambda *_: made_up)
    assert command(store, *words) == 0
    captured = capsys.readouterr()
    assert "the figure broken cannot be drawn" in captured.err and "\x1b" not in captured.err
    folder = store.artifacts(run_id)
    assert (folder / "drawn.svg").exists() and not (folder / "broken.svg").exists()
    assert "in fail" in (folder / "figures.log").read_text()


@pytest.mark.parametrize("scenario", ["gone", "not a name", "os.path"])
def test_plot_of_a_scenario_that_is_not_here_is_a_usage_error(store, capsys, scenario):
    store.begin_run(scenario, {}, {}, "x")
    assert command(store, "plot", "latest") == 2
    assert "not in this installation" in capsys.readouterr().err


def fetched_by(page: str) -> list[str]:
    """What a page would fetch, or lead to outside of itself."""
    return re.findall(r'[\s:](?:src|href)="([^"#][^"]*)"', page)


def test_report_is_one_page_that_tells_all_of_the_run_and_needs_no_other(store, run_id, capsys, monkeypatch):
    few = {name: MptcpLoad.figures[name] for name in ("fig4_error_rate", "fig5_run_time")}
    monkeypatch.setattr(MptcpLoad, "figures", few)
    path = store.artifacts(run_id) / "report.html"
    recorded, damaged, *_ = (path.parent / FOLDER / file_name(cell.cell.label) for cell in store.cells(run_id))
    recorded.parent.mkdir()
    damaged.write_bytes(b"no recording")
    way = {"specification": "1Mbit", "bandwidth_bps": 10**6, "delay_ns": 0, "queue_bytes": 9000, "lossy": False}
    link = {"name": "h1-eth0:h2-eth0", "nodes": ["h1", "h2"], "directions": [way, way]}
    append_description(recorded, {"hosts": ["h1", "h2"], "links": [link], "began_ns": 0, "ended_ns": 9})
    assert command(store, "report", run_id) == 0
    printed = capsys.readouterr()
    assert printed.out.split() == [str(path)] and f"{damaged} is no recording" in printed.err
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
    for words in (
        html.escape(question_of(store.run(run_id))),
        "degraded: busy &lt;script&gt;",
        "reproduced",
        "python -m x --only &#39;a b&#39;",
        "6.1 &lt;b&gt;",
        "requests per s",
        "sudo make setup",
        "Fidelity certificate",
    ):
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
    assert (
        len(json.loads(re.search(r'id="cells-over-time"[^>]*><script type="application/json">(.*?)</script>', text)[1]))
        == 4
    )
    assert "With 8 cells this page would be too long" in text and "lost writes" not in text


def test_a_hostile_run_does_nothing_to_the_page(store):
    text = render_html(store, hostile_run(store))
    look_at_page(text, scripts=1)
    assert fetched_by(text) == []
    assert "{{7*7}}" in text and "49" not in re.findall(r">(\d+)<", text)


def test_facts_that_are_not_as_expected_are_named_and_the_others_are_shown(store, capsys):
    run_id = store.begin_run("s", {}, {}, "x")
    facts = {"links_during_load": {"h1_a": {"a_to_b": {"packets": "many"}}}, "idle_cpu_percent": [80.0, 40.0]}
    result = like_the_paper(1, LOADS)[0]
    store.record(run_id, replace(result, certificate=Certificate(Verdict.FAITHFUL, (), facts)), 0)
    text = render_html(store, run_id)
    assert command(store, "show", run_id, "--certificates") == 0
    for shown in (text, capsys.readouterr().out):
        assert "links_during_load.h1_a.a_to_b.packets: input should be a valid integer" in shown
        assert "60 % (least 40 %)" in shown and "cannot be shown" in shown


def test_a_hostile_run_does_nothing_to_the_terminal(store, capsys):
    run_id = store.begin_run("s\x1b[2J", {"form": "\x1b]0;owned\x07"}, {"a": "\x9b31m"}, ["\x1b[31m"])
    store.record_claims(run_id, [Claim("\x1bc", "p", "", ClaimVerdict.NOT_TESTED)])
    for words in (["list"], ["show", run_id], ["show", hostile_run(store), "--certificates"]):
        assert command(store, *words) == 0
        assert not set(capsys.readouterr().out) & set("\x1b\x07\x9b")


def test_report_without_the_scenario_has_tables_but_no_figures(store, capsys):
    run_id = store.begin_run("gone", {}, {}, "x")
    assert command(store, "report", "latest") == 0
    store.record(run_id, like_the_paper(1, LOADS)[0], 0)
    capsys.readouterr()
    assert command(store, "report", "latest") == 0
    assert "no figures" in capsys.readouterr().err


def test_means_mark_what_was_left_out():
    cells = like_the_paper(3, LOADS)
    cells = [judged(c, Verdict.UNUSABLE, "x") if c.cell.repetition == 2 else c for c in cells]
    shown = means_table(cells, ["throughput_h1_h2_mean", "run_time"])
    assert shown.columns == {"throughput_h1_h2_mean": "Mbit/s", "run_time": "s"}
    assert {row.verdict for row in shown.rows} == {Verdict.FAITHFUL}
    assert {row.note for row in shown.rows} == {" (2 of 3)"}


def test_a_summary_fits_a_terminal_of_80_columns():
    out = io.StringIO()
    cells = [judged(each, Verdict.DEGRADED, "[red]x[/]") for each in like_the_paper(3, LOADS)]
    metrics = [*metric_names(cells)[:9], "retransmissions"]
    zero = Measurement({"retransmissions": Metric(0.0, "1")})
    cells = [replace(each, measurement=each.measurement.merged(zero)) for each in cells]
    print_summary(Console(file=out, width=80, force_terminal=True, color_system=None), cells, metrics)
    *tables, _, verdict = out.getvalue().splitlines()
    assert "[red]x[/]" in verdict, "markup is printed as it is"
    assert max(map(len, tables)) <= 80
    assert sum("protocol" in line for line in tables) > 1, "the metrics were to be spread over several tables"
    assert not any("…" in line for line in tables)
    assert any("retransmissions" in line for line in tables), "no word of a heading is split"
    assert sum("degraded" in line for line in tables) == len(means_table(cells, metrics).rows)


def test_no_word_is_cut_or_split_on_a_terminal_of_80_columns(store, run_id):
    out, host = io.StringIO(), "dtn-gateway-2.example.org"
    console = Console(file=out, width=80, force_terminal=True, color_system=None)
    listed = [(replace(record, environment={"host": host}), {Verdict.DEGRADED: 8}) for record in store.runs()]
    print_runs(console, listed)
    print_certificates(console, store.cells(run_id))
    shown = out.getvalue()
    assert max(map(len, shown.splitlines())) <= 80 and "…" not in shown
    for word in (
        run_id,
        "scenario: mptcp_load",
        f"machine: {host}",
        "verdict: degraded",
        "protocol=mptcp",
        "load=800.0",
    ):
        assert word in shown


def test_claims_that_are_all_untested_for_one_cause_are_one_line():
    out = io.StringIO()
    claims = [Claim(text, "p", "", ClaimVerdict.NOT_TESTED, "this run varies queue") for text in "ab"]
    print_claims(Console(file=out, width=80), claims)
    assert out.getvalue() == "None of the 2 claims is tested: this run varies queue\n"


def test_claims_are_printed_without_repetition_and_markup_as_it_is():
    out = io.StringIO()
    claims = [
        Claim("mptcp is faster", "more", "+105 %", ClaimVerdict.REPRODUCED),
        Claim("mptcp is faster: by how much", "+380 %", "+105 %", ClaimVerdict.NOT_REPRODUCED),
        Claim("mptcp is faster on Sundays", "[bold]", "", ClaimVerdict.NOT_DECIDED, "[/]"),
    ]
    print_claims(Console(file=out, width=120), claims)
    golden = (PROJECT / "tests/data/golden/claims.txt").read_text()
    assert [line.rstrip() for line in out.getvalue().splitlines()] == golden.splitlines()


def test_what_claims_have_in_common_is_said_once_on_every_page(store, run_id, capsys):
    reason = "one repetition has no interval: --repeat 3"
    claims = [
        *(Claim(text, "p", "m", ClaimVerdict.NOT_DECIDED, f"{reason}; degraded") for text in "ab"),
        Claim("c", "p", "m", ClaimVerdict.REPRODUCED, "degraded"),
    ]
    store.record_claims(run_id, claims)
    assert store.claims(run_id) == claims
    assert command(store, "show", "latest") == 0
    out = capsys.readouterr().out
    assert out.count(f"not decided: {reason}") == out.count(reason) == out.count("all claims: degraded") == 1
    page = render_html(store, run_id, [])
    assert page.count(f"Not decided: {reason}.") == page.count(reason) == 1
    assert "1 reproduced, 2 not decided." in page
    assert page.count('<span class="mark undecided">not decided</span>') == 2
