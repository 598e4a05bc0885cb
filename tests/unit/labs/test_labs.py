"""Variants, work folders, and what becomes of marks."""

import csv
import json
from typing import Never

import pytest
from rich.console import Console

from execution.uml.inspection import ClockStoodStill, Task
from flightpath.errors import MeasurementFailed, UsageError
from labs.framework import catalogue, experiments, files, page, work
from labs.framework.checking import judged
from labs.framework.lab import Finding, Measured, Variant
from labs.grading.marks import Marks, Status, gradescope, with_doubts, write_csv, write_nbgrader
from labs.lab12_measuring import lab as lab12_measuring
from results.records import Verdict

FINDINGS = (Finding("rtt", True, "rtt = 1"), Finding("bdp", False, "bdp = 2", "think", points=2))
MARKS = Marks(Status.JUDGED, 2, "anna", "", 1, 3, FINDINGS, name="anna")


@pytest.mark.parametrize("lab", catalogue.all_labs(), ids=catalogue.short_name)
def test_each_student_has_numbers_of_their_own_and_can_get_them_again(lab):
    students = [f"student {number}" for number in range(40)]
    found = [dict(Variant(name).parameters(lab)) for name in students]
    assert found == [dict(Variant(f"  {name.upper().replace(' ', '  ')} ").parameters(lab)) for name in students]
    assert len({json.dumps(each) for each in found}) >= 8
    assert found != [dict(Variant(name, "2026").parameters(lab)) for name in students]


@pytest.mark.parametrize("lab", catalogue.all_labs(), ids=catalogue.short_name)
def test_a_folder_is_made_once_and_read_again(lab, tmp_path):
    folder = work.start(lab, Variant("anna", "2026"), tmp_path / "x")
    assert "{{" not in (folder / "README.md").read_text()
    assert work.read(folder) == work.Submission(lab, Variant("anna", "2026"), work.Work(folder, {}))
    with pytest.raises(UsageError, match="exists"):
        work.start(lab, Variant("anna"), folder)


@pytest.mark.parametrize(
    ("file", "text", "said"),
    [
        *(("answers.toml", f"rtt_ms = {answer}", "is not a number") for answer in ('"40 ms"', "nan", "true")),
        *(("answers.toml", f"rtt_ms = {answer}", "toml: ") for answer in ("= =", "9" * 5000, f"0x{'f' * 999}")),
        *(("lab.json", text, None) for text in ("", "[]", '{"lab": 99, "student": "a", "course": ""}', '{"lab": 2}')),
        ("lab.json", '{"lab": 2, "student": {}, "course": ""}', "are texts"),
        *(
            ("lab.json", json.dumps({"lab": 2, "student": name, "course": ""}), "(?s)^no variant is of .{,900}$")
            for name in ("", "  ", "a\u200bnna", "anna\n", "\ud800", "a" * 10_000)
        ),
    ],
)
def test_an_answer_that_is_no_number_a_folder_that_is_none_and_nobody_s_name_are_refused(tmp_path, file, text, said):
    folder = work.start(catalogue.find(2), Variant("anna"), tmp_path / "x")
    (folder / file).write_text(text)
    with pytest.raises(UsageError, match=said):
        work.read(folder)


def test_a_number_may_stand_between_the_quotation_marks_of_the_template(tmp_path):
    folder = work.start(catalogue.find(2), Variant("anna"), tmp_path / "x")
    answers = (folder / "answers.toml").read_text().replace('rtt_ms = ""', 'rtt_ms = " 12.5"')
    (folder / "answers.toml").write_text(answers)
    assert work.read(folder).work.answers == {"rtt_ms": 12.5}


def test_work_that_cannot_be_tried_costs_no_right_answer_and_gets_no_hints_but_on_answers(tmp_path, capsys):
    folder = work.start(catalogue.find(8), Variant("anna"), tmp_path / "x")
    (folder / "answers.toml").write_text("subflows = 3\ncores_single = 2\n")
    checked = judged(work.read(folder), Measured({}, Verdict.UNUSABLE, failure="line 2:\n  no such flag"))
    assert (checked.points, checked.of) == (1, 10) and checked.is_judged and not checked.passed
    page.print_checked(Console(), checked, {})
    shown = capsys.readouterr().out
    assert "line 2:\n  no such flag" in shown and shown.count("hint: ") == 2 and shown.count("not tried") == 6


