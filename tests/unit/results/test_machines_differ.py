"""Machines of a cluster that measure otherwise than others are named, and no others."""

import random

from results.records import Cell, CellResult, Certificate, Measurement, Metric, Verdict
from results.statistics.machines import machine_difference
from results.summary.verdicts import badge_text, doubts


def run(slow: dict[str, float], seed: int, repeat: int = 6, noise: float = 0.02) -> list[CellResult]:
    """Two protocols at two loads on three machines; the machine of a cell goes round."""
    chance, cells = random.Random(seed), []
    points = [("tcp", 500), ("tcp", 800), ("mptcp", 500), ("mptcp", 800)]
    for number, (protocol, load) in enumerate(points):
        for repetition in range(1, repeat + 1):
            host = "abc"[(number + repetition) % 3]
            value = load * (1.4 if protocol == "mptcp" else 1.0) * slow.get(host, 1.0) * chance.gauss(1, noise)
            found = {"worker": {"host": host, "machine": f"boot of {host}"}}
            measured = Measurement({"requests_per_s": Metric(value, "1/s"), "negative": Metric(-1.0, "1")})
            parameters = {"protocol": protocol, "load": load}
            cells.append(CellResult(Cell(parameters, repetition), measured, Certificate(Verdict.FAITHFUL, (), found)))
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
    false = sum(machine_difference(run({}, seed)) is not None for seed in range(300))
    assert false <= 8, "one in a hundred"


def test_what_cannot_be_known_is_not_told():
    cells = run({"b": 0.5}, seed=2)
    assert machine_difference([]) is None
    assert machine_difference([cell for cell in cells if cell.certificate.found["worker"]["host"] == "b"]) is None
    apart = [cell for cell in cells if (cell.cell.parameters["load"] == 500) is (_host(cell) == "b")]
    assert machine_difference(apart) is None, "b measured other points than the others"
    assert machine_difference(run({"b": 0.5}, seed=3, noise=0.0)) is None, "without noise nothing is known of chance"
    without = [CellResult(cell.cell, cell.measurement, Certificate(Verdict.FAITHFUL)) for cell in cells]
    assert machine_difference(without) is None


def _host(cell: CellResult) -> str:
    return cell.certificate.found["worker"]["host"]
