"""The testbed: links match their specifications, paths are disjoint, MPTCP uses both and TCP one."""

import contextlib
import hashlib
import random
import subprocess
from collections.abc import Iterator

import pytest

from flightpath.waiting import wait_until
from topologies.hosts.multihomed import MultihomedHost
from topologies.testbed.testbed import Testbed
from topologies.web_service import WebService

pytestmark = [pytest.mark.virtual, pytest.mark.in_sandbox]

SIZE = 3_000_000
PLANES = "bandwidth=50Mbit"
SERVER = """
import socket, sys, random
data = random.Random(7).randbytes({size})
listener = socket.create_server(("0.0.0.0", 5001))
connection, _ = listener.accept()
connection.sendall(data)
connection.shutdown(socket.SHUT_WR)
connection.recv(1)
"""
CLIENT = """
import socket, hashlib
connection = socket.create_connection(("10.0.1.2", 5001))
digest = hashlib.sha256()
while chunk := connection.recv(1 << 16):
    digest.update(chunk)
print(digest.hexdigest())
connection.close()
"""


@contextlib.contextmanager
def serving(host: MultihomedHost, argv: list[str], port: int) -> Iterator[None]:
    server = host.popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_until(lambda: f":{port} " in host.run(["ss", "-Htln"]), f"port {port} of {host.name}", 30)
        yield
    finally:
        server.kill()
        server.wait()


def transfer(testbed: Testbed, wrapper: list[str]) -> None:
    with serving(testbed.host("h2"), [*wrapper, "python3", "-c", SERVER.format(size=SIZE)], 5001):
        digest = testbed.host("h1").run([*wrapper, "python3", "-c", CLIENT]).strip()
    assert digest == hashlib.sha256(random.Random(7).randbytes(SIZE)).hexdigest()


def carried(testbed: Testbed, host: str) -> list[int]:
    return [testbed.link(host, port).stats()["directions"]["b_to_a"]["out_bytes"] for port in (0, 1)]


def test_mptcp_uses_both_paths_and_every_byte_arrives():
    with Testbed(WebService(PLANES, mptcp=True, congestion_control="cubic")) as testbed:
        transfer(testbed, ["mptcpize", "run"])
        first, second = carried(testbed, "h1")
        assert first + second > SIZE
        assert min(first, second) > SIZE / 10
