"""Plans and figures of the experiments with data transfer nodes, on made-up cells."""

from dataclasses import replace

import pytest

from experiments import catalogue
from experiments.claims import check_claims
from flightpath.errors import MissingCapability, UsageError
from results.figures.drawing import draw_figures
from results.records import ClaimVerdict, Measurement
from scenarios.congestion_quadpath import PLAIN, CongestionQuadpath
from scenarios.dtn.transfer import KERNEL_DEFAULT
from scenarios.dtn_bottleneck import DtnBottleneck
from scenarios.dtn_buffers import DtnBuffers
from scenarios.dtn_congestion import DtnCongestion
from scenarios.dtn_streams import BUFFER_KIB, DtnStreams
from scenarios.multipath.multipath import Configuration
from scenarios.multipath_unequal import MultipathUnequal
from scenarios.subflow_steering import PATHS, SubflowSteering
from tests.support.made_up_runs import measured
from tests.support.plans import plan_of
from topologies.hosts.multihomed import KERNEL_TCP_BUFFERS, LARGE_TCP_BUFFERS


def test_the_bottlenecks_are_the_paper_s_and_can_be_scaled_to_a_machine():
    scenario, plan = DtnBottleneck(), plan_of(DtnBottleneck())
    scaled = scenario.scaled(plan, 0.1)
    assert scaled.axes["bandwidth_mbps"] == (1000, 500, 200, 100) and scaled.scale == 0.1
    some = scenario.scaled(replace(plan, only={"bandwidth_mbps": ("2000",), "size_mb": ("50",)}), 0.1)
    assert {tuple(cell.parameters.values()) for cell in some.cells()} == {(200, 50)}


def test_the_default_buffer_is_left_to_a_kernel_that_nobody_has_tuned():
    scenario, plan = DtnBuffers(), plan_of(DtnBuffers())
    of_buffers = {cell.parameters["buffer_kib"]: cell for cell in plan.cells()}
    default, by_hand = of_buffers[KERNEL_DEFAULT], of_buffers[4096]
    assert scenario.transfer(default, plan).receive_buffer_bytes is None
    assert scenario.transfer(by_hand, plan).receive_buffer_bytes == 4096 * 1024
    limits = [scenario.topology(cell, plan).nodeInfo("dtn2")["sysctls"] for cell in (default, by_hand)]
    assert limits == [KERNEL_TCP_BUFFERS, LARGE_TCP_BUFFERS]


def test_a_measurement_that_the_path_did_not_limit_is_unusable():
    (why,) = DtnBuffers().reasons_unusable(Measurement(metadata={"limit": "client-limited"}))
    assert "client-limited" in why and not DtnBuffers().reasons_unusable(Measurement(metadata={"limit": ""}))


def test_a_plan_loads_no_algorithm_and_the_run_skips_by_name_what_is_missing(capsys):
    scenario = DtnCongestion()
    plan = plan_of(scenario, "--algorithms", "cubic,nobodys")
    assert plan.axes["congestion_control"] == ("cubic", "nobodys")
    assert scenario.without_missing_algorithms(plan).axes["congestion_control"] == ("cubic",)
    assert "skipped: nobodys: this kernel has no congestion control 'nobodys'" in capsys.readouterr().err
    with pytest.raises(MissingCapability, match="'nobodys'"):
        scenario.without_missing_algorithms(plan_of(scenario, "--algorithms", "nobodys"))


def test_runs_from_before_the_second_buffer_are_judged_and_drawn_as_before(tmp_path):
    scenario, earlier = DtnStreams(), []
    for cell in plan_of(scenario, "--full", "--only", f"buffer_kib={BUFFER_KIB}").cells():
        point = {name: value for name, value in cell.parameters.items() if name != "buffer_kib"}
        earlier.append(measured(point, cell.repetition, goodput=1e8 * min(2, cell.parameters["streams"])))
    noticed, same, larger, buffer = check_claims(scenario.claims, earlier, "quick")
    assert noticed.verdict is same.verdict is ClaimVerdict.REPRODUCED
    assert larger.verdict is ClaimVerdict.NOT_REPRODUCED
    assert (buffer.verdict, buffer.why) == (ClaimVerdict.NOT_TESTED, "a buffer of 4096 KiB was not measured: --full")
    assert {path.stem for path in draw_figures(scenario.figures, earlier, tmp_path)} == {"fig5_streams"}


def test_claims_on_streams_are_judged_at_the_points_that_were_measured():
    """The record measures small files with few streams only, and the larger buffer with these."""
    rates = {(1, 100): 200e6, (2, 100): 190e6, (1, 1000): 220e6, (2, 1000): 260e6, (4, 1000): 260e6}
    cells = [
        measured(
            {"streams": streams, "size_mb": size, "traffic": "cross", "buffer_kib": buffer},
            repetition,
            goodput=rate + 1e3 * repetition,
        )
        for (streams, size), rate in rates.items()
        for buffer in ((2048, 4096) if size == 100 else (2048,))
        for repetition in (1, 2, 3)
    ]
    noticed, same, larger, buffer = check_claims(DtnStreams.claims, cells, "full")
    assert noticed.verdict is ClaimVerdict.NOT_REPRODUCED and "1 to 2 streams, 1000 MB: +18.2 %" in noticed.measured
    assert same.why == "no file was measured with both numbers of streams"
    assert larger.verdict is ClaimVerdict.REPRODUCED and "+10.0 %" in larger.measured
    assert buffer.verdict is ClaimVerdict.NOT_REPRODUCED and buffer.measured.count("100 MB") == 2


