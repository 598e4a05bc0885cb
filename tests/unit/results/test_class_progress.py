"""A class's store: students write what their checks found and read nothing; the class is shown without names."""

import pytest

from flightpath.errors import FlightpathError
from labs.__main__ import main
from results.commands.scenarios import answer_of
from results.dashboard.app import application
from results.store.lab_checks import Best, LabCheck, by_lab, by_student, has_checks, keep_check, lab_checks
from results.store.location import StoreLocation, server_url
from results.store.store import Store
from tests.support.asking_pages import asked
from tests.support.database_server import PASSWORD


def check(student: str, points: int, *hints: str, lab: int = 2, course: str = "") -> LabCheck:
    return LabCheck(lab, f"Lab {lab} <of all>", student, course, points, 4, hints)


CLASS = [
    check("anna", 1, "how long?", "how much?"),
    check("anna", 4),
    check("ben", 1, "how long?"),
    check("ben", 2, "how much?"),
    check("cem", 0, "how much?", "how long?"),
    check("anna", 3, "why?", lab=3),
    check("dora", 4),
]


def test_progress_counts_students_and_their_checks_until_it_is_solved():
    second, third = by_lab(CLASS)
    assert (second.lab, second.students, second.solved, second.checks) == (2, 4, 2, 1.5)
    assert second.hint == "how much?", "of ben's and cem's last checks"
    assert (third.students, third.solved, third.checks, third.hint) == (1, 0, None, "why?")
    assert by_student(CLASS)["ben"] == {2: Best(2, 4, checks=2)}
    assert by_student(CLASS)["anna"] == {2: Best(4, 4, checks=2), 3: Best(3, 4, checks=1)}
    assert by_lab([]) == []


def page(store: Store, *, names: bool) -> str:
    status, body = asked(application(store, lambda *_: [], answer_of, names=names), "/class")
    assert status == 200
    return body.decode()


def test_the_page_shows_names_to_the_teacher_alone(tmp_path):
    store = Store.open(tmp_path)
    assert "Nobody has checked" in page(store, names=True) and not has_checks(store)
    for each in CLASS:
        keep_check(store, each)
    assert lab_checks(store) == CLASS and lab_checks(store, "other") == []
    shown, with_names = page(store, names=False), page(store, names=True)
    assert "Lab 2 &lt;of all&gt;" in shown and "how much?" in shown and 'href="/class"' in shown
    assert not any(name in shown for name in ("anna", "ben", "cem", "dora"))
    assert '<th scope="row">cem</th>' in with_names


def test_students_write_checks_that_they_cannot_read(server, monkeypatch, capsys, tmp_path):
    url = server.database()
    teachers = str(url.set(drivername="postgresql"))
    assert main(["class", "--store", teachers]) == 0  # prepares the database
    server.sql("GRANT INSERT ON lab_checks TO student; GRANT SELECT ON alembic_version TO student", url.database)
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    students = server_url(str(url.set(drivername="postgresql", username="student")))
    store = Store.open(StoreLocation(tmp_path, students))
    keep_check(store, check("anna", 4, course="2026"))
    with pytest.raises(FlightpathError, match="permission denied"):
        lab_checks(store)
    capsys.readouterr()
    assert main(["class", "--store", teachers, "--course", "2026", "--names"]) == 0
    printed = capsys.readouterr().out
    assert "anna" in printed and "4 of 4" in printed
    keep_check(store, check("[red]x[/red]", 1, "[bold]\x1b[2Jhow[/bold]", course="hostile"))
    assert main(["class", "--store", teachers, "--course", "hostile", "--names"]) == 0
    printed = capsys.readouterr().out
    assert "[red]x[/red]" in printed and "[bold]" in printed and "\x1b[2J" not in printed
    assert main(["class", "--store", teachers, "--course", "2025", "--names"]) == 0
    assert "anna" not in capsys.readouterr().out
