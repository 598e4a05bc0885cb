"""Plans, figures and claims of the experiments with data transfer nodes, on made-up cells for each outcome."""

from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Mapping

import pytest

from flightpath.errors import MissingCapability, UsageError
from results.figures.drawing import draw_figures
from results.records import Cell, CellResult, Certificate, ClaimVerdict, Measurement, Metric, ParameterValue, Verdict
from scenarios.dtn.transfer import DtnTransfer
from scenarios.dtn_bottleneck import DtnBottleneck
from scenarios.dtn_buffers import DtnBuffers
from scenarios.dtn_congestion import DtnCongestion
from scenarios.dtn_mss import DtnMss
from scenarios.dtn_streams import DtnStreams
from scenarios.dtn_window import DtnWindow
from scenarios.framework.claims import check_claims
from scenarios.framework.plan import Plan

SCENARIOS = (DtnBuffers, DtnCongestion, DtnBottleneck, DtnWindow, DtnStreams, DtnMss)
REPRODUCED, NOT_REPRODUCED, NOT_TESTED = ClaimVerdict.REPRODUCED, ClaimVerdict.NOT_REPRODUCED, ClaimVerdict.NOT_TESTED
Goodput = Callable[[Mapping[str, ParameterValue]], float]


def options(scenario: DtnTransfer, *words: str, form: str = "quick") -> Namespace:
    parser = ArgumentParser()
    parser.set_defaults(form=form, repeat=None, seed=1, only=[], emulator="auto", datapath="auto")
    scenario.add_options(parser)
    return parser.parse_args(words)


def plan_of(scenario: DtnTransfer, *words: str, form: str = "quick") -> Plan:
    if isinstance(scenario, DtnCongestion) and not words:
        words = ("--algorithms", "cubic,reno")  # every kernel has them
    return scenario.plan(options(scenario, *words, form=form))


def run(scenario: DtnTransfer, goodput_mbps: Goodput, verdict: Verdict = Verdict.FAITHFUL) -> list[CellResult]:
    return [
        CellResult(
            cell,
            Measurement({"goodput": Metric(goodput_mbps(cell.parameters) * 1e6, "bit/s")}),
            Certificate(verdict, ("because",)),
        )
        for cell in plan_of(scenario, form="full").cells()
    ]


def verdicts(scenario: DtnTransfer, cells: list[CellResult]) -> list[ClaimVerdict]:
    return [claim.verdict for claim in check_claims(scenario.claims, cells, "full")]


@pytest.mark.parametrize("kind", SCENARIOS, ids=lambda kind: kind.name)
@pytest.mark.parametrize("form", ["quick", "full"])
def test_every_cell_has_a_network_and_a_transfer(kind, form):
    scenario = kind()
    plan = plan_of(scenario, form=form)
    assert len(plan.cells()) >= 8
    for cell in plan.cells():
        assert set(scenario.topology(cell, plan).hosts()) >= {"dtn1", "dtn2"}
        assert scenario.transfer(cell, plan).iterations == 1
        assert scenario.estimate_s(cell, plan) > 1
    assert Plan.from_json(plan.as_json()) == plan


@pytest.mark.parametrize("kind", SCENARIOS, ids=lambda kind: kind.name)
def test_nothing_is_claimed_of_what_may_not_be_believed_and_figures_are_drawn_of_the_rest(kind, tmp_path):
    scenario = kind()
    spoilt = run(scenario, lambda point: 100, Verdict.UNUSABLE)
    assert set(verdicts(scenario, spoilt)) == set(verdicts(scenario, [])) == {NOT_TESTED}
    assert {path.suffix for path in draw_figures(scenario.figures, spoilt, tmp_path)} == {".png", ".svg"}
    assert draw_figures(scenario.figures, [], tmp_path) == []


def test_buffers_and_sizes():
    as_the_paper = run(DtnBuffers(), lambda point: int(point["buffer_kib"]) / int(point["size_mb"]))
    assert verdicts(DtnBuffers(), as_the_paper) == [REPRODUCED, REPRODUCED]
    the_other_way = run(DtnBuffers(), lambda point: int(point["size_mb"]) / int(point["buffer_kib"]))
    assert verdicts(DtnBuffers(), the_other_way) == [NOT_REPRODUCED, NOT_REPRODUCED]


