"""The record and its page, from real stores."""

import re
from collections.abc import Sequence
from dataclasses import replace

import pytest

from experiments.claims import NEEDS_REAL_CLOCK, NONE_FAITHFUL
from flightpath.clock import Clock
from flightpath.errors import UsageError
from results.records import Claim, ClaimVerdict, RunStatus, Verdict
from results.store.store import Store
from scenarios.reproduction import writing
from scenarios.reproduction.content import FigurePage, Page, PaperPage, counts, measured, measured_figures
from scenarios.reproduction.markdown import render_markdown
from scenarios.reproduction.papers import Paper, PaperFigure, Value, papers
from scenarios.reproduction.part import Part
from scenarios.reproduction.record import FORMAT, MeasuredFigure, Record, newest_evidence, read, record_of
from scenarios.reproduction.writing import COMMITTED, QUOTING, _coded, with_figures
from tests.support.reproduction_runs import CHEAPEST, HERE, SMALL, stored_run
from tests.support.stored_runs import HOSTILE

MATTERS, EQUIVALENT, ALONE = (
    "without congestion parallel streams are equivalent to a large segment on one connection",
    "parallel streams are equivalent to a large segment on one connection (with loss)",
    "without loss one stream of small segments is as fast, too (ours)",
)


def written(store: Store, parts: Sequence[Part] = (SMALL,)) -> tuple[Record, str, str]:
    """Writes the record, and returns the texts of record, Markdown and HTML page."""
    names = [part.name for part in parts]
    json_file, markdown, html = writing.write(newest_evidence(parts, store), store, store.folder, names)
    return read(json_file), markdown.read_text(), html.read_text()


def test_our_own_claims_are_counted_apart():
    theirs = replace(read(COMMITTED).claims[0], claim="x", part="mptcp_load", verdict=ClaimVerdict.REPRODUCED)
    ours = replace(theirs, part="dtn_multihomed")
    assert counts([theirs, theirs, ours]) == "2 reproduced; of our own: 1 reproduced"
    assert counts([ours]) == "1 reproduced"


def test_a_claim_is_judged_by_the_first_part_that_tests_it(store):
    alone, lossy = SMALL, Part("lossy", "netpreflight", "--repeat 3", cell_s=1, scenario_name="dtn_mss")
    stored_run(store, alone)
    stored_run(store, lossy, goodput=lambda cell: 4e8 if cell.parameters["streams"] == 1 else 1e8)
    record = record_of(newest_evidence([alone, lossy], store))
    by = {claim.claim: (claim.part, claim.verdict) for claim in record.claims}
    assert by[EQUIVALENT] == ("lossy", ClaimVerdict.NOT_REPRODUCED)
    assert by[MATTERS] == by[ALONE] == ("dtn_mss", ClaimVerdict.REPRODUCED)


def test_further_repetitions_of_some_cells_are_judged_with_the_others(store):
    options = "--repeat 5 --only loss=0 --only streams=1"
    more = replace(SMALL, name="more", options=options, scenario_name=SMALL.name, adds_to=SMALL.name)
    stored_run(store, SMALL, goodput=lambda cell: 4e8 if cell.parameters["streams"] == 1 else 5e8)
    stored_run(store, more)
    main, added = evidence = newest_evidence([SMALL, more], store)
    assert (len(main.cells), len(added.cells), len(main.judged)) == (12, 10, 16), "three of five were there already"
    assert {cell.cell.repetition for cell in main.added} == {4, 5}
    record = record_of(evidence)
    assert {claim.part for claim in record.claims} == {SMALL.name} and len(record.claims) == 3
    assert [(part.name, part.cells) for part in record.parts] == [(SMALL.name, 12), ("more", 10)]


VIRTUAL = Part("multipath_10gbe", "mptgre-vs-mptcp-10gbe", "--repeat 3", cell_s=1)
REAL = replace(VIRTUAL, clock=Clock.REAL)


def test_what_needs_processors_is_not_tested_by_the_virtual_clock(store):
    stored_run(store, VIRTUAL)
    claims = [c for c in record_of(newest_evidence([VIRTUAL], store)).claims if c.why == NEEDS_REAL_CLOCK]
    assert len(claims) > 10 and {claim.verdict for claim in claims} == {ClaimVerdict.NOT_TESTED}
    stored_run(store, REAL)
    decided = record_of(newest_evidence([VIRTUAL, REAL], store)).claims
    assert {claim.clock for claim in decided if claim.verdict is not ClaimVerdict.NOT_TESTED} == {"virtual", "real"}


def test_a_claim_that_no_part_tests_is_of_the_one_that_measured_it_on_too_slow_a_machine(store):
    stored_run(store, VIRTUAL)
    stored_run(store, REAL, verdict=Verdict.DEGRADED)
    claims = record_of(newest_evidence([VIRTUAL, REAL], store)).claims
    assert not [claim for claim in claims if claim.why == NEEDS_REAL_CLOCK]
    assert {claim.clock for claim in claims if NONE_FAITHFUL in claim.why} == {"real"}


