"""The controller's listening sockets, on loopback, when it has no file descriptor left for a connection."""

import http.client
import re
import resource
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest

from controllers.network.description import Network, Switch
from flightpath.project import PROJECT
from flightpath.waiting import wait_until

DESCRIPTORS, CONNECTIONS = 40, 60
HELLO = bytes.fromhex("0400000800000001")  # OpenFlow 1.3, OFPT_HELLO


class Controller:
    """A steering controller without switches, with few file descriptors, and the lines that it has printed."""

    def __init__(self, network: str) -> None:
        options = ["--network", network, "--listen", "127.0.0.1:0", "--policy", "--rest", "127.0.0.1:0"]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "controllers", *options],
            cwd=PROJECT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.lines: list[str] = []
        threading.Thread(target=self._read, daemon=True).start()
        wait_until(lambda: self.port("listening on") and self.port("view at"), "the controller to listen", 30)
        resource.prlimit(self.process.pid, resource.RLIMIT_NOFILE, (DESCRIPTORS, DESCRIPTORS))

    def port(self, what: str) -> int:
        """The port in a line that it has printed; 0: not printed yet."""
        ports = [match[1] for line in self.lines if (match := re.match(rf"{what} .*:(\d+)$", line))]
        return int(ports[0]) if ports else 0

    def _read(self) -> None:
        self.lines.extend(self.process.stdout)


@pytest.fixture
def controller(tmp_path) -> Iterator[Controller]:
    network = tmp_path / "network.json"
    network.write_text(Network((Switch("s1", 1),)).to_json())
    started = Controller(str(network))
    yield started
    started.process.kill()
    started.process.wait()
    started.process.stdout.close()


@pytest.mark.parametrize("what", ["listening on", "view at"])
def test_it_accepts_connections_again_when_it_has_file_descriptors_again(controller, what):
    switch, view = controller.port("listening on"), controller.port("view at")

    crowd = [socket.create_connection(("127.0.0.1", controller.port(what)), timeout=10) for _ in range(CONNECTIONS)]
    wait_until(lambda: any("Too many open files" in line for line in controller.lines), "too many open files", 20)
    for one in crowd:
        one.close()

    assert says_hello(switch)
    assert answers(view)
    assert sum("cannot accept" in line for line in controller.lines) < 5, "it says so once, not at each attempt"


def says_hello(port: int) -> bool:
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
        connection.sendall(HELLO)
        return connection.recv(2) == HELLO[:2]


def answers(port: int) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    connection.request("GET", "/health")
    answer = connection.getresponse()
    connection.close()
    return answer.status in (200, 503)