def algorithms(rates: Mapping[str, float]) -> list[CellResult]:
    cells = run(DtnCongestion(), lambda point: 1)
    points = [cell.cell.parameters for cell in cells if cell.cell.parameters["congestion_control"] == "cubic"]
    return [
        CellResult(
            Cell({**point, "congestion_control": name}),
            Measurement({"goodput": Metric(rate * 1e6, "bit/s")}),
            Certificate(Verdict.FAITHFUL),
        )
        for name, rate in rates.items()
        for point in points
    ]


def test_algorithms():
    scenario = DtnCongestion()
    close = algorithms({"bic": 104, "htcp": 101, "cubic": 101, "reno": 100})
    assert verdicts(scenario, close) == [REPRODUCED, REPRODUCED]
    assert verdicts(scenario, algorithms({"bic": 100, "htcp": 130, "cubic": 99, "reno": 98})) == [NOT_REPRODUCED] * 2
    assert verdicts(scenario, algorithms({"cubic": 100, "reno": 99})) == [NOT_TESTED, REPRODUCED]


def test_a_bottleneck_that_is_measured_and_one_that_is_not():
    scenario = DtnBottleneck()
    assert verdicts(scenario, run(scenario, lambda point: 0.9 * int(point["bandwidth_mbps"]))) == [REPRODUCED] * 2
    stuck = run(scenario, lambda point: min(150, 0.9 * int(point["bandwidth_mbps"])))
    assert verdicts(scenario, stuck) == [NOT_REPRODUCED] * 2
    with pytest.raises(UsageError, match="--scale: 2 is not above 0"):
        plan_of(scenario, "--scale", "2")


def test_windows():
    scenario = DtnWindow()
    bent = run(scenario, lambda point: min(int(point["window_kib"]), 160 - int(point["window_kib"]) / 64))
    assert verdicts(scenario, bent) == [REPRODUCED, REPRODUCED]
    apart = run(scenario, lambda point: int(point["window_kib"]) * (1.2 if point["tool"] == "iperf3" else 1))
    assert verdicts(scenario, apart) == [NOT_REPRODUCED, NOT_REPRODUCED]


def test_streams():
    scenario = DtnStreams()
    few = run(scenario, lambda point: min(2, int(point["streams"])) * (100 + int(point["size_mb"]) / 100))
    assert verdicts(scenario, few) == [REPRODUCED] * 3
    more = run(scenario, lambda point: max(2, int(point["streams"])) * 100)
    assert verdicts(scenario, more) == [NOT_REPRODUCED] * 3


def test_streams_against_segments():
    scenario = DtnMss()

    def mathis(point: Mapping[str, ParameterValue]) -> float:
        if point["loss"] == "0":
            return 480
        return min(480, 10 * int(point["streams"]) * int(point["mtu"]) / 1500)

    assert verdicts(scenario, run(scenario, mathis)) == [REPRODUCED, REPRODUCED]
    alike = run(scenario, lambda point: 30 * int(point["streams"]))
    assert verdicts(scenario, alike) == [NOT_REPRODUCED, NOT_REPRODUCED]


def test_a_measurement_that_the_path_did_not_limit_is_unusable():
    limited = Measurement(metadata={"limit": "client-limited: 99 % of a core"})
    assert DtnBuffers().reasons_unusable(limited) == ["the path was not the limit: client-limited: 99 % of a core"]
    assert DtnBuffers().reasons_unusable(Measurement(metadata={"limit": ""})) == []


def test_a_plan_loads_no_algorithm_and_the_run_skips_by_name_what_is_missing(capsys):
    scenario = DtnCongestion()
    plan = plan_of(scenario, "--algorithms", "cubic,nobodys")
    assert plan.axes["congestion_control"] == ("cubic", "nobodys")
    assert scenario.without_missing_algorithms(plan).axes["congestion_control"] == ("cubic",)
    assert "skipped: nobodys: this kernel has no congestion control 'nobodys'" in capsys.readouterr().err
    with pytest.raises(MissingCapability, match="'nobodys'"):
        scenario.without_missing_algorithms(plan_of(scenario, "--algorithms", "nobodys"))
