"""Plans and figures of the experiments with data transfer nodes, on made-up cells."""

from dataclasses import replace

import pytest

from experiments.claims import check_claims
from flightpath.errors import MissingCapability
from results.figures.drawing import draw_figures
from results.records import Cell, CellResult, Certificate, ClaimVerdict, Measurement, Metric, Verdict
from scenarios.dtn.transfer import KERNEL_DEFAULT
from scenarios.dtn_bottleneck import DtnBottleneck
from scenarios.dtn_buffers import DtnBuffers
from scenarios.dtn_congestion import DtnCongestion
from scenarios.dtn_streams import BUFFER_KIB, DtnStreams
from tests.support.plans import plan_of
from topologies.hosts.multihomed import KERNEL_TCP_BUFFERS, LARGE_TCP_BUFFERS


def test_the_bottlenecks_are_the_paper_s_and_can_be_scaled_to_a_machine():
    scenario = DtnBottleneck()
    plan = plan_of(scenario)
    assert plan.axes["bandwidth_mbps"] == (10_000, 5000, 2000, 1000)
    scaled = scenario.scaled(plan, 0.1)
    assert scaled.axes["bandwidth_mbps"] == (1000, 500, 200, 100)
    assert scaled.scale == 0.1
    some = scenario.scaled(replace(plan, only={"bandwidth_mbps": ("2000",), "size_mb": ("50",)}), 0.1)
    assert {tuple(cell.parameters.values()) for cell in some.cells()} == {(200, 50)}


def test_the_default_buffer_is_left_to_a_kernel_that_nobody_has_tuned():
    scenario, plan = DtnBuffers(), plan_of(DtnBuffers())
    default, by_hand = (
        next(cell for cell in plan.cells() if cell.parameters["buffer_kib"] == buffer)
        for buffer in (KERNEL_DEFAULT, 4096)
    )
    assert scenario.transfer(default, plan).receive_buffer_bytes is None
    assert scenario.transfer(by_hand, plan).receive_buffer_bytes == 4096 * 1024
    limits = [scenario.topology(cell, plan).nodeInfo("dtn2")["sysctls"] for cell in (default, by_hand)]
    assert limits == [KERNEL_TCP_BUFFERS, LARGE_TCP_BUFFERS]


@pytest.mark.parametrize("limit", ["", "client-limited: 99 % of a core"])
def test_a_measurement_that_the_path_did_not_limit_is_unusable(limit):
    reasons = DtnBuffers().reasons_unusable(Measurement(metadata={"limit": limit}))
    assert reasons == ([f"the path was not the limit: {limit}"] if limit else [])


def test_a_plan_loads_no_algorithm_and_the_run_skips_by_name_what_is_missing(capsys):
    scenario = DtnCongestion()
    plan = plan_of(scenario, "--algorithms", "cubic,nobodys")
    assert plan.axes["congestion_control"] == ("cubic", "nobodys")
    assert scenario.without_missing_algorithms(plan).axes["congestion_control"] == ("cubic",)
    assert "skipped: nobodys: this kernel has no congestion control 'nobodys'" in capsys.readouterr().err
    with pytest.raises(MissingCapability, match="'nobodys'"):
        scenario.without_missing_algorithms(plan_of(scenario, "--algorithms", "nobodys"))


def test_runs_from_before_the_second_buffer_are_judged_and_drawn_as_before(tmp_path):
    scenario, faithful = DtnStreams(), Certificate(Verdict.FAITHFUL)
    earlier = []
    for cell in plan_of(scenario, "--full", "--only", f"buffer_kib={BUFFER_KIB}").cells():
        goodput = Metric(1e8 * min(2, cell.parameters["streams"]), "bit/s")
        point = {name: value for name, value in cell.parameters.items() if name != "buffer_kib"}
        earlier.append(CellResult(Cell(point, cell.repetition), Measurement({"goodput": goodput}), faithful))
    noticed, same, larger, buffer = check_claims(scenario.claims, earlier, "quick")
    assert noticed.verdict is same.verdict is ClaimVerdict.REPRODUCED
    assert larger.verdict is ClaimVerdict.NOT_REPRODUCED
    assert (buffer.verdict, buffer.why) == (ClaimVerdict.NOT_TESTED, "a buffer of 4096 KiB was not measured: --full")
    assert {path.stem for path in draw_figures(scenario.figures, earlier, tmp_path)} == {"fig5_streams"}
