"""The MPTCP load experiment: its claims (each by itself: test_every_claim.py), figures and words; studies and plans."""

from enum import IntEnum

import matplotlib
import pytest

from experiments.claims import check_claims
from flightpath.errors import UsageError
from results.figures.drawing import draw_figures
from results.figures.over_time import averaged
from results.records import CellResult, Claim, ClaimVerdict, Series, Verdict
from results.summary.verdicts import badge_text
from scenarios.mptcp_load import MptcpLoad
from scenarios.web_load.arrivals import arrivals, parse_loads
from scenarios.web_load.claims import mptcp_load_claims
from scenarios.web_load.figures import mptcp_load_figures
from scenarios.web_load.set_up import SetUp
from scenarios.web_load.study import effects
from scenarios.web_load.words import answer
from tests.support.claim_cases.case import Change, Point
from tests.support.claim_cases.papers import WORLDS
from tests.support.made_up_runs import cell, changed, judged, like_the_paper, varied
from tests.support.plans import plan_of
from tests.support.reading_pages import words_of

Of = IntEnum(
    "Of",
    "MPTCP_GROWS MPTCP_GROWTH TCP_GROWS TCP_GROWTH NO_ERRORS ERRORS_GROW MPTCP_PUNCTUAL TCP_LONGER TCP_RUN_TIME "
    "MPTCP_RUN_TIME TCP_LATER AHEAD ADVANTAGE HIGHER LITTLE BETWEEN_HOSTS BELOW_CAPACITY ABOVE_CAPACITY ADJUSTED",
    start=0,
)
"""The claims in their order."""

YES, NO, _, NOT_TESTED = ClaimVerdict


def claims(cells: list[CellResult], form: str) -> list[Claim]:
    return check_claims(mptcp_load_claims(), cells, form)


def run_of_the_paper(point: Point | None = None, **values: float) -> list[CellResult]:
    """The paper's cells, with other values of some metrics in the cells with some parameters."""
    return WORLDS["mptcp_load"].run(Change(values, point or {}))


def test_the_quick_form_is_judged_as_the_full_one():
    checked = claims(run_of_the_paper(), "quick")
    assert [claim.verdict for claim in checked] == [NOT_TESTED if claim is Of.ADJUSTED else YES for claim in Of]


def test_without_tcp_errors_the_quick_form_tests_neither_claim_on_errors():
    cells = run_of_the_paper({"protocol": "tcp"}, errors=0, error_rate=0)
    for index in (Of.NO_ERRORS, Of.ERRORS_GROW):
        claim = claims(cells, "quick")[index]
        assert claim.verdict is NOT_TESTED
        assert "the quick form is too short" in claim.why and "run --full" in claim.why
    assert claims(cells, "full")[Of.NO_ERRORS].verdict is YES
    failing = run_of_the_paper({"protocol": "mptcp", "load": 500.0}, errors=5, error_rate=0.1)
    assert claims(failing, "quick")[Of.NO_ERRORS].verdict is NO


def test_without_cells_of_the_papers_parameters_nothing_is_tested_and_the_claim_says_why():
    for cells, why in (
        ([], "no cell was measured"),
        ([judged(c, Verdict.UNUSABLE, "slow") for c in run_of_the_paper()], "no cell is usable"),
        ([varied(c, page_weight="2k") for c in run_of_the_paper()], "varies page_weight"),
    ):
        checked = claims(cells, "full")
        assert [claim.verdict for claim in checked] == [NOT_TESTED] * 19
        assert all(why in claim.why and not claim.measured for claim in checked[: Of.ADJUSTED])


def test_what_a_verdict_rests_on_is_said():
    lower = [*run_of_the_paper(), *(cell("mptcp", 300.0, n) for n in (1, 2, 3))]
    for cells, index, verdict, why in (
        (run_of_the_paper(), Of.TCP_GROWTH, YES, "one path is full at 560/s"),
        (run_of_the_paper(), Of.ADVANTAGE, YES, "one path is full at 560/s"),
        (like_the_paper(), Of.LITTLE, NOT_TESTED, "the lowest is 500 requests/s"),
        (lower, Of.MPTCP_GROWTH, YES, "from 500 to 800 requests/s offered, whose schedule grows by 59 %"),
    ):
        claim = claims(cells, "full")[index]
        assert claim.verdict is verdict and why in claim.why


