"""Plans and figures of the experiments on several paths, on made-up cells."""

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping

import pytest

from flightpath.errors import UsageError
from results.figures.drawing import draw_figures
from results.records import (
    Cell,
    CellResult,
    Certificate,
    ClaimVerdict,
    Measurement,
    Metric,
    Series,
    Verdict,
)
from scenarios.congestion_quadpath import PLAIN, CongestionQuadpath
from scenarios.framework.claims import check_claims
from scenarios.framework.plan import Plan
from scenarios.multipath.multipath import Configuration, MultipathScenario
from scenarios.multipath_10gbe import Multipath10Gbe
from scenarios.multipath_unequal import MultipathUnequal
from scenarios.vegas_thresholds import ONE, VegasThresholds

SCENARIOS = (Multipath10Gbe, CongestionQuadpath, MultipathUnequal, VegasThresholds)
NOT_TESTED = ClaimVerdict.NOT_TESTED
Values = Mapping[str, float]

USUAL: Values = {
    "goodput": 100e6,
    "ftp_goodput": 100e6,
    "ftp_download": 10.0,
    "cpu_total": 50.0,
    "cpu_sender": 10.0,
    "cpu_receiver": 30.0,
    "cpu_links": 10.0,
    "cpu_per_gbps": 10.0,
    "share_of_sum": 50.0,
    "rtt": 5.0,
    "rtt_growth": 3.0,
    "share_path1": 60.0,
    "share_path2": 40.0,
    "retransmissions": 3.0,
}


def plan_of(scenario: MultipathScenario, *words: str, form: str = "quick") -> Plan:
    parser = ArgumentParser()
    parser.set_defaults(form=form, repeat=None, seed=1, only=[], emulator="auto", datapath="auto")
    scenario.add_options(parser)
    options: Namespace = parser.parse_args(words)
    return scenario.plan(options)


def run(scenario: MultipathScenario, verdict: Verdict) -> list[CellResult]:
    """A repetition of every cell of the full plan."""
    return [
        CellResult(
            Cell(cell.parameters),
            Measurement(
                {name: Metric(value, "1") for name, value in USUAL.items()},
                {name: Series("1", (0.0, 1.0), (50.0, 60.0)) for name in ("busy", "ftp_carried")},
            ),
            Certificate(verdict, ("because",)),
        )
        for cell in plan_of(scenario, form="full").cells()
        if cell.repetition == 1
    ]


def verdicts(scenario: MultipathScenario, cells: list[CellResult]) -> list[ClaimVerdict]:
    return [claim.verdict for claim in check_claims(scenario.claims, cells, "full")]


def test_a_configuration_is_what_its_name_says():
    assert Configuration.named("tun4_path6") == Configuration("tun", 4, 6)
    assert Configuration.named("mptcp6") == Configuration("mptcp", 6, 6)
    assert Configuration.named("baseline4").payload_share == pytest.approx(1448 / 1514)
    assert Configuration.named("tun6_path4").payload_share == pytest.approx((1500 - 36 - 40 - 32) / 1514)
    for wrong in ("tun4", "tun5_path4", "mptcp", "tcp4", "tun4_path4_"):
        with pytest.raises(UsageError, match=f"'{wrong}' is unknown"):
            Configuration.named(wrong)


@pytest.mark.parametrize("kind", SCENARIOS, ids=lambda kind: kind.name)
@pytest.mark.parametrize("form", ["quick", "full"])
def test_every_cell_has_a_network_and_a_tunnel_where_it_needs_one(kind, form):
    scenario = kind()
    plan = plan_of(scenario, form=form)
    assert Plan.from_json(plan.as_json()) == plan
    for cell in plan.cells():
        network, chosen = scenario.topology(cell, plan), scenario.configuration(cell)
        assert set(network.hosts()) == {"h1", "h2"}
        assert len(network.links()) == len(scenario.links(cell, plan))
        assert network.nodeInfo("h1")["subflows"] == (len(network.links()) - 1 if chosen.kind == "mptcp" else 0)
        if chosen.kind == "tun":
            assert scenario.tunnel(cell).family == chosen.paths_family
        assert 5 < scenario.estimate_s(cell, plan) < 300


@pytest.mark.parametrize("kind", SCENARIOS, ids=lambda kind: kind.name)
def test_the_quick_form_takes_a_few_minutes(kind):
    scenario = kind()
    plan = plan_of(scenario)
    assert sum(scenario.estimate_s(cell, plan) for cell in plan.cells()) < 6 * 60


@pytest.mark.parametrize("kind", SCENARIOS, ids=lambda kind: kind.name)
def test_nothing_is_claimed_of_what_may_not_be_believed_and_figures_are_drawn_of_the_rest(kind, tmp_path):
    scenario = kind()
    spoilt = run(scenario, Verdict.UNUSABLE)
    assert set(verdicts(scenario, spoilt)) == set(verdicts(scenario, [])) == {NOT_TESTED}
    drawn = draw_figures(scenario.figures, spoilt, tmp_path)
    assert {path.suffix for path in drawn} == {".png", ".svg"}
    assert len(drawn) >= (4 if kind is VegasThresholds else 6)
    assert draw_figures(scenario.figures, [], tmp_path) == []


def test_the_plain_tunnel_does_what_the_papers_did():
    scenario = CongestionQuadpath()
    plan = plan_of(scenario, "--configurations", PLAIN, "--algorithms", "vegas")
    (cell,) = plan.cells()
    spec = scenario.tunnel(cell)
    assert (spec.offloads, spec.run, spec.reordering) == (False, 1, "off")
    assert scenario.congestion_control(cell, plan) == "vegas"
    with pytest.raises(UsageError, match="'tun4' is unknown"):
        plan_of(scenario, "--configurations", "tun4")


def test_known_weights_are_the_bandwidths():
    scenario = MultipathUnequal()
    (weighted,) = (cell for cell in plan_of(scenario, "--seconds", "1").cells() if cell.parameters == {
        "transport": "weighted", "paths": "bandwidth"
    })  # fmt: skip
    assert list(scenario.tunnel(weighted).path_weights) == [80, 20]
    with pytest.raises(UsageError, match="--seconds: 0 is less than 1"):
        plan_of(scenario, "--seconds", "0")


def test_the_payload_of_one_link_of_400_mbit():
    scenario = VegasThresholds()
    plan = plan_of(scenario)
    assert [scenario.payload_limit_bps(cell, plan) for cell in plan.cells() if cell.parameters["paths"] == ONE] == [
        pytest.approx(400e6 * 1448 / 1514)
    ] * 4