@pytest.mark.parametrize(("program", "said"), [("python3", "loop without an end"), ("ovs-vswitchd", "no fault")])
def test_work_is_blamed_for_a_loop_of_its_own_and_for_none_of_the_network(tmp_path, monkeypatch, program, said):
    def stand_still(_argv: object) -> Never:
        raise ClockStoodStill(Task(1, "urcu3", program, is_idle=False), 15.0, "15 s in its own code")

    monkeypatch.setattr(experiments, "_virtual", stand_still)
    (measured,) = experiments.measure([work.read(work.start(catalogue.find(6), Variant("anna"), tmp_path / "x"))])
    assert measured.verdict is Verdict.UNUSABLE and program in measured.failure and said in measured.failure


def test_nothing_is_judged_by_a_measurement_that_is_not_faithful(tmp_path):
    submission = work.read(work.start(catalogue.find(2), Variant("anna"), tmp_path / "x"))
    doubtful = judged(submission, Measured({}, Verdict.DEGRADED, ["late"]))
    assert not doubtful.is_judged and not doubtful.passed and doubtful.of == 0


@pytest.mark.parametrize(
    ("handed_in", "notes"),
    [
        ({"anna": "anna", "ANNA-lab2": "Anna"}, ["2 submissions are of the variant"] * 2),
        ({"jose\u0301": "Jos\xe9", "Zo\xeb  B": "zoe\u0308  b"}, ["", ""]),
        ({"Anna Lee_123_file_": "anna lee", "Ben_124_file_": "BEN"}, ["", ""]),
        ({"anna": "anna", "dan": "a"}, ["", "the variant is of a, and the submission is called dan"]),
        ({"anna": "anna", "dan!": "!"}, ["", "the variant is of !, and the submission is called dan!"]),
        ({"anna_file": "anna", "ben_file": "file"}, ["", "of file, which anna_file could be, too"]),
    ],
)
def test_whose_work_it_is_can_be_doubted(handed_in, notes):
    marks = [Marks(Status.JUDGED, 2, student, "", 3, 3, name=name) for name, student in handed_in.items()]
    for found, note in zip(with_doubts(marks, ""), notes, strict=True):
        assert note in found.note and bool(note) == bool(found.note), found
    (other_course,) = with_doubts([Marks(Status.JUDGED, 3, "cleo", "2025", 3, 3, name="cleo-lab3")], "")
    assert other_course.note == "the variant is of course '2025' instead of ''"


@pytest.mark.parametrize(
    "text",
    ["= 1", "fast = '1'", *(f"fast = {value}" for value in ("nan", "inf", "9" * 5000, f"0x{'f' * 999}", "[" * 9999))],
)
def test_a_setting_that_is_no_number_to_measure_with_is_refused(tmp_path, text):
    (tmp_path / "x.toml").write_text(text)
    with pytest.raises(MeasurementFailed, match=r"^x\.toml"):
        files.settings(work.Work(tmp_path), "x.toml", {"fast": float})


@pytest.mark.parametrize("printed", ['{"requests": NaN, "p50_ms": 3, "p99_ms": 500}', "[" * 9999, "[1"])
def test_a_program_that_prints_no_numbers_has_measured_nothing(printed):
    with pytest.raises(MeasurementFailed, match="its last line is not like"):
        lab12_measuring._printed(printed)


SHORT_MS = {f"{protocol}{load}": 50.0 for protocol in ("tcp", "mptcp") for load in ("", "_more")}
AS_DELIVERED = {"probe_mb": 0.1, "probe_mbit": 1.5, "large_mbit": 1.6, "seconds": 30.0}


@pytest.mark.parametrize(("lab", "names", "values"), [(9, ("tcp", "mptcp"), SHORT_MS), (10, (), AS_DELIVERED)])
def test_what_takes_no_work_is_worth_nothing(lab, names, values, tmp_path):
    folder = work.start(catalogue.find(lab), Variant("anna"), tmp_path / "x")
    (folder / "answers.toml").write_text("".join(f"{name}_per_s = 1\n" for name in names))
    assert judged(work.read(folder), Measured(values)).points == 0


def test_marks_go_into_the_files_of_other_programs(tmp_path):
    hostile = Marks(Status.UNREADABLE, name="=cmd()", note="+1")
    write_csv([MARKS, hostile], tmp_path / "m.csv")
    first, second = csv.DictReader((tmp_path / "m.csv").open())
    assert (first["student"], first["points"], first["of"], first["hints"]) == ("anna", "1", "3", "think")
    assert (second["submission"], second["note"]) == ("'=cmd()", "'+1")
    write_nbgrader([MARKS, hostile], tmp_path / "n.csv")
    (row,) = csv.DictReader((tmp_path / "n.csv").open())
    assert (row["assignment"], row["student_id"], row["score"], row["max_score"]) == ("lab02", "anna", "1", "3")
    found = gradescope(MARKS)
    assert found["score"] == 1 and [each["max_score"] for each in found["tests"]] == [1, 2]
    assert found["tests"][1]["output"] == "bdp = 2\nhint: think"
