"""What virtual time changes in the judgement of cells and claims, and how cells travel to a guest and back."""

import json

import pytest
from hypothesis import given

from flightpath.clock import Clock
from flightpath.errors import FlightpathError, MeasurementFailed, MissingCapability, UsageError
from results.metrics import of_network
from results.records import Cell, CellResult, Certificate, ClaimVerdict, Measurement, Metric, Series, Verdict
from scenarios import fidelity
from scenarios.framework import guest_exchange
from scenarios.framework.claims import ClaimCheck, Outcome, check_claims
from scenarios.framework.guest_exchange import Answer, GuestError, Request
from scenarios.framework.plan import Plan
from tests.support.stored_runs import cell_results

VIRTUAL = Certificate(Verdict.FAITHFUL, (), {"clock": "virtual", "machine": "lab"})


def one(certificate: Certificate, **metrics: float) -> CellResult:
    measured = Measurement({name: Metric(value, "1") for name, value in metrics.items()})
    return CellResult(Cell({"load": 500}), measured, certificate)


def test_what_depends_on_the_machine_is_left_out():
    series = {name: Series("%", (0.0,), (1.0,)) for name in ("idle_cpu", "throughput_h1_h2_a")}
    metrics = {name: Metric(1.0, "1") for name in ("goodput", "cpu_per_gbps", "ftp_cpu_total", "jmeter_lateness_p99")}
    left = of_network(Measurement(metrics, series, {"iperf3": "3.12"}))
    assert (set(left.metrics), set(left.series)) == ({"goodput"}, {"throughput_h1_h2_a"})
    assert left.metadata == {"iperf3": "3.12"}


def check(metric: str, **fields: bool) -> ClaimCheck:
    return ClaimCheck("x", "1", lambda evidence: Outcome(ClaimVerdict.REPRODUCED, str(evidence.mean(metric))), **fields)


@pytest.mark.parametrize(
    ("claim", "certificate", "metrics", "verdict", "why"),
    [
        (check("cpu_total"), VIRTUAL, {"goodput": 1}, ClaimVerdict.NOT_TESTED, "needs the real clock"),
        (check("goodput", needs_real_clock=True), VIRTUAL, {"goodput": 1}, ClaimVerdict.NOT_TESTED, "needs the real"),
        (check("goodput"), VIRTUAL, {"goodput": 1}, ClaimVerdict.REPRODUCED, ""),
        (check("rtt"), VIRTUAL, {"goodput": 1}, ClaimVerdict.NOT_TESTED, "no usable cell measured rtt"),
        (
            check("cpu_total", needs_real_clock=True),
            Certificate(Verdict.FAITHFUL),
            {"cpu_total": 1},
            ClaimVerdict.REPRODUCED,
            "",
        ),
    ],
)
def test_claims_about_processors_need_the_real_clock(claim, certificate, metrics, verdict, why):
    (judged,) = check_claims([claim], [one(certificate, **metrics)], "quick")
    assert judged.verdict is verdict
    assert why in judged.why


def test_a_certificate_of_version_0_1_0_is_one_of_real_time():
    assert one(Certificate(Verdict.FAITHFUL)).clock is Clock.REAL
    assert one(VIRTUAL).clock is Clock.VIRTUAL


NO_TIME = {"idle_cpu_percent": [0.0, 1.0, 0.0], "steal_percent": [0.0]}
LATE = {"links_during_load": {"h1_a": {"a_to_b": {"lateness_us": {"p99": 20_000.0}, "drops": {}}}}}


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (NO_TIME, "no idle processor time"),
        ({"idle_cpu_percent": [50.0], "steal_percent": [0.0], **LATE}, "20.0 ms late"),
        ({"idle_cpu_percent": [50.0], "steal_percent": [0.0]}, None),
        ({"clock": "virtual"}, None),
    ],
)
def test_a_machine_is_too_slow_for_want_of_processor_time_only(found, expected):
    why = fidelity.too_slow(Certificate(Verdict.UNUSABLE, (), found))
    assert (expected in why) if expected else why is None


@given(cell_results)
def test_a_result_comes_back_from_a_guest_as_it_was(result):
    answer = Answer.model_validate_json(guest_exchange.answer_with_result(result).model_dump_json())
    assert guest_exchange.result_in(answer) == result


def test_a_request_and_a_plan_travel(tmp_path):
    plan = Plan("quick", {"load": (500, 800), "protocol": ("tcp",)}, {"link": "1Gbit,1ms"}, only={"load": ("800",)})
    guest_exchange.write(
        Request(scenario="x", file=tmp_path / "x.py", plan=plan.as_json(), order=0), tmp_path, "request.json"
    )
    request = Request.model_validate_json((tmp_path / "request.json").read_text())
    assert Plan.from_json(request.plan) == plan
    assert Plan.from_json(json.loads(guest_exchange.answer_with_plan(plan).model_dump_json())["plan"]) == plan
    assert [file.name for file in tmp_path.iterdir()] == ["request.json"]


@pytest.mark.parametrize("kind", [UsageError, MissingCapability, MeasurementFailed, FlightpathError])
def test_an_error_of_a_guest_is_the_same_error_here(kind):
    error = GuestError.model_validate_json(GuestError.of(kind("it is so", "do this")).model_dump_json()).error()
    assert (type(error), str(error), error.exit_code) == (kind, "it is so\n  do this", kind.exit_code)
