"""Requests over a control socket, and their answers."""

import signal
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


def test_a_refusal_is_told_of_the_subject(answering, running):
    path, _ = answering(b'{"error": "no such key"}')

    with pytest.raises(FlightpathError, match=r"^link a:b: no such key$"):
        reply(path, running)


@pytest.mark.parametrize("answer", [b"", b"{"])
def test_a_broken_answer_is_none(answering, running, answer):
    path, _ = answering(answer)

    with pytest.raises(MeasurementFailed, match=r"^the relay of link a:b does not answer: "):
        reply(path, running)


def test_nobody_answers(tmp_path, running):
    with pytest.raises(MeasurementFailed, match=r"does not answer: .*No such file"):
        reply(tmp_path / "control", running)


def test_one_that_the_kernel_killed_is_told_with_what_may_be_behind_it(tmp_path, running):
    running.send_signal(signal.SIGKILL)
    running.wait()
    with pytest.raises(
        MeasurementFailed, match=r"^the relay of link a:b ended by SIGKILL: perhaps the kernel ran out of memory"
    ):
        reply(tmp_path / "control", running)


def test_one_that_is_killed_before_it_answers_is_told_as_killed(answering, running):
    path, _ = answering(running.kill)

    with pytest.raises(MeasurementFailed, match="ended by SIGKILL"):
        reply(path, running)