@pytest.mark.parametrize(("text", "why"), [("[]", "no record"), ('{"format":2,"parts":[],"claims":[]}', "reads 1")])
def test_what_is_no_record_is_refused(tmp_path, text, why):
    (tmp_path / "record.json").write_text(text)
    with pytest.raises(UsageError, match=why):
        read(tmp_path / "record.json")


def test_the_record_can_be_read_and_its_page_has_every_claim_with_its_values_and_its_verdict(store):
    run_id = stored_run(store)
    store.record_claims(run_id, [Claim(MATTERS, "", "", ClaimVerdict.NOT_REPRODUCED)])  # which is judged anew
    (images := store.folder / writing.NAME).mkdir()
    (images / "old.png").touch()
    record, page, html = written(store)
    evidence = newest_evidence([SMALL], store)
    assert record == record_of(evidence, measured_figures(papers(), evidence)) and record.figures
    assert record.parts[0].run == run_id
    assert "`flightpath run dtn_mss --repeat 3 --only loss=0 --clock virtual`" in page
    assert "12 of 12 cells; faithful (12 cells); virtual time." in page
    (row,) = [line for line in page.splitlines() if line.startswith(f"| {MATTERS} |")]
    assert row.count("|") == 8 and "**reproduced**" in row and "| virtual | faithful | dtn_mss |" in row
    assert "6 x 1500, loss 0: +0.0 % (+0.0 to +0.0)" in row
    assert re.search(r"\| six streams of 1500 bytes .* without loss \| equivalent \| [+-]0\.0 % \(.* to .*\) \|", page)
    assert "**1 reproduced, 1 not tested here; of our own: 1 reproduced.**" in page
    assert f"- desk: 2 cores, 8.0 GiB, Debian 12, Linux 6.1; commit {HERE.get('commit', 'unknown')}; 20" in page
    assert f"- {EQUIVALENT}: " in page.partition("### What is not tested here")[2]
    for address in re.findall(r"\]\(([^)#]+)", page):
        assert (store.folder / address).exists(), address
    assert [path.name for path in images.iterdir()] == ["dtn_mss-fig_mss.png"]
    ids = re.findall(r'\bid="([^"]*)"', html)
    assert html.count("<svg") == 1 and MATTERS in html
    assert len(ids) == len(set(ids)) > 5
    assert {*re.findall(r'\b(?:href|src)="([^"]*)"', html)} <= {f"#{each}" for each in ids}, "it needs no other file"


def test_what_was_measured_again_is_replaced_in_a_record_and_the_rest_is_kept(store, tmp_path):
    order = [CHEAPEST.name, SMALL.name]
    (docs := tmp_path / "docs").mkdir()
    for part in (SMALL, CHEAPEST):
        stored_run(store, part)
    writing.update(newest_evidence([SMALL, CHEAPEST], store), store, docs, order)
    before = read(docs / "reproduction.json")
    again = Store.open(tmp_path / "again")
    run_id = stored_run(again, goodput=lambda cell: 4e8 if cell.parameters["streams"] == 1 else 1e8)
    json_file, markdown = writing.update(newest_evidence([SMALL], again), again, docs, order)
    after = read(json_file)
    assert [part.name for part in after.parts] == order and after.parts[0] == before.parts[1]
    assert after.parts[1].run == run_id != before.parts[0].run
    both = [claim.verdict for record in (before, after) for claim in record.claims if claim.claim == MATTERS]
    assert both == [ClaimVerdict.REPRODUCED, ClaimVerdict.NOT_REPRODUCED]
    of_cheapest = [claim for claim in before.claims if claim.part == CHEAPEST.name]
    assert of_cheapest == [claim for claim in after.claims if claim.part == CHEAPEST.name]
    page = markdown.read_text()
    images = re.findall(r"\]\((reproduction/[^)]+)", page)
    assert len(images) == 2 and all((docs / image).exists() for image in images)
    assert "without loss | equivalent | -75" in page


def test_a_verdict_that_is_not_reproduced_has_its_reason_beside_it_and_the_set_up_a_table(store):
    part = Part("dtn_bottleneck", "netpreflight", "--only size_mb=50 --only size_mb=500 --full --repeat 3", cell_s=1)
    stored_run(store, part, goodput=lambda cell: 0.5e6 * cell.parameters["bandwidth_mbps"])
    for page in written(store, [part])[1:]:
        assert "not so: 1000 Mbit/s, 2000 Mbit/s, 5000 Mbit/s, and 1 more; at 5 and 10 Gbit/s slow start takes" in page
        assert "What differs in the set-up" in page and "our preflight, which downloads by SFTP too" in page


