"""The figures of the MPTCP load paper: in both formats, each with its verdict in words."""

from pathlib import Path

import matplotlib
import pytest

from experiments.claims import check_claims
from results.figures.drawing import draw_figures
from results.figures.over_time import averaged
from results.records import CellResult, Series, Verdict
from results.summary.verdicts import badge_text
from scenarios.web_load.claims import mptcp_load_claims
from scenarios.web_load.figures import mptcp_load_figures
from scenarios.web_load.words import answer
from tests.support.made_up_runs import cell, judged, like_the_paper, scaled
from tests.support.reading_pages import words_of

FEW = (500.0, 615.4, 800.0)
FIGURES = {
    "fig2_throughput": "500 requests/s offered|time (s)|offered rate|end of the ramp|one repetition|TCP|MPTCP",
    "fig3_throughput_between_hosts": "throughput (Mbit/s)|MPTCP, path b",
    "fig3_throughput_between_hosts_over_time": "time (s)",
    "fig4_error_rate": "error rate (% of requests)",
    "fig5_run_time": "run time (s)|schedule",
    "fig6_latency": "response time (ms)|p99, intended",
}
KINDS = {".png": b"\x89PNG\r\n\x1a\n", ".svg": b"<?xml"}


def figures(cells: list[CellResult], folder: Path) -> list[Path]:
    return draw_figures(mptcp_load_figures(), cells, folder)


def test_every_figure_is_drawn_as_png_and_svg_and_says_its_verdict_units_and_what_is_compared(tmp_path):
    before = dict(matplotlib.rcParams)
    cells = like_the_paper(2, FEW)
    cells[2] = judged(cells[2], Verdict.DEGRADED, "idle CPU below 5 % for $3 & more")
    drawn = figures(cells, tmp_path)
    assert {path.name for path in drawn} == {f"{name}.{suffix}" for name in FIGURES for suffix in ("png", "svg")}
    assert all(path.read_bytes().startswith(KINDS[path.suffix]) for path in drawn)
    for name, texts in FIGURES.items():
        drawn_words = words_of(tmp_path / f"{name}.svg")
        assert [text for text in texts.split("|") if text not in drawn_words] == [], name
        assert "degraded: idle CPU below 5 % for $3 & more (1 of 12" in drawn_words, name
    again = draw_figures({"fig2_throughput": mptcp_load_figures()["fig2_throughput"]}, cells, tmp_path / "again")
    assert [path.read_bytes() for path in again] == [(tmp_path / path.name).read_bytes() for path in again]
    assert dict(matplotlib.rcParams) == before


def test_a_single_cell_is_drawn_although_it_is_unusable_but_no_plot_of_zeros_and_none_without_cells(tmp_path):
    spoilt = judged(cell("mptcp", 500, error_rate=1), Verdict.UNUSABLE, "slow")
    assert {path.stem for path in figures([spoilt], tmp_path)} == FIGURES.keys()
    assert "unusable: slow (1 of 1 cell" in words_of(tmp_path / "fig4_error_rate.svg")
    assert {path.stem for path in figures([cell("mptcp", 500)], tmp_path)} == FIGURES.keys() - {"fig4_error_rate"}
    assert figures([], tmp_path) == []


def test_the_mean_over_time_goes_on_while_half_of_the_repetitions_do():
    short = Series("1/s", (0.0, 1.0), (10.0, 20.0))
    long = Series("1/s", (0.0, 1.0, 2.0), (20.0, 40.0, 60.0))
    assert averaged([short, long]) == Series("1/s", (0.0, 1.0, 2.0), (15.0, 30.0, 60.0))
    assert averaged([short, short, long]).times_s == (0.0, 1.0)
    assert averaged([]) is None and averaged([Series("1/s", (), ())]) is None


@pytest.mark.parametrize(
    ("reasons", "text"),
    [
        ([], "unusable: no cell was measured"),
        ([("often", f"rare {name}") for name in "abc"], "degraded: often; rare a; and 2 more (3 of 3 cells)"),
        ([("idle for 96 % of 1 s",), ("idle for 99 % of 1 s",)], "degraded: idle for 96 to 99 % of 1 s (2 of 2 cells)"),
        (
            [
                ("path h1-h2 (interface 0): round trip 1.1 ms, the worst of 2",),
                ("path h1-h3 (interface 1): round trip 2 ms",),
            ],
            "degraded: paths: round trip 1.1 to 2 ms (2 of 2 cells)",
        ),
    ],
    ids=["none", "the commonest first, and the rest counted", "one cause with the range of its numbers", "any path"],
)
def test_a_badge_has_the_reasons_of_all_cells(reasons, text):
    cells = [judged(cell("tcp", 500, n), Verdict.DEGRADED, *each) for n, each in enumerate(reasons, start=1)]
    assert badge_text(cells) == text


def test_the_scale_of_a_run_stands_at_its_figures_and_claims():
    cells = [scaled(c, 0.4) for c in like_the_paper()]
    assert badge_text(cells) == "faithful (42 cells); at 0.4 of all bandwidths and loads"
    assert "at 0.4 of all bandwidths and loads" in check_claims(mptcp_load_claims(), cells, "full")[0].why


def test_the_answer_in_words_compares_both_protocols():
    assert answer(like_the_paper()) == [
        "At 800 requests/s offered, MPTCP over two paths answers 790 requests/s and TCP over one 553 (+43 %); "
        "at 500 requests/s they answer 495 and 477 (+4 %).",
        "There TCP ends 43.6 s after its schedule and MPTCP keeps its schedule.",
        "Requests that failed: 36960 with TCP, 0 with MPTCP.",
    ]
    without = [cell(protocol, load) for protocol in ("tcp", "mptcp") for load in FEW]
    assert answer(without)[2] == "No request failed in 6 cells."
    assert answer([c for c in like_the_paper() if c.cell.parameters["protocol"] == "tcp"]) == []
    assert answer([judged(c, Verdict.UNUSABLE, "slow") for c in like_the_paper()]) == []
