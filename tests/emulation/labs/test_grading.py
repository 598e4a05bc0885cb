"""Grading: marks for honest submissions, and nothing outside touched by hostile ones."""

import csv
import json
import shutil
import socket
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from flightpath.errors import MeasurementFailed
from flightpath.project import PROJECT
from labs.framework import catalogue, programs
from labs.framework.variant import Variant
from labs.grading import confinement
from labs.solutions import lab02_full_pipe
from labs.solutions.attempt import Attempt
from tests.support.handed_in import hand_in
from tests.support.process_list import command_lines
from tests.support.uml import require_uml_kernel
from topologies.multipath_pair import MultipathPair
from topologies.sandbox.sandbox import TEMPORARY
from topologies.testbed.testbed import Testbed

pytestmark = pytest.mark.skipif(shutil.which("bwrap") is None, reason="needs bubblewrap")


def hand_in_answers(folder: Path, student: str, answers: dict[str, float]) -> Path:
    hand_in(catalogue.find(2), Variant(student), Attempt(answers), folder)
    return folder


def right_answers(student: str) -> dict[str, float]:
    return dict(lab02_full_pipe.solution(Variant(student).parameters(catalogue.find(2))).answers)


@pytest.mark.starts_kernels
def test_hostile_submissions_cost_only_themselves(tmp_path):
    require_uml_kernel()
    handed_in = tmp_path / "in"
    hand_in_answers(handed_in / "anna", "anna", right_answers("anna"))
    hand_in_answers(handed_in / "ben", "ben", right_answers("anna"))
    hand_in_answers(handed_in / "nobody", "nobody", {})
    hand_in_answers(handed_in / "deep", "deep", {}).joinpath("answers.toml").write_text("rtt_ms = " + "[" * 100_000)
    hand_in_answers(handed_in / "huge", "huge", {"rtt_ms": 1e300, "bdp_kb": -1e300, "buffer_kb": 1e18})
    (handed_in / "link").mkdir()
    (handed_in / "link/lab.json").symlink_to("/etc/shadow")
    with zipfile.ZipFile(handed_in / "bomb.zip", "w", zipfile.ZIP_DEFLATED) as opened:
        opened.writestr("lab.json", "0" * (50 << 20))
    before = {path: path.stat().st_mtime_ns for path in handed_in.rglob("*") if path.is_file()}
    argv = [sys.executable, "-m", "labs", "grade", handed_in, "--csv", tmp_path / "marks.csv"]
    done = subprocess.run(argv, cwd=PROJECT, capture_output=True, text=True, timeout=280)
    assert done.returncode == 4 and "Traceback" not in done.stderr, done.stderr
    marks = {row["submission"]: row for row in csv.DictReader((tmp_path / "marks.csv").open())}
    assert (marks["anna"]["points"], marks["anna"]["of"], marks["anna"]["status"]) == ("4", "4", "judged")
    assert int(marks["ben"]["points"]) < 4 and marks["ben"]["hints"], "copied answers"
    assert marks["nobody"]["points"] == "0" and marks["huge"]["points"] == "0"
    assert {name for name, row in marks.items() if row["status"] == "unreadable"} == {"deep", "link", "bomb"}
    assert "10 MiB" in marks["bomb"]["note"] and "no lab.json" in marks["link"]["note"]
    assert {path: path.stat().st_mtime_ns for path in handed_in.rglob("*") if path.is_file()} == before
    assert not [words for words in command_lines().values() if "labs.grading.one" in words]


def test_the_confinement_hides_and_forbids_everything_else(tmp_path):
    require_uml_kernel()
    submission = hand_in_answers(tmp_path / "anna", "anna", {})
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = str(server.getsockname()[1])
        code, printed = confinement.run(["tests.support.prying", port], submission)
    assert code == 0
    found = json.loads(printed)
    assert len(found) == 10 and not any(found.values()), found
    assert not (submission / "evil").exists() and not (PROJECT / "labs/evil").exists()


def test_what_prints_without_end_is_ended_and_its_output_bounded(tmp_path, monkeypatch):
    require_uml_kernel()
    monkeypatch.setattr(confinement, "_TIME_LIMIT_S", 5)
    submission = hand_in_answers(tmp_path / "anna", "anna", {})
    with pytest.raises(MeasurementFailed, match="more than 5 s"):
        confinement.run(["tests.support.prying", "1", "forever"], submission)
    assert not [words for words in command_lines().values() if "tests.support.prying" in words]


HOSTILE = (
    ("import os\nwhile True:\n    try: os.fork()\n    except OSError: pass", "did not end within 3 s"),
    ("while True: pass", "did not end within 3 s"),
    ("x = bytearray(1 << 30)", "ended with exit code 1: .*MemoryError"),
    ("while True: print('x' * 1000)", "did not end within 3 s"),
    ("import os, signal\nos.kill(-1, signal.SIGKILL)\nos.kill(os.getppid(), 9)", "ended with exit code"),
    ("raise SystemExit('I do not know')", "ended with exit code 1: I do not know"),
)


@pytest.mark.in_sandbox
def test_a_program_of_a_student_is_bounded():
    folder = TEMPORARY / "work"
    folder.mkdir(mode=0o755)
    with Testbed(MultipathPair(paths=1, mptcp=False)) as testbed:
        host, other = testbed.net.hosts
        for program, said in HOSTILE:
            (folder / "program.py").write_text(program)
            with pytest.raises(MeasurementFailed, match=f"(?s)program.py {said}"):
                programs.run(host, ["python3", "program.py"], folder, name="program.py", seconds=3)
            testbed.check()
            told = programs.run(host, ["ping", "-c", "1", other.address()], folder, name="ping", seconds=5)
            assert told.code == 0 and "1 received" in told.output, program


@pytest.mark.in_sandbox
def test_a_program_may_configure_only_its_host_s_network():
    folder = TEMPORARY / "work"
    folder.mkdir(mode=0o755)
    with Testbed(MultipathPair(paths=1, mptcp=False)) as testbed:
        host = testbed.net.hosts[0]
        add = ["ip", "address", "add", "10.9.9.9/32", "dev", host.intfs[0].name]
        with pytest.raises(MeasurementFailed, match="Operation not permitted"):
            programs.run(host, add, folder, name="x", seconds=5)
        programs.run(host, add, folder, name="x", seconds=5, may_configure=True)
        assert "10.9.9.9" in host.run(["ip", "address"])
        with pytest.raises(MeasurementFailed, match="exit code"):
            programs.run(host, ["touch", str(folder / "x")], folder, name="x", seconds=5, may_configure=True)