def test_what_is_missing_is_named_and_what_machine_a_claim_without_a_faithful_cell_takes(store):
    stored_run(store, cells=5, status=RunStatus.INTERRUPTED, verdict=Verdict.DEGRADED)
    absent = Part("dtn_buffers", "netpreflight", "", cell_s=1)
    for page in written(store, [SMALL, absent])[1:]:
        assert "Not, or not completely, in this record: dtn_buffers, dtn_mss (5 of 12 cells)." in page
        assert "no cell is faithful; 5 of 5 cells are degraded and left out; it takes a machine with more" in page


IN_MBIT = PaperFigure("1", "", "", "dtn_mss", metric="goodput", unit="Mbit/s", scale=1e-6)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Value("", "", {"mtu": 9000, "streams": 1}), "400.1 Mbit/s (400 to 400.2)"),
        (Value("", "", {"mtu": 9000, "streams": 1}, {"mtu": 1500, "streams": 1}), "+0.0 Mbit/s"),
        (Value("", "", {"mtu": 9000}, {"mtu": 576}), "not measured"),
        (Value("", "", {"mtu": 9000}, metric="rtt"), "not measured"),
        (Value("", ""), "-"),
    ],
)
def test_a_value_is_that_of_the_cells_that_measured_the_same(store, value, text):
    cells = store.cells(stored_run(store))
    assert measured(cells, IN_MBIT, value).startswith(text)


@pytest.mark.parametrize(("factor", "change"), [(1.5, "+50.0 % (+50.0 to +50.0)"), (1 - 1e-6, "+0.0 % (+0.0 to +0.0)")])
def test_a_change_is_that_of_the_claim_beside_it_by_pairs_of_one_seed(store, factor, change):
    def goodput(cell):
        # What both cells of a repetition met cancels out: the change is the same in each, though they differ tenfold.
        return 10.0**cell.repetition * (factor if cell.parameters["mtu"] == 9000 else 1.0)

    cells = store.cells(stored_run(store, goodput=goodput))
    figure = PaperFigure("1", "", "", "dtn_mss", metric="goodput", unit="%")
    value = Value("", "", {"mtu": 9000, "streams": 1}, {"mtu": 1500, "streams": 1})
    assert measured(cells, figure, value) == change


def test_what_claims_leave_out_is_not_in_a_figure_either(store):
    cells = store.cells(stored_run(store))
    worst = [replace(cell, certificate=replace(cell.certificate, verdict=Verdict.DEGRADED)) for cell in cells[::2]]
    value = Value("", "", dict(worst[0].cell.parameters))
    assert measured(worst, IN_MBIT, value) == "not measured"


def test_a_text_cannot_break_a_table():
    figure = PaperFigure("1", "", "", "x")
    page = PaperPage(Paper("x", "X", "Y"), "", [], [FigurePage(figure, [("a|b", HOSTILE, "-")], [])], [], [], [])
    text = render_markdown(Page("", [], [page], []), {}, {"docs/results.md#claims": "results.md"})
    (row,) = [line for line in text.splitlines() if "a" in line and "b" in line and line.startswith("| a")]
    assert len(re.findall(r"(?<!\\)\|", row)) == 4


def test_the_committed_record_is_complete_and_of_this_version():
    record = read(COMMITTED)
    assert record.claims and all(part.cells == part.planned for part in record.parts)


def test_words_between_backticks_are_code_and_nothing_else_is_markup():
    assert _coded("a `b <i>` <b>c</b>") == "a <code>b &lt;i&gt;</code> &lt;b&gt;c&lt;/b&gt;"


@pytest.mark.parametrize("file", QUOTING, ids=lambda file: file.name)
def test_the_documents_say_what_the_record_says(file):
    text = file.read_text(encoding="utf-8")
    assert not re.search(r"^\s*<!--=", text, re.MULTILINE), "there a comment would end the paragraph"
    assert "<!--=" in text and with_figures(text, read(COMMITTED)) == text, "make reproduce-record"


def test_a_value_is_replaced_with_or_without_its_interval():
    figure = MeasuredFigure("part", "Figure 1", (("rate, low", "4", "5 Gbit/s (4 to 6)"),))
    record = Record(FORMAT, (), (), (figure,))
    text = "a <!--=part, Figure 1: rate,\nlow-->{}<!--=--> b <!--=~part, Figure 1: rate, low-->{}<!--=--> c"
    assert with_figures(text.format("old", "old\n"), record) == text.format("5 Gbit/s (4 to 6)", "5 Gbit/s")
    with pytest.raises(UsageError, match=r"has no 'part, .* rates'\n  did you mean '.* rate, low'\? docs/.* all names"):
        with_figures("<!--=part, Figure 1: rates-->1<!--=-->", record)
