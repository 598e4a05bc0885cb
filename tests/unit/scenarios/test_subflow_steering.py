"""Plan, figures and claims of the experiment on steering policies, on made-up cells for each outcome."""

from argparse import ArgumentParser
from pathlib import Path

import pytest

from flightpath.errors import UsageError
from results.figures.drawing import draw_figures
from results.records import Cell, CellResult, Certificate, Claim, ClaimVerdict, Measurement, Metric, Verdict
from scenarios.framework.claims import check_claims
from scenarios.subflow_steering import PATHS, SubflowSteering
from topologies.links.spec import PAYLOAD_SHARE

ONE_PATH = 20e6 * PAYLOAD_SHARE
GOODPUTS = {"none": 4.0, "single": 1.0, "ecmp": 2.7, "disjoint": 3.9, "least-loaded": 3.9}


def cell(policy: str, protocol: str, paths: float, silence_ms: float = 150.0, **more: object) -> CellResult:
    shares = {f"share_path{n}": Metric(25.0, "%") for n in range(1, 5)}
    silences = {name: Metric(silence_ms, "ms") for name in ("silence_cut", "silence_black_hole", "first_byte")}
    return CellResult(
        Cell({"paths": "equal", "policy": policy, "protocol": protocol, "flows": 4}, 1),
        Measurement({"goodput": Metric(paths * ONE_PATH, "bit/s"), **shares, **silences}),
        Certificate(more.get("verdict", Verdict.FAITHFUL), ("because",)),
    )


def run(goodputs: dict[str, float] = GOODPUTS, silence_ms: float = 150.0) -> list[CellResult]:
    return [
        cell(policy, protocol, many if protocol == "mptcp" or policy == "least-loaded" else 1.0, silence_ms)
        for policy, many in goodputs.items()
        for protocol in ("tcp", "mptcp")
    ]


def claims(cells: list[CellResult]) -> list[Claim]:
    return check_claims(SubflowSteering.claims, cells, "full")


def verdicts(checked: list[Claim]) -> list[ClaimVerdict]:
    return [claim.verdict for claim in checked]


def test_a_run_in_which_every_policy_does_what_it_is_for():
    assert set(verdicts(claims(run()))) == {ClaimVerdict.REPRODUCED}


@pytest.mark.parametrize(
    ("number", "goodputs", "silence_ms"),
    [
        (0, {**GOODPUTS, "disjoint": 3.5}, 150),
        (1, {**GOODPUTS, "single": 1.5}, 150),
        (2, {**GOODPUTS, "ecmp": 4.0, "disjoint": 3.7}, 150),
        (3, {**GOODPUTS, "least-loaded": 1.0}, 150),
        (4, GOODPUTS, 1500),
        (5, GOODPUTS, 1500),
    ],
)
def test_each_claim_can_fail(number, goodputs, silence_ms):
    assert claims(run(goodputs, silence_ms))[number].verdict is ClaimVerdict.NOT_REPRODUCED


def test_what_was_not_measured_or_may_not_be_believed_is_not_tested():
    assert set(verdicts(claims([]))) == {ClaimVerdict.NOT_TESTED}
    spoilt = [cell("disjoint", "mptcp", 3.9, verdict=Verdict.UNUSABLE)]
    assert claims(spoilt)[0].verdict is ClaimVerdict.NOT_TESTED
    assert "1 of 1 cell is unusable" in claims(spoilt)[0].why


def test_figures_are_drawn_of_what_there_is(tmp_path: Path):
    names = {path.stem for path in draw_figures(SubflowSteering.figures, run(), tmp_path)}
    assert names == {
        f"{name}_equal" for name in ("goodput", "silence_cut", "silence_black_hole", "first_byte", "shares")
    }
    assert draw_figures(SubflowSteering.figures, [], tmp_path) == []


def options(*words: str):
    scenario, parser = SubflowSteering(), ArgumentParser()
    for name, value in {"form": "quick", "repeat": None, "seed": 1, "only": [], "emulator": "auto"}.items():
        parser.set_defaults(**{name: value})
    parser.set_defaults(datapath="auto")
    scenario.add_options(parser)
    return scenario, parser.parse_args(words)


def test_the_plan_and_its_networks():
    scenario, asked = options("--policies", "none,disjoint")
    plan = scenario.plan(asked)
    assert len(plan.cells()) == 2 * 2 * 2
    for each in plan.cells():
        assert len(scenario.topology(each, plan).switches()) == 2 + len(PATHS[each.parameters["paths"]])
        assert len(scenario.caused_events(each, plan)) == 8
    with pytest.raises(UsageError, match="'disjont' is unknown"):
        scenario.plan(options("--policies", "disjont")[1])
    with pytest.raises(UsageError, match=r"--seconds: 1 is less than 2\.5"):
        scenario.plan(options("--seconds", "1")[1])
