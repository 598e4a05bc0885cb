"""Changes of a verdict that fail the check, and those that are only reported."""

import json
from dataclasses import replace

import pytest

from results.records import ClaimVerdict, Verdict
from results.store.store import Store
from scenarios.reproduction import writing
from scenarios.reproduction.__main__ import main
from scenarios.reproduction.check import difference
from scenarios.reproduction.parts import chosen
from scenarios.reproduction.record import JudgedClaim, MeasuredPart, Record
from tests.support.reproduction_runs import stored_run

YES, NO, UNDECIDED, UNTESTED = ClaimVerdict
(WHOLE,) = chosen(["dtn_mss"])
"""A part as the record has it; two of its three claims are tested."""


def claim(verdict: ClaimVerdict, sentence: str = "faster") -> JudgedClaim:
    return JudgedClaim("x", "dtn_mss", sentence, "more", "+1 %", verdict, "", "dtn_mss", "virtual", Verdict.FAITHFUL)


def record(*claims: JudgedClaim, processor: str = "this") -> Record:
    facts = ("dtn_mss", "x", "", "", "real", Verdict.FAITHFUL, "", 1, 1, "", "", "", {"processor": processor})
    return Record(1, (MeasuredPart(*facts),), claims)


@pytest.mark.parametrize(
    ("before", "after", "kind"),
    [(YES, NO, "contradicted"), (NO, UNTESTED, "lost"), (UNDECIDED, YES, "gained"), (UNDECIDED, UNTESTED, "changed")],
)
def test_a_verdict_that_is_contradicted_or_lost_fails(before, after, kind):
    result = difference(record(claim(before)), record(claim(after)))
    line = f"{kind}: dtn_mss: faster [more]: {before} (+1 %; virtual clock) -> {after} (+1 %; virtual clock)"
    due = ([line], [], 0) if kind in ("contradicted", "lost") else ([], [line], 0)
    assert (result.failures, result.remarks, result.same) == due


@pytest.mark.parametrize("verdict", ClaimVerdict)
def test_the_same_verdict_with_another_value_of_another_part_is_the_same(verdict):
    again = replace(claim(verdict), measured="+2 %", part="another", clock="real")
    result = difference(record(claim(verdict)), record(again))
    assert (result.failures, result.remarks, result.same) == ([], [], 1)


@pytest.mark.parametrize(("processor", "fails"), [("this", 1), ("another", 0), ("", 1)])
def test_what_the_real_clock_measured_on_another_processor_is_only_told(processor, fails):
    result = difference(record(claim(YES)), record(claim(NO), processor=processor))
    assert (len(result.failures), len(result.remarks), result.same) == (fails, 1 - fails, 0)


def test_new_and_missing_claims_are_told():
    result = difference(record(claim(YES, "old"), claim(YES)), record(claim(YES), claim(NO, "young")))
    told = ["new: dtn_mss: young [more]: not reproduced", "missing: dtn_mss: old [more]: was reproduced"]
    assert (result.failures, result.remarks, result.same) == ([], told, 1)


@pytest.fixture
def committed(store, monkeypatch):
    """Puts a run's record in the place of the committed one; returns its file."""
    stored_run(store, WHOLE)
    assert main(["--page", "dtn_mss", "--results", str(store.folder)]) == 0
    file = store.folder / "reproduction.json"
    monkeypatch.setattr(writing, "COMMITTED", file)
    return file


def test_the_command_compares_a_store_with_the_committed_record(committed, tmp_path, capsys):
    changed = Store.open(tmp_path / "changed")
    stored_run(changed, WHOLE, goodput=lambda cell: cell.parameters["streams"] * cell.parameters["mtu"] ** 2)
    assert main(["dtn_mss", "--check", "--results", str(changed.folder)]) == 1
    printed = capsys.readouterr().out.splitlines()
    assert len(printed) == 2 and all(line.startswith("contradicted: dtn_mss: ") for line in printed)


def test_parts_that_were_not_asked_for_are_not_missing(committed, tmp_path, capsys):
    other = json.loads(committed.read_text())
    more = {**other["claims"][0], "part": "dtn_window", "scenario": "dtn_window", "claim": "another"}
    committed.write_text(json.dumps({**other, "claims": [*other["claims"], more]}))
    stored_run(Store.open(tmp_path / "again"), WHOLE)
    assert main(["dtn_mss", "--check", "--results", str(tmp_path / "again")]) == 0
    told = capsys.readouterr()
    assert "3 verdicts are the same, 0 changed" in told.err and told.out == ""
    assert main(["--check", "--results", str(tmp_path / "again")]) == 0
    old, missing = capsys.readouterr().out.splitlines()
    assert old.startswith("the record has not judged the claims of today: ") and "dtn_window" in old
    assert "dtn_mss" not in old, "its claims are those of the code"
    assert missing == "missing: dtn_window: another [" + more["stated"] + "]: was " + more["verdict"]
