"""The testbed: links match their specifications, paths are disjoint, MPTCP uses both and TCP one."""

import contextlib
import hashlib
import json
import random
import subprocess
from collections.abc import Iterator

import pytest

from flightpath.errors import FlightpathError, MeasurementFailed
from flightpath.waiting import wait_until
from topologies.hosts import congestion_control
from topologies.hosts.multihomed import MultihomedHost
from topologies.links.spec import LinkSpec
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


def test_tcp_uses_one_path_and_every_byte_arrives():
    with Testbed(WebService(PLANES, congestion_control="cubic")) as testbed:
        transfer(testbed, [])
        first, second = carried(testbed, "h1")
        assert first > SIZE
        assert second < SIZE / 100


def test_mptcp_uses_both_paths_and_every_byte_arrives():
    with Testbed(WebService(PLANES, mptcp=True, congestion_control="cubic")) as testbed:
        transfer(testbed, ["mptcpize", "run"])
        first, second = carried(testbed, "h1")
        assert first + second > SIZE
        assert min(first, second) > SIZE / 10


def test_bandwidth_and_round_trip_are_as_specified_on_each_plane():
    fast = LinkSpec(bandwidth_bps=40_000_000, delay_s=0.005)
    slow = LinkSpec(bandwidth_bps=10_000_000, delay_s=0.020)
    with Testbed(WebService(planes=(fast, slow), congestion_control="cubic")) as testbed:
        for path in testbed.calibrate().paths:
            assert path.expected_rtt_ms == (20.0 if path.port == 0 else 80.0)
            assert path.expected_rtt_ms <= path.rtt_ms < path.expected_rtt_ms + 5
        for plane, spec in ((1, fast), (2, slow)):
            goodput = iperf_bps(testbed, f"10.0.{plane}.2")
            # 1448 of 1514 bytes of each frame are payload; slow start takes its part of three seconds.
            assert 0.75 * spec.bandwidth_bps < goodput < 0.97 * spec.bandwidth_bps


def iperf_bps(testbed: Testbed, address: str) -> float:
    web, client = testbed.host("h2"), testbed.host("h1")
    with serving(web, ["iperf3", "-s"], 5201):
        report = json.loads(client.run(["iperf3", "-c", address, "-R", "-t", "3", "-J"]))
    return report["end"]["sum_received"]["bits_per_second"]


@pytest.mark.parametrize("algorithm", ["reno", "cubic"])
def test_every_subflow_uses_the_requested_congestion_control(algorithm):
    """It does so even if the kernel's default differs and a namespace may not change it."""
    with Testbed(WebService(PLANES, mptcp=True, congestion_control=algorithm)) as testbed:
        web, client = testbed.host("h2"), testbed.host("h1")
        with serving(web, ["mptcpize", "run", "iperf3", "-s"], 5201):
            assert congestion_control.set_on_listeners(web) >= 1
            asking = client.popen(["mptcpize", "run", "iperf3", "-c", "10.0.1.2", "-R", "-t", "3"])
            wait_until(lambda: sum(congestion_control.in_use(web).values()) >= 4, "both subflows", 30)
            for host in (web, client):
                assert set(congestion_control.in_use(host)) == {algorithm}
            asking.communicate(timeout=20)


def test_a_link_that_dies_is_noticed():
    with Testbed(WebService(PLANES), emulator="relay") as testbed:
        testbed.check()
        link = testbed.link("h1", 0)
        link._process.kill()
        link._process.wait()
        with pytest.raises(MeasurementFailed, match="h1-eth0"):
            testbed.check()
        with pytest.raises(MeasurementFailed, match="h1-eth0"), testbed.reporting_component_failure():
            raise FlightpathError("a server that is reached over this link did not start")
