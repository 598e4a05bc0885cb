"""`--capture` of a scenario: packets of the load are kept with the results, out of the virtual-time kernel."""

import subprocess
import sys

import pytest

from flightpath.project import PROJECT
from results.store.store import Store
from tests.support.uml import require_uml_kernel

pytestmark = pytest.mark.starts_kernels

SMALL = ("--repeat", "1", "--only", "tool=iperf3", "--only", "window_kib=32", "--seconds", "1")


def test_the_packets_of_the_load_are_kept(tmp_path):
    require_uml_kernel()
    argv = [sys.executable, "-m", "scenarios.dtn_window", *SMALL, "--clock", "virtual", "--results", str(tmp_path)]
    done = subprocess.run([*argv, "--capture", "dtn1-eth0,dtn2"], cwd=PROJECT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    store = Store.open(tmp_path, create=False)
    (cell,) = store.cells("latest")
    folder = store.artifacts(store.run("latest").run_id)
    captured = cell.certificate.found["captures"]
    assert [each["file"].endswith(end) for each, end in zip(captured, ("dtn1-eth0.pcapng", "dtn2.pcapng"), strict=True)]
    for each in captured:
        read = subprocess.run(["tcpdump", "-nr", folder / each["file"]], capture_output=True, text=True, check=True)
        assert len(read.stdout.splitlines()) == each["packets"] > 100
        assert ".5201" in read.stdout
