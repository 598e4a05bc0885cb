"""Grading: marks for honest submissions, and nothing outside touched by hostile ones."""

import csv
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import zipfile
from pathlib import Path

import pytest

from flightpath.command_line import INTERRUPTED
from flightpath.errors import MeasurementFailed
from flightpath.project import PROJECT
from flightpath.waiting import wait_until
from labs.framework import catalogue, programs
from labs.framework.lab import Variant
from labs.grading import confinement
from labs.solutions import lab02_full_pipe, lab07_switch
from labs.solutions.attempt import Attempt
from tests.support import prying
from tests.support.finished import finished
from tests.support.handed_in import hand_in
from tests.support.process_list import mentioning
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
    handed_in = tmp_path / "in"
    hand_in_answers(handed_in / "ben", "ben", right_answers("anna"))
    cleo = Variant("cleo").parameters(catalogue.find(7))
    hand_in(catalogue.find(7), Variant("cleo"), lab07_switch.solution(cleo), handed_in / "cleo")
    hand_in_answers(handed_in / "deep", "deep", {}).joinpath("answers.toml").write_text("rtt_ms = " + "[" * 100_000)
    hand_in_answers(handed_in / "huge", "huge", {"rtt_ms": 1e300, "bdp_kb": -1e300, "buffer_kb": 1e18})
    (handed_in / "link").mkdir()
    (handed_in / "link/lab.json").symlink_to("/etc/shadow")
    with zipfile.ZipFile(handed_in / "bomb.zip", "w", zipfile.ZIP_DEFLATED) as opened:
        opened.writestr("lab.json", "0" * (50 << 20))
    before = {path: path.stat().st_mtime_ns for path in handed_in.rglob("*") if path.is_file()}
    argv = [sys.executable, "-m", "labs", "grade", handed_in, "--csv", tmp_path / "marks.csv"]
    (tmp_path / "tmp").mkdir()
    done = finished(argv, timeout=580, env={**os.environ, "TMPDIR": str(tmp_path / "tmp")})
    assert done.returncode == 4 and "Traceback" not in done.stderr, done.stderr
    marks = {row["submission"]: row for row in csv.DictReader((tmp_path / "marks.csv").open())}
    found = tuple(marks["cleo"][name] for name in ("points", "of", "status", "note"))
    assert found == ("6", "6", "judged", ""), "honest programs run there, too"
    assert int(marks["ben"]["points"]) < 4 and marks["ben"]["hints"], "copied answers"
    assert marks["huge"]["points"] == "0"
    assert {name for name, row in marks.items() if row["status"] == "unreadable"} == {"deep", "link", "bomb"}
    assert "10 MiB" in marks["bomb"]["note"] and "no lab.json" in marks["link"]["note"]
    assert {path: path.stat().st_mtime_ns for path in handed_in.rglob("*") if path.is_file()} == before
    assert mentioning(str(tmp_path / "tmp")) == []


@pytest.mark.starts_kernels
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_grading_that_is_ended_leaves_nothing(number, tmp_path):
    hand_in_answers(tmp_path / "in/anna", "anna", right_answers("anna"))
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    argv = [sys.executable, "-m", "labs", "grade", tmp_path / "in"]
    grading = subprocess.Popen(argv, cwd=PROJECT, env={**os.environ, "TMPDIR": str(temporary)})

    def is_begun() -> bool:
        return any(temporary.glob("*/submission/lab.json")) and mentioning(str(temporary)) != []

    wait_until(is_begun, "the check to begin", 60)
    grading.send_signal(number)
    assert grading.wait(20) == (INTERRUPTED if number == signal.SIGTERM else -number)
    wait_until(lambda: not any(temporary.iterdir()) and not mentioning(str(temporary)), "nothing to be left", 20)


SEEN = {
    "/": "bin dev etc home kernels lib lib64 mnt proc root run sbin submission sys tmp usr var",
    "/etc": "alternatives ethertypes group iproute2 ld.so.cache ld.so.conf ld.so.conf.d nsswitch.conf passwd protocols "
    "services",
    "/home /root /mnt /tmp /var /run /sys": "",
    "/submission": "answers.toml lab.json README.md prying.py",
    PROJECT: ".venv Makefile congestion controllers execution experiments flightpath labs native probes results "
    "scenarios services topologies",
    PROJECT / "labs": "__init__.py __main__.py commands framework grading "
    + " ".join(catalogue.folder_of(lab).name for lab in catalogue.all_labs()),
    PROJECT / "results": "__init__.py __main__.py commands comparison dashboard exchange figures metrics.py pages "
    "recording records.py statistics store summary",
}
"""Everything that a submission may see, by folder: programs and settings, and of the project what a check runs."""


def pry(tmp_path, *words: str, stop: threading.Event | None = None) -> tuple[int, bytes]:
    folder = hand_in_answers(tmp_path / "anna", "anna", {})
    shutil.copy(prying.__file__, folder)
    return confinement.run([f"{confinement.SUBMISSION}/prying.py", *words], folder, stop or threading.Event())


def test_the_confinement_hides_and_forbids_everything_else(tmp_path):
    require_uml_kernel()
    with socket.create_server(("127.0.0.1", 0)) as server:
        code, printed = pry(tmp_path, str(server.getsockname()[1]), " ".join(map(str, SEEN)))
    assert code == 0
    done, seen = json.loads(printed)
    assert len(done) == 9 and not any(done.values()), done
    for folders, names in SEEN.items():
        for folder in str(folders).split():
            assert set(seen[folder]) <= {*names.split(), *PROJECT.parts[1:2]}, folder
    assert not (tmp_path / "anna/evil").exists() and not (PROJECT / "labs/evil").exists()


def test_what_prints_without_end_is_ended_and_its_output_bounded(tmp_path, monkeypatch):
    require_uml_kernel()
    monkeypatch.setattr(confinement, "_TIME_LIMIT_S", 5)
    with pytest.raises(MeasurementFailed, match="more than 5 s"):
        pry(tmp_path, "1", "/", "forever")
    assert mentioning("prying.py", "forever") == []


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
