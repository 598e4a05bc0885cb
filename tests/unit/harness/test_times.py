"""`make test-times`: the tables of what the last run took."""

from tests import times
from tests.support.running import times as kept


def test_names_of_tests_are_printed_as_they_are(monkeypatch, capsys):
    name = "tests/unit/x/test_y.py::test_a_folder[/dev/shm]"
    phase = kept.Phase("alone", 0.0, 90.0, (1.0, 2.0), {name: kept.TestTime(80.0, 60.0)})
    monkeypatch.setattr(times, "phases", lambda: [phase])
    monkeypatch.setattr("sys.argv", ["times"])
    assert times.main() == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["alone", "1", "0", "0", "1.5", "1.0,", "2.0"] in rows
    assert ["tests/unit/x", "1", "80", "60"] in rows
    assert [name.removeprefix("tests/"), "80.0", "60.0", "passed"] in rows
