"""A study of what matters, on made-up cells; and the plans that are made of options."""

import pytest

from flightpath.errors import UsageError
from results.records import CellResult, Verdict
from scenarios.mptcp_load import MptcpLoad
from scenarios.web_load.arrivals import arrivals, parse_loads
from scenarios.web_load.figures import mptcp_load_figures
from scenarios.web_load.set_up import SetUp
from scenarios.web_load.study import effects
from scenarios.web_load.words import answer
from tests.support.made_up_runs import cell, judged, varied
from tests.support.plans import plan_of


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
    papers = [cell(protocol, 800.0) for protocol in ("tcp", "mptcp")]
    assert not any(draw(papers) for name, draw in mptcp_load_figures().items() if name.startswith("study"))


def test_one_value_is_a_setting_and_several_are_an_axis():
    made = plan_of(MptcpLoad(), "--page-weight", "2k,11k", "--queue", "100p,200p", "--queue", "1000p")
    assert made.axes["page_weight"] == ("2k", "11k")
    assert made.axes["queue"] == ("100p,200p", "1000p")
    assert made.settings["buffering"] == "off" and "queue" not in made.settings
    cells = made.cells()
    assert len(cells) == 2 * 2 * 3 * 2 * 2
    queues = {tuple(spec.queue for spec in SetUp(each, made).planes()) for each in cells}
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
    full, scaled = plan_of(MptcpLoad()), MptcpLoad().scaled(plan_of(MptcpLoad()), 0.4)
    assert scaled.axes["load"] == (20, 200, 320)
    assert MptcpLoad().estimate_s(scaled.cells()[0], scaled) == MptcpLoad().estimate_s(full.cells()[0], full)
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
