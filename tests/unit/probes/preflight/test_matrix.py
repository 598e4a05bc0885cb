"""The matrix of sites: its schedule, what it says of each path, and its figure."""

import re
import threading
from dataclasses import replace

from rich.console import Console

from flightpath.errors import MeasurementFailed
from probes.preflight.commands.matrix import _exit_code
from probes.preflight.commands.matrix_output import Measured, draw, print_matrix, summary
from probes.preflight.history.past import load
from probes.preflight.history.regression_check import Judgement, Standing
from probes.preflight.measure import matrix as matrix_module
from probes.preflight.measure.matrix import Pair, in_turn
from results.figures import style
from results.figures.matrix import matrix
from results.records import Verdict
from results.store.store import Store
from tests.support.preflight_made_up import HOST, measurement, store_result

SITES = ("a", "user@b", "c", "d")
NARROW = {"width": 80, "force_terminal": True, "color_system": None}
MESH = [Pair(source, target) for source in SITES for target in SITES if source != target]


def test_no_two_measurements_share_an_end_and_others_run_at_the_same_time():
    busy, most, lock, two = [], [0], threading.Lock(), threading.Event()

    def measure(pair: Pair) -> str:
        with lock:
            assert not set(pair) & set(busy), (pair, busy)
            busy.extend(pair)
            most[0] = max(most[0], len(busy) // 2)
            if most[0] == 2:
                two.set()
        two.wait(30)  # the first one, for a second
        with lock:
            for site in pair:
                busy.remove(site)
        return pair.name

    found = dict(in_turn(MESH, measure, len(MESH)))
    assert sorted(found) == sorted(MESH) and all(pair.name == name for pair, name in found.items())
    assert most[0] == 2 and Pair("a", "user@b").name == "a/b"
    most[0] = 0
    assert len(dict(in_turn(MESH, measure, 1))) == 12 and most[0] == 1


def test_measurements_that_end_together_come_in_the_order_of_their_pairs(monkeypatch):
    wait = matrix_module.wait
    monkeypatch.setattr(matrix_module, "wait", lambda running, return_when: wait(running))
    pairs = [Pair(f"a{n}", f"b{n}") for n in range(20)]
    assert [pair for pair, _ in in_turn(pairs, str, len(pairs))] == pairs


def path(source: str, target: str, *, change: float | None = None, error: str = "") -> Measured:
    standing = Standing.UNKNOWN if change is None else Standing.BELOW if change < -0.1 else Standing.WITHIN
    judgement = None if error else Judgement(standing, 1e8 * (1 + (change or 0)), change and 1e8, None, None, 9)
    return Measured(Pair(source, target), error=error, judgement=judgement)


def test_a_worse_or_failed_path_decides_the_exit_code():
    good, worse, failed = path("a", "b", change=0.01), path("b", "a", change=-0.3), path("a", "c", error="no route")
    assert _exit_code([good]) == 4, "nothing was measured, so nothing can be trusted"
    assert _exit_code([good, worse]) == _exit_code([good, failed]) == MeasurementFailed.exit_code
    assert summary([good, worse, failed]) == "3 paths: 1 worse than usual, 1 failed"


def test_no_name_is_cut_on_a_narrow_terminal(capsys):
    sites = [f"dtn{number}.[university].example" for number in range(6)]
    failed = [path(a, b, error="no route") for a in sites for b in sites if a != b]
    print_matrix(Console(**NARROW), failed, sites, sites, ())
    table = capsys.readouterr().out.partition("failed")[2]
    assert all(site in table for site in sites) and "…" not in table


def test_thirty_sites_fit_into_a_terminal_a_figure_and_a_page(tmp_path, capsys):
    """Each of 870 paths has its cell, its sign, and its history behind a link."""
    sites = [f"dtn{number}.[site].example" for number in range(30)]
    kinds = {(0, 1): {"error": "no route"}, (1, 0): {"change": -0.3}}
    store_result(measurement([9e8]), tmp_path / "store")
    (past,) = load(Store.open(tmp_path / "store"), HOST)
    paths = [
        replace(path(a, b, **kinds.get((i, j), {"change": 0.01})), pasts=[past] * 3)
        for i, a in enumerate(sites)
        for j, b in enumerate(sites)
        if a != b
    ]
    paths = [each if each.error else replace(each, result=measurement([9e8])) for each in paths]
    print_matrix(Console(**NARROW), paths, sites, sites, ())
    lines = capsys.readouterr().out.splitlines()
    assert all(len(line) <= 80 for line in lines[:32])
    rows = {line.split()[0]: line for line in lines[2:32]}
    assert rows["1"].startswith(" 1  x====") and rows["2"].startswith(" 2 - ====")
    assert any(line.startswith("dtn1.[site].example to dtn0.[site].example: worse") for line in lines)
    files = draw(paths, sites, sites, tmp_path / "paths.png")
    assert [name.rpartition(".")[2] for name in files] == ["png", "svg", "html"]
    page, svg = (tmp_path / "paths.html").read_text(), (tmp_path / "paths.svg").read_text()
    links = set(re.findall(r'href="#([0-9a-f]+)"', page))
    assert len(links) == 870 and links == set(re.findall(r'<section id="([0-9a-f]+)"', page))
    assert set(re.findall(r'href="paths.html#([0-9a-f]+)"', svg)) == links
    assert page.count('class="failed"') == page.count('class="worse"') == 1
    assert "not measured" in page and "no route" in page and len(page) < 4e6


def test_the_figure_has_a_row_for_each_source(tmp_path):
    rates = {("a", "b"): 9.4e7, ("b", "a"): 2.0e7}
    words = {pair: f"{rate / 1e6:.1f} Mbit/s" for pair, rate in rates.items()} | {("a", "c"): "failed"}
    how = {"title": "Goodput between sites", "badge": "3 paths", "verdict": Verdict.FAITHFUL, "legend": "* a machine"}
    figure = matrix(rates, words, ["a", "b"], ["a", "b", "c"], **how)
    axes, bar = figure.axes
    assert "94 Mbit/s" in [label.get_text() for label in bar.get_yticklabels()]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["a", "b"]
    assert {text.get_text() for text in axes.texts} >= {"94.0 Mbit/s", "20.0 Mbit/s", "failed", "* a machine"}
    png, svg = style.save(figure, tmp_path, "paths")
    assert "94.0 Mbit/s" in svg.read_text() and png.stat().st_size > 5000
    assert matrix({}, {}, ["a"], ["b"], **how).axes, "nothing measured"
