"""Requests over a control socket, and their answers."""

import socket
import subprocess
import threading

import pytest

from flightpath.errors import FlightpathError, MeasurementFailed
from tests.support.killed import killed_at_end
from topologies.links.native_program import ask


@pytest.fixture
def answering(tmp_path):
    """Makes a program of one answer to `stats`, or of one deed; returns where it listens."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(str(tmp_path / "control"))
        listener.listen()

        def once(answer) -> None:
            with listener.accept()[0] as connection:
                if connection.recv(1000) == b"stats":
                    connection.send(answer) if isinstance(answer, bytes) else answer()

        def serve(answer):
            threading.Thread(target=once, args=[answer], daemon=True).start()
            return tmp_path / "control"

        yield serve


@pytest.fixture
def running():
    """Starts a program that does not end."""
    with killed_at_end(subprocess.Popen(["sleep", "600"], text=True)) as process:
        yield process


def reply(path, process) -> dict:
    return ask(path, "stats", process=process, program="the relay of link a:b", subject="link a:b")


@pytest.mark.parametrize(
    ("answer", "kind", "said"),
    [
        (b'{"error": "no such key"}', FlightpathError, r"^link a:b: no such key$"),
        (b"", MeasurementFailed, r"^the relay of link a:b does not answer: "),
        ("is killed", MeasurementFailed, r"^the relay of link a:b ended by SIGKILL: perhaps the kernel ran out of"),
    ],
)
def test_a_refusal_is_told_of_the_subject_and_no_answer_of_the_program(answering, running, answer, kind, said):
    path = answering(running.kill if answer == "is killed" else answer)
    with pytest.raises(kind, match=said):
        reply(path, running)


def test_nobody_listens(tmp_path, running):
    with pytest.raises(MeasurementFailed, match=r"does not answer: .*No such file"):
        reply(tmp_path / "control", running)