def test_ramps_too_short_for_the_size_of_a_growth_still_test_its_direction():
    schedules = {500.0: 6.0, 800.0: 4.2}
    cells = [changed(c, schedule=schedules[c.cell.parameters["load"]]) for c in like_the_paper(3, tuple(schedules))]
    checked = claims(cells, "quick")
    assert (checked[Of.MPTCP_GROWS].verdict, checked[Of.MPTCP_GROWTH].verdict) == (YES, NOT_TESTED)
    assert "allows no more than +43 %" in checked[Of.MPTCP_GROWTH].why


def test_a_missing_metric_is_not_a_made_up_zero():
    cells = like_the_paper()
    for metrics in (each.measurement.metrics for each in cells):
        del metrics["errors"], metrics["error_rate"], metrics["schedule"]
    checked = claims(cells, "full")
    of_rates = {Of.MPTCP_GROWS, Of.TCP_GROWS, Of.AHEAD, Of.ADVANTAGE, Of.HIGHER, Of.BETWEEN_HOSTS, Of.BELOW_CAPACITY}
    assert {index for index, claim in enumerate(checked) if claim.verdict is YES} == {*of_rates, Of.MPTCP_RUN_TIME}
    assert {index for index, claim in enumerate(checked) if claim.verdict is NO} == {Of.TCP_RUN_TIME}


FEW = (500.0, 615.4, 800.0)
FIGURES = {
    "fig2_throughput": "500 requests/s offered|time (s)|offered rate|end of the ramp|one repetition|TCP|MPTCP",
    "fig3_throughput_between_hosts": "throughput (Mbit/s)|MPTCP, path b",
    "fig3_throughput_between_hosts_over_time": "time (s)",
    "fig4_error_rate": "error rate (% of requests)",
    "fig5_run_time": "run time (s)|schedule",
    "fig6_latency": "response time (ms)|p99, intended",
}
DRAWN = mptcp_load_figures()
KINDS = {".png": b"\x89PNG\r\n\x1a\n", ".svg": b"<?xml"}


def test_every_figure_is_drawn_as_png_and_svg_and_says_its_verdict_units_and_what_is_compared(tmp_path):
    before = dict(matplotlib.rcParams)
    cells = like_the_paper(2, FEW)
    cells[2] = judged(cells[2], Verdict.DEGRADED, "idle CPU below 5 % for $3 & more")
    drawn = draw_figures(DRAWN, cells, tmp_path)
    assert {path.name for path in drawn} == {f"{name}.{suffix}" for name in FIGURES for suffix in ("png", "svg")}
    assert all(path.read_bytes().startswith(KINDS[path.suffix]) for path in drawn)
    for name, texts in FIGURES.items():
        drawn_words = words_of(tmp_path / f"{name}.svg")
        assert [text for text in texts.split("|") if text not in drawn_words] == [], name
        assert "degraded: idle CPU below 5 % for $3 & more (1 of 12" in drawn_words, name
    again = draw_figures({"fig2_throughput": DRAWN["fig2_throughput"]}, cells, tmp_path / "again")
    assert [path.read_bytes() for path in again] == [(tmp_path / path.name).read_bytes() for path in again]
    assert dict(matplotlib.rcParams) == before


