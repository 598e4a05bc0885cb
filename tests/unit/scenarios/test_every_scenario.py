"""Every scenario: its options, its plans, and what is made of cells that may not be believed."""

import pytest

from experiments import catalogue
from experiments.claims import check_claims
from experiments.plan import Plan
from flightpath.errors import UsageError
from results.records import Cell, CellResult, Certificate, ClaimVerdict, Measurement, Metric, Series, Verdict
from tests.support.plans import plan_of
from tests.support.rings import nightly

JUDGED = [name for name in catalogue.names() if name not in ("congestion_race", "mptcp_load")]
"""Scenarios with claims, and with figures that are not tested elsewhere."""

DRAWN_LONG = ("congestion_quadpath", "multipath_10gbe", "subflow_steering")
"""Their many axes take half a minute. In `make test` the figures of a measured cell of each are drawn."""

METRICS = (
    *("goodput", "ftp_goodput", "ftp_download", "download", "retransmissions", "lost"),
    *("cpu_total", "cpu_sender", "cpu_receiver", "cpu_links", "cpu_per_gbps"),
    *("share_of_sum", "share_path1", "share_path2", "share_path3", "share_path4"),
    *("udp_goodput", "rtt", "rtt_growth", "latency_service_mean", "on_time", "first_byte"),
    *("rate_ratio", "queue_delay_p99", "rival_queue_delay_p99"),
    *("silence_ping", "silence_tcp", "silence_cut", "silence_black_hole"),
)
MEASURED = Measurement(
    dict.fromkeys(METRICS, Metric(50.0, "1")),
    dict.fromkeys(("busy", "ftp_carried"), Series("1", (0.0, 1.0), (50.0, 60.0))),
)


@pytest.mark.parametrize("form", ["quick", "full"])
@pytest.mark.parametrize("name", catalogue.names())
def test_a_plan_survives_the_store_and_each_of_its_cells_has_a_network(name, form):
    scenario = catalogue.find(name)
    plan = plan_of(scenario, f"--{form}")
    assert (scenario.name, plan.form) == (name, form) and Plan.from_json(plan.as_json()) == plan
    assert len(plan.cells()) >= 8
    for cell in plan.cells():
        network = scenario.topology(cell, plan)
        assert len(network.hosts()) >= 2
        assert 5 < scenario.estimate_s(cell, plan) < 400, "BGP waits for three minutes"
        if name.startswith("dtn_"):
            assert set(network.hosts()) >= {scenario.source, scenario.target}
            assert scenario.transfer(cell, plan).iterations == 1


@pytest.mark.parametrize("name", catalogue.names())
def test_no_measurement_takes_no_time(name):
    scenario = catalogue.find(name)
    if any(setting.option == "--seconds" for setting in scenario.options):
        with pytest.raises(UsageError, match="--seconds: 0 is less than"):
            plan_of(scenario, "--seconds", "0")


@pytest.mark.parametrize("name", [nightly(name) if name in DRAWN_LONG else name for name in JUDGED])
def test_nothing_is_claimed_of_what_may_not_be_believed_and_figures_are_drawn_of_the_rest(name):
    scenario = catalogue.find(name)
    plan = plan_of(scenario, "--full", *(["--only", "paths=equal"] if name == "subflow_steering" else []))
    unusable = Certificate(Verdict.UNUSABLE, ("because",))
    points = [cell.parameters for cell in plan.cells() if cell.repetition == 1]
    spoilt = [CellResult(Cell(point), MEASURED, unusable) for point in points]
    for cells in (spoilt, spoilt[:1], []):
        claims = check_claims(scenario.claims, cells, "full")
        assert {claim.verdict for claim in claims} == {ClaimVerdict.NOT_TESTED}
        assert len(cells) != 1 or "1 of 1 cell is unusable" in claims[0].why
    figures = {figure: draw(spoilt) for figure, draw in scenario.figures.items()}
    of_other_cells = {figure for figure in figures if figure.startswith("paths_") or figure.endswith("_unequal")}
    assert {figure for figure, drawn in figures.items() if drawn is None} == of_other_cells
    for drawn in filter(None, figures.values()):
        drawn.draw_without_rendering()
    assert not any(draw([]) for draw in scenario.figures.values())
