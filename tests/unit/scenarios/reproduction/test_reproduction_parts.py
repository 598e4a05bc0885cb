"""The parts of the reproduction record, and its quotations of the papers."""

import pytest

from experiments import catalogue
from flightpath.clock import Clock
from flightpath.errors import UsageError
from results.metrics import metric_kind
from scenarios.reproduction.papers import papers
from scenarios.reproduction.parts import PARTS, Part, chosen

BUDGET_S = 7200.0
BY_NAME = {part.name: part for part in PARTS}
POINTS = [
    pytest.param(figure.part, point, id=f"{paper.name}: {value.what}"[:70])
    for paper in papers()
    for figure in paper.figures
    for value in figure.values
    for point in (value.where, value.against)
    if point is not None
]


def test_all_parts_take_two_hours_at_most():
    assert sum(part.estimate_s(jobs=2) for part in PARTS) <= BUDGET_S


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.name)
def test_a_part_can_be_typed_as_it_is_shown(part):
    plan = part.plan()
    assert plan.cells() and plan.repeat >= 2  # one repetition decides nothing
    assert plan.clock is part.clock
    assert part.command == f"flightpath run {part.scenario.name} {' '.join(part.arguments)}"
    assert (part.cell_s > 0) is (part.clock is Clock.VIRTUAL)


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


@pytest.mark.parametrize(("name", "point"), POINTS)
def test_what_a_paper_states_is_measured_by_the_part_that_it_names(name, point):
    assert any(point.items() <= dict(cell.parameters).items() for cell in BY_NAME[name].plan().cells())


@pytest.mark.parametrize("paper", papers(), ids=lambda paper: paper.name)
def test_a_paper_names_figures_and_metrics_that_are_there(paper):
    for figure in paper.figures:
        assert set(figure.ours) <= set(BY_NAME[figure.part].scenario.figures)
        assert all(metric_kind(value.metric or figure.metric) for value in figure.values)
        assert BY_NAME[figure.part].paper == paper.name
