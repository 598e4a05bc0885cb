"""Scenarios as they are typed, one repetition of each cell, on the kernel of the test."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from flightpath.clock import Clock, clock_here
from flightpath.project import PROJECT
from results.store.store import Store
from tests.support.vocabulary import unknown_metrics

ONE_CELL = {
    "congestion_race": "--algorithm cubic --seconds 4 --only against=nobody",
    "congestion_quadpath": "--algorithms cubic --configurations mptcp4 --seconds 1 --size 5",
    "dtn_bottleneck": "--scale 0.1 --only bandwidth_mbps=2000 --only size_mb=50",
    "dtn_buffers": "--only size_mb=5 --only buffer_kib=2048",
    "dtn_congestion": "--algorithms cubic --only size_mb=20 --only buffer_kib=512",
    "dtn_mss": "--only mtu=9000 --only streams=1 --only loss=0 --seconds 2",
    "dtn_multihomed": "--only paths=two --only 'transport=MPTCP subflows'",
    "dtn_streams": "--only streams=2 --only traffic=isolated --only size_mb=100",
    "dtn_tools": "--only tool=iperf3 --only size_mb=20 --only buffer_kib=512",
    "dtn_window": "--only window_kib=128 --only tool=preflight --seconds 2",
    "multipath_10gbe": "--only configuration=tun4_path6 --only paths=1 --link 50Mbit,1ms --seconds 1 --size 5",
    "multipath_unequal": "--only paths=equal --only transport=adaptive --seconds 1",
    "vegas_thresholds": "--only congestion_control=cubic --only paths=1x400Mbit --seconds 1",
    "subflow_steering": "--policies ecmp --only paths=equal --only protocol=mptcp --seconds 2.5",
}
"""The least that each can be asked for. `mptcp_load` has a test of its own (test_mptcp_load.py)."""


def measured_cells(scenario: str, folder: Path, *words: str) -> list[dict[str, Any]]:
    """The cells of a run, as `--json` prints them; their metrics are in the vocabulary. The store is in the folder."""
    options = ["--json", "--results", str(folder), "--repeat", "1", "--machine", "here"]
    command = [sys.executable, "-m", f"scenarios.{scenario}", *options, *words]
    done = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, timeout=600)
    # 4: this machine was busy with something else, which virtual time does not notice.
    assert done.returncode in ((0,) if clock_here() is Clock.VIRTUAL else (0, 4)), done.stderr
    assert not any(unknown_metrics(cell.measurement.metrics) for cell in Store.open(folder).cells("latest"))
    return json.loads(done.stdout)["cells"]
