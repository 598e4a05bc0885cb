"""Programs of students that want marks without work: as root of the guest, by printing, by modules named as ours."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from execution.uml import kernel
from execution.uml.uml import UserModeLinux
from flightpath.project import PROJECT
from labs.framework import catalogue, experiments, work
from labs.framework.checking import Checked, check, judged
from labs.framework.lab import Variant
from labs.solutions import lab12_measuring
from labs.solutions.attempt import Attempt
from tests.support.finished import finished
from tests.support.handed_in import hand_in
from tests.support.rings import nightly
from tests.support.watched_pages import shown

SOURCE = Path(__file__).parents[2] / "support" / "becomes_root.c"
WRITABLE = "find / /run /dev -maxdepth 2 ( -path /proc -o -path /sys ) -prune -o -writable -type d -print"
ATTACK = f"""
import pathlib, subprocess
forged = "umount /mnt; cd /mnt/shared && cat > part && mv part answer.json && echo 0 > status"
writable = sorted(set(subprocess.run({WRITABLE.split()}, capture_output=True, text=True).stdout.split()))
answers = list(pathlib.Path("/mnt").iterdir())
done = subprocess.run(["./becomes_root", "sh", "-c", forged], input=ANSWER, text=True, capture_output=True)
raise SystemExit(f"writes to {{writable}}, sees {{answers}}, {{done.stdout.strip()}}, ended with {{done.returncode}}")
"""
"""Lab 6's `control.py`; what it says is in the reason why it failed."""


def attacked(tmp_path: Path) -> Checked:
    """Checks a submission that writes the answer of its own experiment if it becomes root."""
    lab, anna = catalogue.find(6), Variant("anna")
    parameters = anna.parameters(lab)
    values = {"fast_p90_ms": 1, "slow_p90_ms": 1, "jain": 1, "lost": 0}
    values |= {"fast_mbit": 0.95 * parameters["mbit"], "slow_mbit": 0.95 * parameters["slow_mbit"]}
    measured = {"values": values, "verdict": "faithful", "reasons": [], "series": {}, "failure": ""}
    control = f"ANSWER = {json.dumps({'value': [measured]})!r}\n{ATTACK}"
    submission = hand_in(lab, anna, Attempt({}, {"control.py": control}), tmp_path / "anna")
    program = tmp_path / "anna/becomes_root"
    subprocess.run(["gcc", "-O1", "-mno-red-zone", "-Wall", "-Werror", "-o", program, SOURCE], check=True)
    return check(submission)


@pytest.mark.starts_kernels
@pytest.mark.timeout(300)
def test_a_program_cannot_become_root_of_the_kernel_and_write_its_own_marks(tmp_path):
    """A submission writes into its own folders, whoever runs it, and does not see where answers go."""
    found = attacked(tmp_path)
    assert found.points == 0
    writes = "writes to ['/dev/shm', '/tmp', '/var/tmp'], sees [], there is a stub, ended with -11"
    assert writes in found.measured.failure


@pytest.mark.nightly
@pytest.mark.starts_kernels
@pytest.mark.timeout(300)
def test_it_could_if_the_kernel_trusted_its_programs(tmp_path, monkeypatch):
    """Else the test above would prove nothing."""
    trusting = lambda argv: UserModeLinux(kernel.find(), memory_mib=1024, seed=1).guest(argv)  # noqa: E731
    monkeypatch.setattr(experiments, "_virtual", trusting)
    found = attacked(tmp_path)
    assert found.passed and found.points == 7 and not found.measured.failure


ANSWERS_PINGS = '''
    def send(self, message, _ports):
        """Answers every ARP request and every ping itself."""
        data, me = bytearray(message.data), bytes.fromhex("020000000099")
        data[:12] = data[6:12] + me
        if data[12:14] == b"\\x08\\x06":
            data[20:42] = b"\\0\\x02" + me + data[38:42] + data[22:32]
        elif data[12:14] == b"\\x08\\0" and data[23] == 1:
            data[26:34] = data[30:34] + data[26:30]
            total = int.from_bytes(data[36:38], "big") + 0x0800
            data[34], data[36:38] = 0, (total % 0x10000 + total // 0x10000).to_bytes(2, "big")
        else:
            return
        message.data = bytes(data)
        self.out(message, [message.match["in_port"]])

    def out(self'''
SENDS_ITSELF = """
import socket, threading, time
def send():
    sockets = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2)]
    while True:
        for each in sockets: each.sendto(bytes(1400), ("10.0.1.2", 4000))
        time.sleep(0.005)
threading.Thread(target=send, daemon=True).start()
class Control:
    window = 1
    on_ack = on_loss = lambda *_: None
"""
PRINTS = """print('{"requests": 1600, "p50_ms": 3, "p99_ms": %d}')\n"""


