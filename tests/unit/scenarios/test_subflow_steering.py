"""Plan and figures of the experiment on steering policies, on made-up cells."""

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


def cell(policy: str, protocol: str, paths: float, verdict: Verdict = Verdict.FAITHFUL) -> CellResult:
    shares = {f"share_path{n}": Metric(25.0, "%") for n in range(1, 5)}
    silences = {name: Metric(150.0, "ms") for name in ("silence_cut", "silence_black_hole", "first_byte")}
    return CellResult(
        Cell({"paths": "equal", "policy": policy, "protocol": protocol, "flows": 4}, 1),
        Measurement({"goodput": Metric(paths * ONE_PATH, "bit/s"), **shares, **silences}),
        Certificate(verdict, ("because",)),
    )


def run() -> list[CellResult]:
    return [cell(policy, protocol, many) for policy, many in GOODPUTS.items() for protocol in ("tcp", "mptcp")]


def claims(cells: list[CellResult]) -> list[Claim]:
    return check_claims(SubflowSteering.claims, cells, "full")


def verdicts(checked: list[Claim]) -> list[ClaimVerdict]:
    return [claim.verdict for claim in checked]


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
