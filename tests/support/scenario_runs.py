"""Scenarios as they are typed, one repetition of each cell, on the kernel of the test."""

from pathlib import Path
from typing import Any

import pytest

from experiments import catalogue
from experiments.scenario import Scenario
from flightpath.clock import Clock, clock_here
from results.figures import style  # noqa: F401 (a run loads it for its figures)
from results.pages.json_output import run_json
from results.store.store import Store
from scenarios.command import runner
from tests.support.vocabulary import unknown_metrics

ONE_CELL = {
    "congestion_race": "--algorithm cubic --seconds 4 --only against=nobody",
    "congestion_quadpath": "--algorithms cubic --configurations mptcp4 --seconds 1 --size 5",
    "dtn_bottleneck": "--full --scale 0.1 --only bandwidth_mbps=2000 --only size_mb=20",
    "dtn_buffers": "--only size_mb=5 --only buffer_kib=2048",
    "dtn_congestion": "--full --algorithms cubic --only size_mb=5 --only buffer_kib=512",
    "dtn_mss": "--only mtu=9000 --only streams=1 --only loss=0 --bandwidth 100Mbit --seconds 2",
    "dtn_multihomed": "--full --only size_mb=50 --only paths=two --only 'transport=MPTCP subflows'",
    "dtn_streams": "--only streams=2 --only traffic=isolated --only size_mb=100",
    "dtn_tools": "--only tool=iperf3 --only size_mb=20 --only buffer_kib=512",
    "dtn_window": "--only window_kib=128 --only tool=preflight --seconds 2",
    "l4s_coexistence": "--only queue=dualpi2 --only flows=dctcp+cubic --only rtt_ms=10 --seconds 3 --warm-up 2",
    "multipath_10gbe": "--only configuration=tun4_path6 --only paths=1 --link 50Mbit,1ms --seconds 1 --size 5",
    "multipath_unequal": "--only paths=equal --only transport=adaptive --seconds 1",
    "transport_league": "--transports tunnel --only paths=equal --only workload=bulk --size 2",
    "routing_convergence": "--routing bgp --only failure=near",
    "vegas_thresholds": "--only congestion_control=cubic --only paths=1x400Mbit --seconds 1",
    "subflow_steering": "--policies ecmp --only paths=equal --only protocol=mptcp --seconds 2.5",
}
"""The least that each can be asked for. `mptcp_load` has a test of its own (test_mptcp_load.py)."""


def measured_cells(scenario: str | Scenario, folder: Path, *words: str) -> list[dict[str, Any]]:
    """The cells of a run, as `--json` prints them. Metrics of our scenarios are known ones. The store is in the folder.

    The run is a child of this process, so that the runs of a file load Python's packages once.
    """
    options = ["--results", str(folder), "--repeat", "1", "--machine", "here", *words]
    with pytest.raises(SystemExit) as ended:
        runner.main(catalogue.find(scenario) if isinstance(scenario, str) else scenario, options)
    # 4: this machine was busy with something else, which virtual time does not notice.
    assert ended.value.code in ((0,) if clock_here() is Clock.VIRTUAL else (0, 4)), "see the run's output"
    store = Store.open(folder)
    if isinstance(scenario, str):
        assert not any(unknown_metrics(cell.measurement.metrics) for cell in store.cells("latest"))
    return run_json(store, "latest")["cells"]
