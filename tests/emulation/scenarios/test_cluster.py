"""Cells on a cluster: the same results as without one, whichever part of it is killed."""

import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from execution.cluster.key import make_key
from flightpath.processes import descendants
from flightpath.project import PROJECT
from flightpath.waiting import wait_until
from results.records import CellResult, RunStatus, Verdict
from results.store.store import Store
from tests.support.cluster_parts import cluster, metrics
from tests.support.finished import finished

pytestmark = [pytest.mark.starts_kernels, pytest.mark.timeout(1200)]
RUN = ["dtn_tools", "--only", "tool=iperf3", "--only", "size_mb=20", "--repeat", "1", "--clock", "virtual"]
"""Two cells, by the size of the buffer."""
CELLS = 2
LONG = ["mptcp_load", "--full", "--only", "load=615", "--repeat", "1", "--clock", "virtual"]
"""A cell of it takes two minutes."""


def started(folder: Path, *words: str, scenario: Sequence[str] = RUN) -> subprocess.Popen:
    argv = [sys.executable, "-m", "scenarios", *scenario, "--results", str(folder), *words]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    return subprocess.Popen(argv, cwd=PROJECT, stdin=subprocess.DEVNULL, **pipes)


def ended(process: subprocess.Popen) -> tuple[int, str]:
    output, _ = process.communicate(timeout=600)
    return process.returncode, output


def is_begun(folder: Path) -> bool:
    """Whether the plan of a run was checked, and stored."""
    return (folder / "flightpath.sqlite").exists() and Store.open(folder, create=False).latest() is not None


def is_at_work(worker: subprocess.Popen) -> bool:
    """Whether a virtual-time kernel runs below it."""
    return any("rootfstype=hostfs" in process.command_line for process in descendants(worker.pid))


def cells(folder: Path) -> dict[str, CellResult]:
    if not is_begun(folder):
        return {}
    return {result.cell.label: result for result in Store.open(folder, create=False).cells("latest")}


def test_results_are_those_without_a_cluster_although_a_worker_is_killed(tmp_path):
    assert ended(started(tmp_path / "alone"))[0] == 0
    with cluster(tmp_path, workers=2) as parts:
        run = started(tmp_path / "cluster", *parts.options())
        wait_until(lambda: is_at_work(parts.workers[0]), "the worker to measure a cell", 400, poll_s=0.05)
        parts.workers[0].kill()
        code, output = ended(run)
    assert code == 0 and "Traceback" not in output, output
    assert metrics(tmp_path / "cluster") == metrics(tmp_path / "alone")
    store = Store.open(tmp_path / "cluster")
    assert [cell.certificate.verdict for cell in store.cells("latest")] == [Verdict.FAITHFUL] * CELLS
    assert store.latest().status is RunStatus.DONE
    (machine,) = store.latest().environment["workers"]
    found = {result.certificate.found["worker"]["machine"] for result in store.cells("latest")}
    assert found == {machine["machine"]} and machine["identity"]["flightpath"]


@pytest.mark.nightly
def test_a_run_goes_on_after_its_scheduler_was_killed(tmp_path):
    with cluster(tmp_path, workers=1) as parts:
        run = started(tmp_path / "runs", *parts.options())
        wait_until(lambda: cells(tmp_path / "runs") or run.poll() is not None, "the first cell", 400, poll_s=0.2)
        assert run.poll() is None, run.communicate()[0]
        parts.scheduler.kill()
        parts.scheduler.wait()
        code, output = ended(run)
        assert code == 1 and "the scheduler at" in output and "--resume" in output and "Traceback" not in output, output
        before = cells(tmp_path / "runs")
        parts.start_scheduler()
        code, output = ended(started(tmp_path / "runs", *parts.options(), "--resume", "latest"))
        assert code == 0, output
    after = Store.open(tmp_path / "runs").cells("latest")
    assert len(after) == CELLS and all(before[r.cell.label] == r for r in after if r.cell.label in before)


@pytest.mark.nightly
def test_seeds_do_on_a_cluster_what_they_do_here(tmp_path):
    draw = "read wanted; od -An -N2 -tu2 /dev/urandom > number; read n < number; echo $wanted $n; exit $((n % 2))"
    given = tmp_path / "given"
    given.write_text("seven\n")

    def searched(folder: Path, *options: str) -> tuple[int, str, dict[str, str]]:
        argv = [sys.executable, "-m", "execution.virtual", "--seeds", "1-6", "--same", "--results", folder, *options]
        with given.open() as stdin:
            done = finished([*argv, "--", "sh", "-c", draw], stdin=stdin)
        return done.returncode, done.stdout, {file.name: file.read_text() for file in folder.glob("seed-*.log")}

    with cluster(tmp_path, workers=1) as parts:
        code, printed, failed = searched(tmp_path / "cluster", *parts.options())
    assert code == 1 and failed and all(text.startswith("seven ") for text in failed.values()), printed
    assert searched(tmp_path / "here") == (code, printed, failed)


@pytest.mark.nightly
def test_an_interrupted_run_frees_its_workers(tmp_path):
    with cluster(tmp_path, workers=1) as parts:
        (worker,) = parts.workers
        run = started(tmp_path / "runs", *parts.options(), scenario=LONG)
        wait_until(lambda: is_begun(tmp_path / "runs") or run.poll() is not None, "the plan", 200, poll_s=0.2)
        wait_until(lambda: is_at_work(worker) or run.poll() is not None, "the cell", 60)
        run.send_signal(signal.SIGINT)
        code, output = ended(run)
        assert code == 130 and not cells(tmp_path / "runs"), output
        wait_until(lambda: not is_at_work(worker), "the end of a cell that nobody waits for", 30)
        assert worker.poll() is None


@pytest.mark.nightly
def test_what_has_no_key_or_another_one_gets_no_connection(tmp_path):
    with cluster(tmp_path, workers=0) as parts:
        other = tmp_path / "other.pem"
        make_key(other)
        code, output = ended(started(tmp_path / "runs", "--cluster", parts.address, "--key", str(other)))
        assert code == 3 and "no scheduler answers" in output, output
        code, output = ended(started(tmp_path / "runs", *parts.options()))
        assert code == 3 and "has no worker" in output and "flightpath worker" in output, output
        parts.key.chmod(0o644)
        code, output = ended(started(tmp_path / "runs", *parts.options()))
        assert code == 2 and "chmod 600" in output, output
    assert not (tmp_path / "runs").exists()