def p99_ms(parameters) -> int:
    return 2 * parameters["ms"] + parameters["pause_ms"] - parameters["period_ms"] // 100


def worked_out(parameters, _) -> str:
    """Sends all requests, and prints what its author has worked out."""
    program = lab12_measuring.solution(parameters).files["measure.py"]
    return program.replace("1e3 * cuts[98]", str(p99_ms(parameters)))


CHEATS = (
    (1, "routes.mn", lambda variant, _: f"h1 ip route add local 10.{variant['net']}.4.0/24 dev lo\n", "", 0),
    (2, "answers.toml", lambda *_: "goodput_mbit = 40\n", "", 0),
    (3, "queue.toml", lambda *_: "fast_mbit = 20.0\n", "fast_mbit is unknown", 0),
    (4, "answers.toml", lambda *_: "together_mbit = 99\n", "", 0),
    (5, "choice.toml", lambda *_: "chosen_percent = 50\n", "chosen_percent is unknown", 0),
    (6, "control.py", lambda *_: "print('window 30.0')\nraise SystemExit(0)\n", "0 senders instead of 2", 0),
    (6, "control.py", lambda *_: SENDS_ITSELF, "senders instead of 2", 0),
    (7, "switch.py", lambda *_: "print('12 received')\n", "switch.py", 0),
    (7, "switch.py", lambda _, text: text.replace("\n    def send(self", ANSWERS_PINGS), "", 0),
    (8, "mptcp.mn", lambda *_: "h1 ip mptcp echo path3 5\n", "line 1", 0),
    (9, "answers.toml", lambda *_: "tcp = 100\ntcp_more = 9999\n", "", 0),
    (10, "transfer.toml", lambda *_: "large_mbit = 9.0\n", "large_mbit is unknown", 0),
    (11, "tunnel.toml", lambda *_: "before_mbit = 15.0\n", "before_mbit is unknown", 0),
    (12, "measure.py", lambda variant, _: PRINTS % p99_ms(variant), "printed that there were 1600 requests", 0),
    (12, "measure.py", worked_out, "", 2),
)
"""Labs, files that claim to have measured or make it seem so, what is said of them, and points that they are worth."""


@pytest.mark.starts_kernels
@pytest.mark.parametrize("labs", [{12}, nightly({lab.number for lab in catalogue.all_labs()} - {12})])
def test_what_prints_instead_of_measuring_gets_no_marks(labs, tmp_path):
    anna, cheats, submissions = Variant("anna"), [cheat for cheat in CHEATS if cheat[0] in labs], []
    assert {number for number, *_ in cheats} == labs, "one for each lab"
    for number, file, text, _, _ in cheats:
        lab = catalogue.find(number)
        folder = work.start(lab, anna, tmp_path / f"{number} {len(submissions)}")
        (folder / file).write_text(text(anna.parameters(lab), (folder / file).read_text()))
        submissions.append(work.read(folder))
    for cheat, submission, measured in zip(cheats, submissions, experiments.measure(submissions), strict=True):
        _, _, _, said, points = cheat
        found = judged(submission, measured)
        assert found.is_judged and bool(measured.failure) == bool(said) and said in measured.failure, (cheat, measured)
        assert found.points == points, (cheat, found.findings, measured)


@pytest.mark.starts_kernels
@pytest.mark.timeout(300)
def test_modules_in_a_student_s_folder_do_not_take_the_place_of_ours_and_its_packets_are_watched(tmp_path):
    folder = work.start(catalogue.find(2), Variant("anna"), tmp_path / "anna")
    (folder / "answers.toml").write_text("rtt_ms = 1\nbuffer_kb = 10\n")
    ours = [file.parent.name for file in PROJECT.glob("*/__init__.py")]
    for name in [*ours, "json", "random", "sitecustomize", "pydantic", "mininet"]:
        (folder / f"{name}.py").write_text(f"raise SystemExit({name!r})\n")
    argv = [Path(sys.executable).with_name("flightpath"), "lab", "check"]
    done = finished(argv, cwd=folder, timeout=280)
    assert done.returncode == 1 and "0 of 4 points" in done.stdout, done
    facts, columns = shown(folder / "check.html")
    assert "watch what happened: check.html" in done.stdout and facts["title"].startswith("Lab 2 Fill the pipe")
    assert (columns["payload"] > 0).sum() > 100
