"""Machines of a cluster that measure otherwise than others are named, and no others."""

import random
import statistics
from dataclasses import replace

from results.comparison.compare import Change, compare_runs
from results.records import CellResult, Certificate, Verdict
from results.statistics.estimates import summarise
from results.statistics.machines import machine_difference
from results.summary.verdicts import badge_text, doubts
from tests.support.made_up_runs import measured, run_record

RATE = "requests_per_s"


def run(slow: dict[str, float], seed: int, repeat: int = 6, noise: float = 0.02) -> list[CellResult]:
    """Two protocols at two loads on three machines; the machine of a cell goes round."""
    chance, cells = random.Random(seed), []
    for number, (protocol, load) in enumerate([("tcp", 500), ("tcp", 800), ("mptcp", 500), ("mptcp", 800)]):
        for repetition in range(1, repeat + 1):
            host = "abc"[(number + repetition) % 3]
            value = load * (1.4 if protocol == "mptcp" else 1.0) * slow.get(host, 1.0) * chance.gauss(1, noise)
            found = {"worker": {"host": host, "machine": f"boot of {host}"}}
            cell = measured({"protocol": protocol, "load": load}, repetition, requests_per_s=value, rtt_growth=-1.0)
            cells.append(replace(cell, certificate=Certificate(Verdict.FAITHFUL, (), found)))
    return cells


def test_a_slow_machine_is_found_with_how_slow_it_is():
    found = machine_difference(run({"b": 0.8}, seed=1))
    assert (found.metric, found.host) == ("requests_per_s", "b")
    # The mean of all machines is lower, too: 0.8 / 0.8^(1/3).
    assert abs(found.factor - 0.8 ** (2 / 3)) < 0.02 and found.p < 1e-6
    text = badge_text(run({"b": 0.8}, seed=1))
    assert "machines differ: requests_per_s 14 % lower on b" in text, text
    assert any("machines differ" in sentence for sentence in doubts(run({"b": 0.8}, seed=1)))


def test_equal_machines_are_rarely_told_to_differ():
    assert sum(machine_difference(run({}, seed)) is not None for seed in range(150)) <= 4, "one in a hundred"


def test_what_cannot_be_known_is_not_told():
    cells = run({"b": 0.5}, seed=2)
    assert machine_difference([]) is None
    assert machine_difference([cell for cell in cells if cell.certificate.found["worker"]["host"] == "b"]) is None
    apart = [cell for cell in cells if (cell.cell.parameters["load"] == 500) is (_host(cell) == "b")]
    assert machine_difference(apart) is None, "b measured other points than the others"
    assert machine_difference(run({"b": 0.5}, seed=3, noise=0.0)) is None, "without noise nothing is known of chance"
    assert machine_difference(_anonymous(cells)) is None


def _host(cell: CellResult) -> str:
    return cell.certificate.found["worker"]["host"]


def test_intervals_do_not_take_machines_for_noise():
    differing, equal = ([summarise(run(slow, seed), RATE)[0] for seed in range(50)] for slow in ({"b": 0.8}, {}))
    widths = [statistics.fmean(each.estimate.half_width for each in of) for of in (differing, equal)]
    assert widths[0] < 1.1 * widths[1], "as narrow as if no machine were slow"
    assert not set(differing[0].values) & set(differing[0].steady), "the values themselves stay as measured"


def test_such_an_interval_holds_the_truth_as_often_as_it_says():
    truth, held, of = 500 * 0.8 ** (1 / 3), 0, 200
    for seed in range(of):
        points = {tuple(each.parameters.values()): each for each in summarise(run({"b": 0.8}, seed), RATE)}
        held += points["tcp", 500].estimate.contains(truth)
    assert 0.92 <= held / of <= 0.98, held / of


def test_in_virtual_time_machines_do_not_matter():
    cells = run({"b": 0.8}, 1)
    for cell in cells:
        cell.certificate.found["clock"] = "virtual"
    assert machine_difference(cells) is None
    assert all(summary.values == summary.steady for summary in summarise(cells, RATE))


def test_a_machine_that_measured_more_of_one_run_is_no_change_between_runs():
    """The slow machine measured most cells of the one run, and few of the other."""
    before = [cell for cell in run({"b": 0.7}, 1, repeat=24) if _host(cell) == "b" or cell.cell.repetition < 8]
    after = [cell for cell in run({"b": 0.7}, 2, repeat=24) if _host(cell) != "b" or cell.cell.repetition < 8]
    compared = compare_runs((run_record("one"), before), (run_record("two"), after), [RATE])
    assert {each.change for each in compared.comparisons} == {Change.SAME}, compared.sentences
    naive = compare_runs((run_record("one"), _anonymous(before)), (run_record("two"), _anonymous(after)), [RATE])
    assert Change.FASTER in {each.change for each in naive.comparisons}, "this test can fail"


def test_runs_without_a_common_machine_say_so():
    cells = run({}, 1)
    sides = [(run_record(host), [cell for cell in cells if _host(cell) == host]) for host in "ab"]
    assert any("may be the machines" in note for note in compare_runs(*sides, [RATE]).notes)
    assert not any("may be the machines" in note for note in compare_runs(sides[0], sides[0], [RATE]).notes)


def _anonymous(cells: list[CellResult]) -> list[CellResult]:
    return [replace(cell, certificate=Certificate(Verdict.FAITHFUL)) for cell in cells]