def test_a_configuration_is_what_its_name_says():
    assert Configuration.named("tun4_path6") == Configuration("tun", 4, 6)
    assert Configuration.named("mptcp6") == Configuration("mptcp", 6, 6)
    assert Configuration.named("tun6_path4").payload_share() == pytest.approx((1500 - 36 - 40 - 32) / 1514)
    for wrong in ("tun4", "tun5_path4", "mptcp", "tcp4", "tun4_path4_"):
        with pytest.raises(UsageError, match=f"'{wrong}' is unknown"):
            Configuration.named(wrong)


@pytest.mark.parametrize("name", ["multipath_10gbe", "congestion_quadpath", "multipath_unequal", "vegas_thresholds"])
@pytest.mark.parametrize("form", ["quick", "full"])
def test_every_cell_has_a_network_and_a_tunnel_where_it_needs_one(name, form):
    scenario = catalogue.find(name)
    plan = plan_of(scenario, f"--{form}")
    for cell in plan.cells():
        network, chosen = scenario.topology(cell, plan), scenario.configuration(cell)
        assert set(network.hosts()) == {"h1", "h2"}
        assert len(network.links()) == len(scenario.links(cell, plan))
        assert network.nodeInfo("h1")["subflows"] == (len(network.links()) - 1 if chosen.kind == "mptcp" else 0)
        if chosen.kind == "tun":
            assert scenario.tunnel(cell).family == chosen.paths_family
    estimate_s = sum(scenario.estimate_s(cell, plan) for cell in plan.cells())
    assert form == "full" or estimate_s < 7 * 60, "the quick form takes a few minutes"


@pytest.mark.parametrize(("name", "tcp_mbps"), [("tun6_path6", 362.5), ("mptcp4", 382.6), ("baseline4", 95.6)])
def test_a_cell_knows_what_its_links_can_carry(name, tcp_mbps):
    scenario = CongestionQuadpath()
    plan = plan_of(scenario, "--configurations", name, "--algorithms", "cubic")
    (cell,) = plan.cells()
    limits = scenario.goodput_limits_bps(cell, plan)
    assert limits["goodput"] == limits["ftp_goodput"] == pytest.approx(1e6 * tcp_mbps, abs=1e5)
    assert limits["udp_goodput"] > limits["goodput"]
    assert limits["ftp_carried"] > limits["ftp_goodput"], "a download's stalls are found in what links carry"


def test_the_plain_tunnel_does_what_the_papers_did():
    scenario = CongestionQuadpath()
    plan = plan_of(scenario, "--configurations", PLAIN, "--algorithms", "vegas")
    (cell,) = plan.cells()
    spec = scenario.tunnel(cell)
    assert (spec.offloads, spec.run, spec.reordering) == (False, 1, "off")
    assert scenario.congestion_control(cell, plan) == "vegas"


@pytest.mark.parametrize("name", ["multipath_10gbe", "congestion_quadpath"])
def test_a_service_time_is_a_setting_of_virtual_time_and_without_it_plans_are_those_of_earlier_versions(name):
    scenario = catalogue.find(name)
    assert "service_time_us" not in plan_of(scenario).settings
    assert plan_of(scenario, "--service-time", "0") == plan_of(scenario)
    plan = plan_of(scenario, "--service-time", "2.7")
    assert plan.settings.items() - plan_of(scenario).settings.items() == {("service_time_us", 2.7)}
    with pytest.raises(UsageError, match=r"on the real clock(?s:.*)--clock virtual"):
        scenario.require(plan)
    for wrong in ("-1", "nan", "10001"):
        with pytest.raises(UsageError, match="is not a time from 0 to 10000 us"):
            plan_of(scenario, "--service-time", wrong)


def test_mptcp_downloads_a_file_of_its_own_size_and_without_it_plans_are_those_of_earlier_versions():
    scenario = CongestionQuadpath()
    assert "mptcp_size_mb" not in plan_of(scenario).settings
    usual, larger = (
        {str(cell.parameters["configuration"]): scenario.load_s(cell, plan) for cell in plan.cells()}
        for plan in (plan_of(scenario), plan_of(scenario, "--mptcp-size", "400"))
    )
    longer = {name: larger[name] - usual[name] for name in usual if larger[name] != usual[name]}
    assert longer == pytest.approx(dict.fromkeys(("mptcp4", "mptcp6"), 360 * 8 / 200))


def test_known_weights_are_the_bandwidths():
    scenario = MultipathUnequal()
    (weighted,) = plan_of(scenario, "--only", "transport=weighted", "--only", "paths=bandwidth").cells()
    assert list(scenario.tunnel(weighted).path_weights) == [80, 20]


def test_a_network_of_steered_subflows_has_a_core_switch_for_each_path():
    scenario = SubflowSteering()
    plan = plan_of(scenario, "--policies", "none,disjoint")
    for each in plan.cells():
        assert len(scenario.topology(each, plan).switches()) == 2 + len(PATHS[each.parameters["paths"]])
        assert len(scenario.caused_events(each, plan)) == 8
    with pytest.raises(UsageError, match="'disjont' is unknown"):
        plan_of(scenario, "--policies", "disjont")
    with pytest.raises(UsageError, match=r"--seconds: 1 is less than 2\.5"):
        plan_of(scenario, "--seconds", "1")
