"""Networks on Open vSwitch's kernel datapath, which most users have, but not the machines this is developed on.

They test function, not speed, because the VM's processor may be emulated.
"""

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from flightpath.commands import run
from flightpath.project import PROJECT
from probes.counters.mptcp import read_counters, require_mptcp
from results.store.store import Store
from tests.support.steering_tools import Transfer, serving
from topologies.hosts.multihomed import MultihomedHost
from topologies.links.spec import LinkSpec
from topologies.testbed.testbed import Testbed
from topologies.web_service import WebService

pytestmark = [pytest.mark.virtual, pytest.mark.usefixtures("needs_kernel_datapath")]
SIZE = 400_000
STUDENTS, REQUESTS_EACH = 6, 20


def switched_by_the_kernel() -> int:
    """Returns the kernel datapath's count of packets that matched a flow."""
    (line,) = [line for line in run(["ovs-dpctl", "show"]).splitlines() if "lookups:" in line]
    return int(line.partition("hit:")[2].split()[0])


def ping(source: MultihomedHost, target: MultihomedHost, port: int = 0) -> None:
    source.run(["ping", "-n", "-c", "3", "-i", "0.3", "-w", "20", target.address(port)])


@pytest.mark.in_sandbox
def test_a_testbed_is_switched_by_the_kernel(emulator: str) -> None:
    """The network has the four links of two planes; its start may take long on an emulated processor."""
    spec = LinkSpec(bandwidth_bps=10_000_000, delay_s=0.005)
    start = time.monotonic()
    with Testbed(WebService(planes=(spec, spec)), datapath="auto", emulator=emulator) as testbed:
        print(f"3 hosts, 6 links of {emulator}: up in {time.monotonic() - start:.1f} s", file=sys.stderr)
        assert testbed.description()["datapath"] == "kernel"
        before = switched_by_the_kernel()
        for port in (0, 1):
            ping(testbed.host("h1"), testbed.host("h2"), port)
        assert switched_by_the_kernel() >= before + 8  # 12 packets, of which the first of each flow is a miss
        testbed.check()


@pytest.mark.in_sandbox
def test_mptcp_uses_both_planes_and_all_bytes_arrive(emulator: str) -> None:
    spec = LinkSpec(bandwidth_bps=2_000_000, delay_s=0.02)
    topology = WebService(planes=(spec, spec), mptcp=True, congestion_control="cubic")
    with Testbed(topology, datapath="kernel", emulator=emulator) as testbed:
        web, client = testbed.host("h2"), testbed.host("h1")
        before = read_counters(client)
        with serving(web, web.address(0)):
            assert Transfer(client, web.address(0), SIZE).end(120).received == SIZE
        assert require_mptcp("h1", before, read_counters(client))["joins"] >= 1
        carried = [testbed.link("h1", port).stats()["directions"]["b_to_a"]["out_bytes"] for port in (0, 1)]
        assert min(carried) > SIZE / 10, carried


@pytest.mark.nightly
@pytest.mark.timeout(900)
def test_a_small_mptcp_load_answers_every_request_and_loses_no_write(tmp_path: Path) -> None:
    """Its verdict may be `unusable`, as on an emulated processor, but its counts must be right."""
    options = ["--threads", str(STUDENTS), "--loads", "12", "--repeat", "1", "--only", "protocol=mptcp", "--json"]
    patient = ["--machine", "here", "--datapath", "kernel", "--connect-timeout", "60s", "--response-timeout", "120s"]
    argv = [sys.executable, "-m", "scenarios.mptcp_load", *options, *patient, "--results", str(tmp_path)]
    done = subprocess.run(argv, cwd=PROJECT, capture_output=True, text=True, timeout=880, check=False)

    assert done.returncode in (0, 4), done.stderr
    (cell,) = json.loads(done.stdout)["cells"]
    assert cell["metrics"]["requests"]["value"] == STUDENTS * REQUESTS_EACH
    assert cell["metrics"]["errors"]["value"] == 0
    assert cell["metrics"]["lost_writes"]["value"] == 0
    (result,) = Store.open(tmp_path).cells("latest")
    assert result.certificate.found["datapath"] == "kernel"
    assert result.measurement.metadata["mptcp"]["h1"]["joins"] == STUDENTS
