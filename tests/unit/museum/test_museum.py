"""The museum: its record is that of its entries, all their claims hold, and the page says what the record says."""

import pytest

from experiments import catalogue as scenarios
from flightpath.cli import main
from flightpath.project import PROJECT
from museum import catalogue, page, record
from results.records import ClaimVerdict
from tests.support.plans import plan_of


def test_the_record_and_its_page_have_all_entries():
    measured = record.read_record()
    assert len(measured) >= 14 and [*measured] == catalogue.names()
    assert page.PAGE.read_text(encoding="utf-8") == page.page_of(measured), "flightpath museum record NAME writes it"


@pytest.mark.parametrize("name", catalogue.names())
def test_an_entry_is_measured_as_it_stands_and_each_of_its_claims_holds(name):
    scenario = scenarios.load(catalogue.file_of(name))
    plan, found = plan_of(scenario), record.read_record()[name]
    scenario.require(plan)
    measured_cells = {(*each["parameters"].items(), each["repetition"]) for each in found["cells"]}
    assert measured_cells == {(*cell.parameters.items(), cell.repetition) for cell in plan.cells()}
    verdicts = {each.claim: each.verdict for each in record.claims(name, found)}
    assert len(verdicts) == len(scenario.claims) >= 2 and {*verdicts.values()} == {ClaimVerdict.REPRODUCED}, verdicts
    report = catalogue.entry(name)[1]
    assert report.cause and report.remedy and f"({page.address(report)})" in page.PAGE.read_text(encoding="utf-8")


def test_an_entry_is_measured_by_the_programs_that_it_starts_and_by_no_others():
    started = {
        "mininet_421": [],
        "gns3_gui_2321": ["museum/entries/emulator.py"],
        "quinn_1839": ["museum/entries/quic.py", "museum/entries/own_python.py", "services/quic"],
        "ryu_138": ["museum/entries/controller.py", "museum/entries/own_python.py", "controllers"],
    }
    for name, programs in started.items():
        assert [str(path.relative_to(PROJECT)) for path in record.programs_of(catalogue.file_of(name))] == programs


def test_the_command_lists_shows_and_runs_entries(capsys):
    assert main(["museum", "list"]) == 0
    listed = capsys.readouterr().out
    assert all(name in listed for name in catalogue.names())
    assert main(["museum", "show", "kollaps_47"]) == 0
    shown = capsys.readouterr().out
    assert "miguelammatos/Kollaps#47" in shown and "95.6" in shown and "What would change it" in shown
    with pytest.raises(SystemExit) as ended:
        main(["museum", "run", "kollaps_47", "--dry-run", "--repeat", "1"])
    assert ended.value.code == 0 and "4 cells" in capsys.readouterr().out


@pytest.mark.parametrize("command", ["show", "run", "record"])
def test_an_unknown_entry_is_refused_with_the_nearest_one(capsys, command):
    assert main(["museum", command, "kolaps_47"]) == 2
    assert "did you mean 'kollaps_47'" in capsys.readouterr().err
