"""Requests over a control socket, and their answers."""

import socket
import subprocess
import threading
from collections.abc import Callable

import pytest

from flightpath.errors import FlightpathError, MeasurementFailed
from topologies.links.native_program import ask


@pytest.fixture
def answering(tmp_path):
    """Makes a program of one answer, or of one deed; returns where it listens, and the list of its requests."""
    listeners, requests = [], []

    def serve(answer: bytes | Callable[[], None]):
        path = tmp_path / "control"
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        listener.bind(str(path))
        listener.listen()
        listeners.append(listener)

        def once() -> None:
            with listener.accept()[0] as connection:
                requests.append(connection.recv(1000))
                if callable(answer):
                    answer()
                else:
                    connection.send(answer)

        threading.Thread(target=once, daemon=True).start()
        return path, requests

    yield serve
    for each in listeners:
        each.close()


@pytest.fixture
def running():
    """Starts a program that does not end."""
    with subprocess.Popen(["sleep", "600"], text=True) as process:
        yield process
        process.kill()


def reply(path, process) -> dict:
    return ask(path, "stats", process=process, program="the relay of link a:b", subject="link a:b")


def test_an_answer_is_read(answering, running):
    path, requests = answering(b'{"name": "a:b"}')
    assert reply(path, running) == {"name": "a:b"}
    assert requests == [b"stats"]


@pytest.mark.parametrize(
    ("answer", "kind", "said"),
    [
        (b'{"error": "no such key"}', FlightpathError, r"^link a:b: no such key$"),
        (b"", MeasurementFailed, r"^the relay of link a:b does not answer: "),
        (b"{", MeasurementFailed, r"^the relay of link a:b does not answer: "),
        ("is killed", MeasurementFailed, r"^the relay of link a:b ended by SIGKILL: perhaps the kernel ran out of"),
    ],
)
def test_a_refusal_is_told_of_the_subject_and_no_answer_of_the_program(answering, running, answer, kind, said):
    path, _ = answering(running.kill if answer == "is killed" else answer)
    with pytest.raises(kind, match=said):
        reply(path, running)


def test_nobody_answers_and_then_the_program_has_ended(tmp_path, running):
    with pytest.raises(MeasurementFailed, match=r"does not answer: .*No such file"):
        reply(tmp_path / "control", running)
    running.kill()
    running.wait()
    with pytest.raises(MeasurementFailed, match="ended by SIGKILL"):
        reply(tmp_path / "control", running)
