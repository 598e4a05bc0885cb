"""Tables of our own making: what their models say, and the command that writes them."""

import math
import re
import statistics

import pytest

from flightpath.project import PROJECT
from scenarios.command import new
from topologies.links.spec import LinkSpec, link_fields
from topologies.links.table_models import table_of
from topologies.links.tables import read_table


def specs(tmp_path, model, seed=1, seconds=60):
    """Returns the link's specification at the time of each row."""
    path = tmp_path / "table.csv"
    path.write_text(table_of(model, seconds, seed))
    table, values, found = read_table(path), {}, {}
    assert table.lasts_s == seconds
    for at_s, settings in table.changes(1):
        values |= link_fields(settings)
        found[at_s] = LinkSpec(**values)
    return found


def test_a_satellite_hands_over_every_15_s_and_its_delay_is_its_distance(tmp_path):
    rows = specs(tmp_path, "leo", seconds=180)
    outages = [at_s for at_s, spec in rows.items() if spec.loss == 1]
    assert outages == [15.0 * number for number in range(1, 12)]
    passing = {at_s: spec for at_s, spec in rows.items() if spec.loss < 1}
    assert {spec.loss for spec in passing.values()} == {0.002}
    assert {round(at_s % 15, 9) for at_s in passing} == {0.1, *range(15)}
    slots = {}
    for at_s, spec in passing.items():
        slots.setdefault(int(at_s / 15), []).append((at_s, spec))
    for slot in slots.values():
        assert len({spec.bandwidth_bps for _, spec in slot}) == 1 and 50e6 <= slot[0][1].bandwidth_bps <= 150e6
        distances = [(spec.delay_s - 0.005) * 299_792.458 / 2 for _, spec in slot]
        assert min(distances) > 549.99 and max(distances) < math.hypot(550, 900) + 0.01
        # The square of the distance to what moves on a straight line has its speed in its second difference.
        squares = [distance**2 for distance in distances[1:]]  # the first may be of another fraction of a second
        bends = [a - 2 * b + c for a, b, c in zip(squares, squares[1:], squares[2:], strict=False)]
        assert bends == pytest.approx([2 * 7.6**2] * 12, abs=1)
    assert len({slot[0][1].bandwidth_bps for slot in slots.values()}) == 12


def test_a_cell_gives_log_normal_rates_with_a_memory_of_a_second(tmp_path):
    levels = []
    for seed in range(20):
        rows = specs(tmp_path, "lte", seed, seconds=180)
        assert list(rows)[:3] == [0.0, 0.1, 0.2] and {spec.delay_s for spec in rows.values()} == {0.025}
        levels.append([math.log(spec.bandwidth_bps / 20e6) for spec in rows.values()])
    together = [level for series in levels for level in series]
    assert statistics.fmean(together) == pytest.approx(0, abs=0.1)
    assert statistics.pstdev(together) == pytest.approx(0.7, abs=0.06)
    later = [(series[at], series[at + 10]) for series in levels for at in range(len(series) - 10)]
    assert statistics.correlation(*zip(*later, strict=True)) == pytest.approx(math.exp(-1), abs=0.06)


def test_the_table_of_the_document_is_one(tmp_path):
    document = (PROJECT / "docs/links.md").read_text(encoding="utf-8")
    path = tmp_path / "table.csv"
    path.write_text(re.search(r"```\n(time,.*?)```", document, re.DOTALL)[1])
    table = read_table(path)
    assert table.lasts_s == 30 and [at_s for at_s, _ in table.changes(1)] == [0, 15, 15.1]


def test_the_command_writes_a_table_and_overwrites_none(tmp_path, capsys):
    path = tmp_path / "leo.csv"
    assert new.main(["table", "leo", str(path), "--seconds", "20", "--seed", "3"]) == 0
    assert path.read_text() == table_of("leo", 20, 3)
    assert f"table={path}" in capsys.readouterr().out
    for words, message in [
        ([str(path)], "exists already"),
        ([str(tmp_path / "leo.txt")], "a table ends in .csv"),
        ([str(tmp_path / "long.csv"), "--seconds", "181"], "--seconds: '181' is not a whole number from 1 to 180"),
    ]:
        assert new.main(["table", "leo", *words]) == 2
        assert message in capsys.readouterr().err
    assert [each.name for each in tmp_path.iterdir()] == ["leo.csv"]
