"""The commands of teachers: grade, variant, class."""

import argparse
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.console import Console
from rich.progress import track
from rich.table import Table

from flightpath.command_line import check_jobs, sigterm_as_interrupt
from flightpath.terminal import plain, print_table
from labs.commands.student import Commands, add_variant, class_store
from labs.framework import catalogue
from labs.framework.lab import Variant
from labs.grading.grading import grade
from labs.grading.marks import Marks, Status, with_doubts, write_csv, write_gradescope, write_nbgrader
from labs.grading.submissions import HandedIn, find
from results.store.lab_checks import Best, by_lab, by_student, lab_checks
from results.store.location import STORE_FORM

_GRADE = """\
Grades submissions, each confined: without network, with bounded time, memory and output, and without access to anything
else. A submission is the folder that `flightpath lab start` made, or a .zip of it; a folder is searched for them. Exit
codes: 0 all were judged, 4 some could not be.
"""


_CLASS = """\
Prints how many students have tried and solved each lab, after how many checks, and the most frequent hint of those who
have not. If the database on the PostgreSQL server is empty, it is prepared. Give your students the URL of a role that
may write checks but not read them: CREATE ROLE class LOGIN PASSWORD '...'; GRANT INSERT ON lab_checks TO class; GRANT
SELECT ON alembic_version TO class. `flightpath results serve --store URL` shows the same as a live page; --names, for
you alone, adds the students.
"""


def add_commands(commands: Commands) -> None:
    grading = commands.add_parser("grade", help="marks for a folder of submissions", description=_GRADE)
    grading.add_argument("submissions", nargs="+", type=Path, metavar="SUBMISSIONS", help="folders or .zip files")
    grading.add_argument("--course", default="", metavar="WORD", help="the word that you gave out, if any")
    grading.add_argument(
        "--jobs", type=int, metavar="N", help="submissions to grade in parallel (default: one per processor)"
    )
    grading.add_argument("--csv", type=Path, metavar="FILE", help="write a line for each submission")
    grading.add_argument(
        "--nbgrader", type=Path, metavar="FILE", help="write a CSV file with the columns of nbgrader's export"
    )
    grading.add_argument(
        "--gradescope", type=Path, metavar="DIR", help="write a results.json for each, as Gradescope reads it"
    )
    grading.set_defaults(run_command=_grade)

    progress = commands.add_parser("class", help="how far the class has come", description=_CLASS)
    progress.add_argument("--store", required=True, metavar="URL", help=f"the class's database: {STORE_FORM}")
    progress.add_argument("--course", metavar="WORD", help="only the checks of this course")
    progress.add_argument("--names", action="store_true", help="show each student, too")
    progress.set_defaults(run_command=_class)

    text = "Prints the numbers of a student's variant."
    variant = commands.add_parser("variant", help="print the numbers of a student's variant", description=text)
    variant.add_argument("lab", metavar="LAB", help="its number or its name")
    add_variant(variant)
    variant.set_defaults(run_command=_variant)


def _variant(options: argparse.Namespace) -> int:
    for name, value in Variant(options.student, options.course).parameters(catalogue.find(options.lab)).items():
        print(f"{name} = {value}")
    return 0


def _class(options: argparse.Namespace) -> int:
    checks = lab_checks(class_store(options.store), options.course)
    table = Table("lab", "title", "students", "solved", "checks until solved", "most frequent hint")
    for each in by_lab(checks):
        needed = "-" if each.checks is None else f"{each.checks:g}"
        words = (str(each.lab), each.title, str(each.students), str(each.solved), needed, each.hint or "-")
        table.add_row(*map(plain, words))  # students write titles and hints
    print_table(Console(), table)
    if options.names:
        _print_students(by_student(checks))
    return 0


def _print_students(students: Mapping[str, Mapping[int, Best]]) -> None:
    table = Table("student", "lab", "points", "checks")
    for student, labs in students.items():
        for lab, best in labs.items():
            table.add_row(plain(student), str(lab), f"{best.points} of {best.most_points}", str(best.checks))
    print_table(Console(), table)


def _grade(options: argparse.Namespace) -> int:
    check_jobs(options.jobs)
    sigterm_as_interrupt()
    jobs = options.jobs or os.cpu_count() or 1
    marks = with_doubts(_graded(find(options.submissions), jobs), options.course)
    _print(marks)
    if options.csv:
        write_csv(marks, options.csv)
    if options.nbgrader:
        write_nbgrader(marks, options.nbgrader)
    if options.gradescope:
        write_gradescope(marks, options.gradescope)
    return 0 if all(each.status is Status.JUDGED for each in marks) else 4


def _graded(handed_in: Sequence[HandedIn], jobs: int) -> list[Marks]:
    console = Console(stderr=True)
    done = track(grade(handed_in, jobs), "grading", total=len(handed_in), console=console)
    return sorted(done, key=lambda each: each.name)


def _print(marks: Sequence[Marks]) -> None:
    table = Table("submission", "lab", "student", "points", "status", "note")
    for each in marks:
        points = f"{each.points} of {each.of}" if each.status is Status.JUDGED else "-"
        words = (each.name, str(each.lab or "-"), each.student, points, str(each.status), each.note)
        table.add_row(*map(plain, words))
    print_table(Console(), table)
