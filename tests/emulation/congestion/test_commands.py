"""The commands, with an algorithm that is loaded for as long as they need it."""

import json
import os
import subprocess
import sys

import pytest

import congestion
from congestion import sources
from flightpath.processes import is_machine_root
from flightpath.waiting import wait_until
from tests.support.finished import finished

# On a machine that is too busy, the result is not trustworthy: exit code 4.
ENDED = (0, 4)
pytestmark = [
    pytest.mark.usefixtures("real_time_priority"),  # or a busy machine measures for minutes, again and again
    pytest.mark.skipif(not is_machine_root(), reason="only root may load BPF programs"),
]


@pytest.fixture
def mine(tmp_path):
    """Vegas as a user's file, under a name that no other process has loaded on this machine."""
    name = f"mine{os.getpid()}"
    source = tmp_path / f"{name}.bpf.c"
    source.write_text(sources.source_of("vegas").read_text().replace("NAME vegas", f"NAME {name}"))
    return source


def command(*argv: str) -> subprocess.CompletedProcess[str]:
    return finished([sys.executable, "-m", *argv], timeout=100)


def test_trace_draws_what_a_real_transfer_did(mine, tmp_path):
    words = ("--link", "20Mbit,10ms", "--seconds", "2", "--output", str(tmp_path))
    done = command("congestion", "trace", str(mine), *words)
    assert done.returncode in ENDED, done.stderr
    name = mine.name.removesuffix(".bpf.c")
    assert f"{name} (bpf): goodput" in done.stdout
    result = json.loads((tmp_path / f"trace_{name}.json").read_text())
    assert 0 < result["metrics"]["goodput"]["value"] < 20e6
    assert result["certificate"]["congestion_control_origin"] == {name: "bpf"}
    assert set(result["certificate"]["congestion_control"]["dtn1"]) == {name}
    for series in ("cwnd", "ssthresh", "rtt", "pacing_rate"):
        assert max(result["series"][series]["values"]) > 0
    assert {path.suffix for path in tmp_path.glob(f"trace_{name}.*")} == {".json", ".png", ".svg"}
    wait_until(lambda: name not in congestion.available(), f"{name} to go", 30)


def test_a_race_measures_a_file_of_one_s_own_beside_the_kernel_s(mine, tmp_path):
    name = mine.name.removesuffix(".bpf.c")
    done = command(
        "scenarios.congestion_race",
        *("--algorithm", f"{mine},cubic", "--link", "20Mbit,10ms,1bdp", "--seconds", "5", "--clock", "real"),
        *("--only", f"algorithm={name}", "--only", "against=cubic", "--results", str(tmp_path / "runs"), "--json"),
    )
    assert done.returncode in ENDED, done.stderr
    (cell,) = json.loads(done.stdout)["cells"]
    assert cell["parameters"] == {"algorithm": name, "against": "cubic"}
    metrics = {name: metric["value"] for name, metric in cell["metrics"].items()}
    goodput, rival = metrics["goodput"], metrics["rival_goodput"]
    assert goodput > 0 and rival > 0
    assert 0.5 <= metrics["fairness"] <= 1
    assert metrics["share"] == pytest.approx(100 * goodput / (goodput + rival), abs=0.1)
    assert 0 < metrics["utilisation"] < 101
    assert metrics["rtt_inflation"] > 1
    assert list((tmp_path / "runs").glob("*/cwnd_over_time.png"))
    wait_until(lambda: name not in congestion.available(), f"{name} to go", 30)


def test_a_race_with_a_program_that_the_kernel_refuses_starts_nothing(mine, tmp_path):
    mine.write_text(mine.read_text().replace("cwnd--;", "tp->srtt_us = 0;"))
    done = command("scenarios.congestion_race", "--algorithm", str(mine), "--results", str(tmp_path / "runs"))
    assert done.returncode == 2
    line = 1 + mine.read_text().splitlines().index("        tp->srtt_us = 0;")
    assert f"{mine.name}:{line}: the kernel refuses this program" in done.stderr
    assert not (tmp_path / "runs").exists()