def test_a_single_cell_is_drawn_although_it_is_unusable_but_no_plot_of_zeros_and_none_without_cells(tmp_path):
    spoilt = judged(cell("mptcp", 500, error_rate=1), Verdict.UNUSABLE, "slow")
    assert {path.stem for path in draw_figures(DRAWN, [spoilt], tmp_path)} == FIGURES.keys()
    assert "unusable: slow (1 of 1 cell" in words_of(tmp_path / "fig4_error_rate.svg")
    without_errors = draw_figures(DRAWN, [cell("mptcp", 500)], tmp_path)
    assert {path.stem for path in without_errors} == FIGURES.keys() - {"fig4_error_rate"}
    assert draw_figures(DRAWN, [], tmp_path) == []


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
        # The commonest first, and the rest counted; one cause with the range of its numbers; any path.
        ([f"often; rare {name}" for name in "abc"], "degraded: often; rare a; and 2 more (3 of 3 cells)"),
        (["idle for 96 % of 1 s", "idle for 99 % of 1 s"], "degraded: idle for 96 to 99 % of 1 s (2 of 2 cells)"),
        (["path a-b (0): 1.1 ms, the worst of 2", "path a-c (1): 2 ms"], "degraded: paths: 1.1 to 2 ms (2 of 2 cells)"),
    ],
)
def test_a_badge_has_the_reasons_of_all_cells(reasons, text):
    cells = [judged(cell("tcp", 500, n), Verdict.DEGRADED, *each.split("; ")) for n, each in enumerate(reasons)]
    assert badge_text(cells) == text


def test_the_scale_of_a_run_stands_at_its_figures_and_claims():
    cells = like_the_paper()
    for each in cells:
        each.certificate.found["scale"] = 0.4
    assert badge_text(cells) == "faithful (42 cells); at 0.4 of all bandwidths and loads"
    assert "at 0.4 of all bandwidths and loads" in check_claims(mptcp_load_claims(), cells, "full")[0].why


def test_the_answer_in_words_compares_both_protocols():
    rates, ends, failed = answer(like_the_paper())
    assert "MPTCP over two paths answers 790 requests/s and TCP over one 553 (+43 %)" in rates
    assert rates.endswith("at 500 requests/s they answer 495 and 477 (+4 %).")
    assert ends == "There TCP ends 43.6 s after its schedule and MPTCP keeps its schedule."
    assert failed == "Requests that failed: 36960 with TCP, 0 with MPTCP."
    without = [cell(protocol, load) for protocol in ("tcp", "mptcp") for load in FEW]
    assert answer(without)[2] == "No request failed in 6 cells."
    assert answer([c for c in like_the_paper() if c.cell.parameters["protocol"] == "tcp"]) == []
    assert answer([judged(c, Verdict.UNUSABLE, "slow") for c in like_the_paper()]) == []


def study(repetitions: int = 3) -> list[CellResult]:
    """Pages of 2 kB leave TCP on time; buffering changes nothing."""
    return [
        varied(cell(protocol, 800.0, n, limit=limit), page_weight=weight, buffering=buffering)
        for weight, tcp_limit in (("2k", None), ("11k", 560.0))
        for buffering in ("off", "on")
        for protocol, limit in (("tcp", tcp_limit), ("mptcp", None))
        for n in range(1, repetitions + 1)
    ]


def test_a_factor_is_compared_with_its_usual_value_while_the_others_have_theirs():
    by_factor = {(effect.factor, effect.protocol): effect for effect in effects(study())}
    assert {*by_factor} == {(name, protocol) for name in ("page_weight", "buffering") for protocol in ("tcp", "mptcp")}
    weight = by_factor["page_weight", "tcp"]
    assert (weight.usual, weight.value, weight.change.count) == ("11k", "2k", 3)
    assert weight.change.value == pytest.approx(42, abs=2)
    assert [each for each in by_factor.values() if each.matters] == [weight]


def test_what_matters_in_words():
    weight, buffering = answer(study())
    assert weight.startswith("Page weight matters: TCP +4") and weight.endswith("with 2k instead of 11k.")
    assert buffering.startswith("Buffering does not matter (at most ")
    assert "one repetition, no interval" in answer(study(1))[0]
    assert answer([judged(each, Verdict.UNUSABLE, "slow") for each in study()]) == []


def test_a_study_has_figures_of_its_own():
    drawn = {name for name, draw in mptcp_load_figures().items() if draw(study(1)) is not None}
    assert drawn == {"study_throughput", "study_latency"}


