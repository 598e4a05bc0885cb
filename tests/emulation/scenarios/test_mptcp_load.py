"""The main job, small: it measures, keeps what it measured, refuses nonsense, and leaves nothing behind."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from flightpath.processes import descendants
from flightpath.project import PROJECT
from flightpath.waiting import wait_until
from results.store.store import Store
from tests.support.finished import finished
from tests.support.killed import killed_at_end
from tests.support.machine_state import interfaces
from tests.support.rings import nightly
from tests.support.vocabulary import unknown_metrics

# Ten seconds are usual; beside busy loops and other tests it has taken more than a hundred.
pytestmark = pytest.mark.timeout(450)

SMALL = ("--threads", "40", "--loads", "400", "--repeat", "1")


def command(*arguments: str, results: Path) -> list[str]:
    own = ("--clock", "real", "--scale", "1", "--results", str(results))
    return [sys.executable, "-m", "scenarios.mptcp_load", *own, *arguments]


def require_both_protocols(folder: Path, report: dict[str, Any]) -> None:
    """Both protocols are measured, proven and kept, with their figures."""
    cells = {cell["parameters"]["protocol"]: cell["metrics"] for cell in report["cells"]}
    assert set(cells) == {"tcp", "mptcp"}
    for metrics in cells.values():
        assert metrics["requests"]["value"] == 800
        assert metrics["errors"]["value"] == 0
        assert metrics["lost_writes"]["value"] == 0
    assert len(report["claims"]) == 19
    stored = {result.cell.parameters["protocol"]: result for result in Store.open(folder).cells(report["run"])}
    proof = stored["mptcp"].measurement.metadata["mptcp"]
    assert proof["h1"] == {"connections": 40, "joins": 40}
    assert stored["mptcp"].certificate.found["tcp_counters"]["h1"]["MPTcpExt.MPJoinSynAckRx"] == 40
    for host, per_link in proof["bytes_per_path"].items():
        assert min(per_link.values()) > 0.1 * sum(per_link.values()), host
    for result in stored.values():
        assert unknown_metrics(result.measurement.metrics) == {}
        assert set(result.certificate.found["congestion_control"]["h2"]) == {"cubic"}
    for name in ("fig2_throughput", "fig5_run_time", "fig6_latency"):
        for kind in ("png", "svg"):
            assert (folder / report["run"] / f"{name}.{kind}").stat().st_size > 1000


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), nightly(signal.SIGKILL, -9)])
def test_both_protocols_are_measured_although_the_run_is_ended_between_them(tmp_path, number, code):
    before, pipes = interfaces(), {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}

    def is_first_kept() -> bool:
        assert process.poll() is None, process.communicate()[1]
        return bool(store.runs()) and len(store.cells("latest")) == 1

    def is_second_under_load() -> bool:
        return any("ApacheJMeter.jar" in each.command_line for each in descendants(process.pid))

    with killed_at_end(subprocess.Popen(command(*SMALL, results=tmp_path), cwd=PROJECT, **pipes)) as process:
        wait_until((tmp_path / "flightpath.sqlite").exists, "the store", 30)
        store = Store.open(tmp_path)
        wait_until(is_first_kept, "the first cell", 300, poll_s=0.1)
        wait_until(is_second_under_load, "JMeter", 300, poll_s=0.05)
        first, processes = store.cells("latest"), descendants(process.pid)
        process.send_signal(number)
        _, output = process.communicate(timeout=30)
    assert process.returncode == code
    assert ("continue with --resume" in output) == (code == 130), output
    wait_until(lambda: not any(each.is_alive() for each in processes), f"the end of {processes}", 30)
    assert interfaces() == before
    assert store.cells("latest") == first

    resumed = finished(command("--resume", "latest", "--json", results=tmp_path), timeout=400)
    assert resumed.returncode in (0, 4), resumed.stderr  # 4: a busy machine, honestly reported
    require_both_protocols(tmp_path, json.loads(resumed.stdout))
    assert store.cells("latest")[0] == first[0]
    assert interfaces() == before


@pytest.mark.skipif(os.getuid() != 0, reason="needs root, to hide files")
@pytest.mark.parametrize(
    ("missing", "said", "remedy"),
    [
        (lambda: PROJECT / "build" / "jmeter", "JMeter is not installed", "make setup"),
        (lambda: sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"))[-1], "PostgreSQL", ""),
    ],
)
def test_a_program_that_is_missing_or_does_not_start_is_named_with_exit_code_3(tmp_path, missing, said, remedy):
    """In a mount namespace of its own, in which the program fails or the folder is empty."""
    before, path = interfaces(), missing()
    cover = f"mount -t tmpfs none {path}" if path.is_dir() else f"mount --bind /bin/false {path}"
    covered = ["unshare", "--mount", "sh", "-c", f'{cover} && exec "$@"', "sh"]

    done = finished([*covered, *command(*SMALL, results=tmp_path / "results")], timeout=60)

    assert done.returncode == 3, done.stderr
    assert said in done.stderr and remedy in done.stderr
    assert (tmp_path / "results").exists() == (not remedy), "without JMeter nothing is begun"
    assert interfaces() == before


def test_without_root_and_namespaces_the_exit_code_is_3(tmp_path):
    """A user namespace that allows one more, in which an ordinary user then has none left."""
    nest = 'echo 1 > /proc/sys/user/max_user_namespaces && exec unshare --user --map-user=1000 "$@"'
    namespace = ["unshare", "--user", "--map-root-user"]
    argv = [*namespace, "sh", "-c", nest, "sh", *command(*SMALL, results=tmp_path / "results")]
    if subprocess.run([*namespace, "true"], capture_output=True, check=False).returncode:
        pytest.skip("this machine has no user namespaces to nest")

    done = finished(argv, timeout=60)

    assert done.returncode == 3, done.stderr
    assert "does not let an ordinary user make namespaces" in done.stderr
    assert "max_user_namespaces" in done.stderr
    assert not (tmp_path / "results").exists()
