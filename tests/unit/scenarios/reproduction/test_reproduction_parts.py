"""The parts of the reproduction record, and its quotations of the papers."""

import pytest

from experiments import catalogue
from flightpath.clock import Clock
from flightpath.errors import UsageError
from results.metrics import metric_kind
from results.records import ClaimVerdict
from scenarios.reproduction import writing
from scenarios.reproduction.papers import papers, reason
from scenarios.reproduction.parts import FULL_SIZE, PARTS, Part, chosen
from scenarios.reproduction.record import read

BUDGET_S = 7200.0
BY_NAME = {part.name: part for part in PARTS}
OF_FULL_SIZE = {part.name: part for part in FULL_SIZE}


def test_all_parts_take_two_hours_at_most():
    assert sum(part.estimate_s(jobs=2) for part in PARTS) <= BUDGET_S


@pytest.mark.parametrize("part", [*PARTS, *FULL_SIZE], ids=lambda part: f"{part.name} {part.options[:6]}")
def test_a_part_can_be_typed_as_it_is_shown(part):
    plan = part.plan()
    assert plan.cells() and plan.repeat >= 2  # one repetition decides nothing
    assert plan.clock is part.clock
    assert part.command == f"flightpath run {part.scenario.name} {' '.join(part.arguments)}"
    assert (part.cell_s > 0) is (part.clock is Clock.VIRTUAL)


def test_the_full_size_is_that_of_the_papers():
    assert set(BY_NAME) - set(OF_FULL_SIZE) == {"vegas_thresholds_slow"}, "its cells are in the other part"
    plans = {name: part.plan() for name, part in OF_FULL_SIZE.items()}
    assert plans["congestion_quadpath"].settings["size_mb"] == 1000
    assert plans["multipath_10gbe"].settings["size_mb"] == 10_000
    assert plans["dtn_streams"].axes["size_mb"] == (100, 200, 500, 1000, 2000) and plans["dtn_streams"].repeat == 30
    assert len(plans["mptcp_load"].axes["load"]) == 8
    assert plans["dtn_window"].settings["link"].startswith("10Gbit")
    others = set(plans) - {"dtn_streams"}
    assert {plans[name].repeat for name in others} == {10}
    assert sum(part.estimate_s(jobs=2) for part in FULL_SIZE) > 24 * 3600


@pytest.mark.parametrize("paper", papers(), ids=lambda paper: paper.name)
def test_each_claim_that_is_not_reproduced_has_a_reason_and_no_reason_is_left_over(paper):
    scenarios = {part.scenario.name for part in (*PARTS, *FULL_SIZE) if part.paper == paper.name}
    sentences = {claim.claim for name in scenarios for claim in catalogue.find(name).claims}
    assert not set(paper.reasons) - sentences
    open_claims = [
        claim.claim
        for claim in read(writing.COMMITTED).claims
        if claim.paper == paper.name and claim.verdict in (ClaimVerdict.NOT_REPRODUCED, ClaimVerdict.NOT_DECIDED)
    ]
    without = [claim for claim in open_claims if claim in sentences and not reason(paper, claim)]
    assert not without
    assert len(paper.differences) > 5


def test_every_scenario_of_a_paper_is_a_part():
    summaries = {name: catalogue.find(name).summary for name in catalogue.names()}
    of_papers = {name for name, text in summaries.items() if "(paper: " in text or "(netpreflight" in text}
    assert len(of_papers) >= 9
    assert {part.scenario.name for part in PARTS} >= of_papers
    assert {part.paper for part in PARTS} == {paper.name for paper in papers()}


@pytest.mark.parametrize("scenario", sorted({part.scenario.name for part in PARTS}))
def test_each_claim_is_about_a_clock_that_a_part_has(scenario):
    clocks = {part.clock for part in PARTS if part.scenario.name == scenario}
    needed = {Clock.REAL for claim in catalogue.find(scenario).claims if claim.needs_real_clock}
    assert needed <= clocks


def test_parts_are_chosen_by_name_in_their_own_order():
    assert chosen(()) == list(PARTS)
    assert [part.name for part in chosen(["dtn_window", "dtn_buffers"])] == ["dtn_buffers", "dtn_window"]
    with pytest.raises(UsageError, match="'dtn_windows'") as refused:
        chosen(["dtn_windows"])
    assert "dtn_window" in refused.value.hint


def test_an_estimate_is_that_of_the_missing_processors():
    part = Part("dtn_mss", "netpreflight", "--repeat 3", cell_s=10)
    assert part.estimate_s(jobs=1) == 10 * 24
    assert part.estimate_s(jobs=4) == 10 * 24 / 4


@pytest.mark.parametrize("paper", papers(), ids=lambda paper: paper.name)
def test_a_paper_names_figures_metrics_and_points_that_its_parts_measure(paper):
    for figure in paper.figures:
        part = BY_NAME[figure.part]
        assert set(figure.ours) <= set(part.scenario.figures)
        assert all(metric_kind(value.metric or figure.metric) for value in figure.values)
        assert part.paper == paper.name
        measured = [cell.parameters.items() for cell in part.plan().cells()]
        for point in (point for value in figure.values for point in (value.where, value.against) if point is not None):
            assert any(point.items() <= parameters for parameters in measured), (figure, point)
