"""`--capture` of a scenario: packets of the load are kept with the results, also from a lab in virtual time."""

import subprocess
import sys

import pytest

from flightpath.project import PROJECT
from results.store.store import Store
from scenarios.framework.placement import has_lab

CLOCKS = ["real", pytest.param("virtual", marks=pytest.mark.skipif(not has_lab(), reason="needs the lab kernel"))]
SMALL = ("--repeat", "1", "--only", "tool=iperf3", "--only", "window_kib=32", "--seconds", "1")


def run(results, *words: str) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-m", "scenarios.dtn_window", *SMALL, "--results", str(results), *words]
    return subprocess.run(argv, cwd=PROJECT, capture_output=True, text=True, timeout=200)


@pytest.mark.parametrize("clock", CLOCKS)
def test_the_packets_of_the_load_are_kept(tmp_path, clock):
    done = run(tmp_path, "--clock", clock, "--capture", "dtn1-eth0,dtn2")
    assert done.returncode in (0, 4), done.stderr  # 4: a busy machine, said honestly
    store = Store.open(tmp_path, create=False)
    (cell,) = store.cells("latest")
    folder = store.artifacts(store.run("latest").run_id)
    captured = cell.certificate.found["captures"]
    assert [each["file"].endswith(end) for each, end in zip(captured, ("dtn1-eth0.pcapng", "dtn2.pcapng"), strict=True)]
    for each in captured:
        read = subprocess.run(["tcpdump", "-nr", folder / each["file"]], capture_output=True, text=True, check=True)
        assert len(read.stdout.splitlines()) == each["packets"] > 100
        assert ".5201" in read.stdout


def test_an_unknown_interface_is_refused_before_anything_starts(tmp_path):
    done = run(tmp_path / "new", "--capture", "dtn1-eth7")
    assert done.returncode == 2 and "did you mean 'dtn1-eth0'" in done.stderr
    assert not (tmp_path / "new").exists()