def test_one_value_is_a_setting_and_several_are_an_axis():
    made = plan_of(MptcpLoad(), "--page-weight", "2k,11k", "--queue", "100p,200p", "--queue", "1000p")
    assert made.axes["page_weight"] == ("2k", "11k")
    assert made.axes["queue"] == ("100p,200p", "1000p")
    assert made.settings["buffering"] == "off" and "queue" not in made.settings
    queues = {tuple(spec.queue for spec in SetUp(each, made).planes()) for each in made.cells()}
    assert queues == {("100p", "200p"), ("1000p", "1000p")}


@pytest.mark.parametrize(
    ("protocol", "words", "paths", "joins"),
    [
        ("tcp", "", 1, False),
        ("mptcp", "", 2, True),
        ("mptcp", "--second-path backup", None, True),
        ("mptcp", "--second-path unused", 1, False),
        ("mptcp", "--buffering on", None, True),
        ("mptcp", "--page-weight 2k", None, True),
        ("mptcp", "--topology fabric --policy single", None, True),
        ("tcp", "--topology fabric --policy ecmp", None, False),
    ],
)
def test_how_many_paths_must_carry_the_load(protocol, words, paths, joins):
    made = plan_of(MptcpLoad(), *words.split())
    set_up = SetUp(next(each for each in made.cells() if each.parameters["protocol"] == protocol), made)
    set_up.check()
    assert (set_up.paths_expected, set_up.joins_expected) == (paths, joins)


def test_a_low_load_has_fewer_students_instead_of_a_long_ramp():
    assert [arrivals(load, 500, 20.0) for load in (800, 500, 50)] == [(500, 12.5), (500, 20.0), (50, 20.0)]
    assert parse_loads("50, 800,50") == (50, 800)


def test_a_scaled_plan_has_the_same_times():
    scenario, full = MptcpLoad(), plan_of(MptcpLoad())
    scaled = scenario.scaled(full, 0.4)
    assert scaled.axes["load"] == (20, 200, 320)
    assert scenario.estimate_s(scaled.cells()[0], scaled) == scenario.estimate_s(full.cells()[0], full)
    (link, _) = SetUp(scaled.cells()[0], scaled).planes()
    assert (link.bandwidth_bps, link.queue) == (20_000_000, "400p")


def test_a_file_of_options_is_the_same_as_the_options_and_what_follows_it_adds_to_it(tmp_path):
    file = tmp_path / "study.toml"
    file.write_text(
        'page-weight = ["2k", "11k"]\nbuffering = ["off", "on"]\nbandwidth = "80Mbit,20Mbit"\nloads = [500, 800]\n'
        "repeat = 3\nfull = true\nrecord = false\n"
    )
    words = "--page-weight 2k --page-weight 11k --buffering off,on --bandwidth 80Mbit,20Mbit --loads 500,800"
    plan = plan_of(MptcpLoad(), "--study", str(file), "--threads", "100", "--repeat", "2")
    assert plan == plan_of(MptcpLoad(), *words.split(), "--full", "--threads", "100", "--repeat", "2")


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("page-weigth = 1", "page-weigth: there is no such option"),
        ('study = "again.toml"', "study: there is no such option"),
        ("repeat = [1, 2]", "repeat: --repeat takes one value"),
        ("repeat = true", "repeat: a text or a number is wanted"),
        ('full = "yes"', "full: true or false is wanted"),
        ("loads = []", "loads: a text, a number, or a list of them is wanted"),
        ("[loads]", "loads: a text, a number, or a list of them is wanted"),
        ("a b", "at line 1"),
        ("\xff", "codec"),
        (None, "cannot read"),
    ],
)
def test_a_file_of_options_that_makes_no_sense_is_refused_in_a_sentence(tmp_path, line, reason):
    file = tmp_path / "study.toml"
    if line is not None:
        file.write_bytes(line.encode("latin-1"))
    with pytest.raises(UsageError, match=r"^--study: ") as raised:
        plan_of(MptcpLoad(), "--study", str(file))
    assert reason in str(raised.value) and str(file) in str(raised.value)
