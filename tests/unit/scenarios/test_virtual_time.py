"""What virtual time changes in the judgement of cells and claims, and how cells travel to a guest and back."""

import pytest
from hypothesis import given

from execution.guest_side import CellRequest, check_plan, measure_cell
from experiments import fidelity
from experiments.claims import ClaimCheck, Outcome, check_claims
from experiments.plan import Plan
from flightpath.calls import Returns, write
from flightpath.clock import Clock
from results.metrics import of_network
from results.records import Cell, CellResult, Certificate, ClaimVerdict, Measurement, Metric, Series, Verdict
from tests.support.stored_runs import cell_results

REAL = Certificate(Verdict.FAITHFUL)
VIRTUAL = Certificate(Verdict.FAITHFUL, (), {"clock": "virtual", "machine": "lab"})


def test_what_depends_on_the_machine_is_left_out():
    series = {name: Series("%", (0.0,), (1.0,)) for name in ("idle_cpu", "throughput_h1_h2_a")}
    metrics = {name: Metric(1.0, "1") for name in ("goodput", "cpu_per_gbps", "ftp_cpu_total", "jmeter_lateness_p99")}
    left = of_network(Measurement(metrics, series, {"iperf3": "3.12"}))
    assert (set(left.metrics), set(left.series)) == ({"goodput"}, {"throughput_h1_h2_a"})
    assert left.metadata == {"iperf3": "3.12"}


@pytest.mark.parametrize(
    ("metric", "needs_real_clock", "certificate", "why"),
    [
        ("cpu_total", False, VIRTUAL, "needs the real clock"),
        ("goodput", True, VIRTUAL, "needs the real"),
        ("goodput", False, VIRTUAL, None),
        ("rtt", False, VIRTUAL, "no usable cell measured rtt"),
        ("cpu_total", True, REAL, None),
    ],
)
def test_claims_about_processors_need_the_real_clock(metric, needs_real_clock, certificate, why):
    def judge(evidence):
        return Outcome(ClaimVerdict.REPRODUCED, str(evidence.mean(metric)))

    claim = ClaimCheck("x", "1", judge, needs_real_clock=needs_real_clock)
    measured = {name: Metric(1.0, "1") for name in ("goodput", *(["cpu_total"] if certificate is REAL else []))}
    (judged,) = check_claims([claim], [CellResult(Cell({"load": 500}), Measurement(measured), certificate)], "quick")
    assert judged.verdict is (ClaimVerdict.NOT_TESTED if why else ClaimVerdict.REPRODUCED)
    assert (why or "") in judged.why


def test_a_certificate_of_version_0_1_0_is_one_of_real_time():
    for certificate, clock in ((REAL, Clock.REAL), (VIRTUAL, Clock.VIRTUAL)):
        assert CellResult(Cell({}), Measurement(), certificate).clock is clock


NO_TIME = {"idle_cpu_percent": [0.0, 1.0, 0.0], "steal_percent": [0.0]}
SOME_TIME = {"idle_cpu_percent": [50.0], "steal_percent": [0.0]}
LATE = {"links_during_load": {"h1_a": {"a_to_b": {"lateness_us": {"p99": 20_000.0}, "drops": {}}}}}


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (NO_TIME, "no idle processor time"),
        ({**SOME_TIME, **LATE}, "20.0 ms late"),
        (SOME_TIME, None),
        ({"clock": "virtual"}, None),
    ],
)
def test_a_machine_is_too_slow_for_want_of_processor_time_only(found, expected):
    why = fidelity.too_slow(Certificate(Verdict.UNUSABLE, (), found))
    assert (expected in why) if expected else why is None


@given(cell_results)
def test_a_result_comes_back_from_a_guest_as_it_was(result):
    returns = Returns.of(measure_cell)
    assert returns.value(returns.answer(lambda: result).model_dump_json().encode()) == result


def test_a_request_and_a_plan_travel(tmp_path):
    plan = Plan("quick", {"load": (500, 800), "protocol": ("tcp",)}, {"link": "1Gbit,1ms"}, only={"load": ("800",)})
    request = CellRequest(scenario="x", file=tmp_path / "x.py", plan=plan.as_json(), order=0)
    write(request, tmp_path, "request.json")
    (file,) = tmp_path.iterdir()
    assert file.name == "request.json"
    assert Plan.from_json(CellRequest.model_validate_json(file.read_text()).plan) == plan
    returns = Returns.of(check_plan)
    assert Plan.from_json(returns.value(returns.answer(plan.as_json).model_dump_json().encode())) == plan
