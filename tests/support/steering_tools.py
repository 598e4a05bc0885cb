"""Transfers between hosts of a steered network, as their receivers report them, and what links carried meanwhile."""

import contextlib
import json
import re
import signal
import subprocess
from collections.abc import Iterator
from ipaddress import ip_address
from typing import Any, NamedTuple

from flightpath.waiting import wait_until
from tests.support.killed import killed_at_end
from topologies.fabric import Fabric
from topologies.hosts.multihomed import MultihomedHost
from topologies.links.spec import LinkSpec
from topologies.testbed.testbed import Testbed

PORT = 5001
MPTCP, TCP = 262, 6
PATH = LinkSpec(bandwidth_bps=20_000_000, delay_s=0.005, queue="50ms")

_SOURCE = """
import socket, sys, threading
family = socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET
def serve(connection):
    with connection:
        try:
            left = int(connection.recv(20))
            while left:
                left -= connection.send(bytes(min(left, 1 << 16)))
            connection.recv(1)
        except (OSError, ValueError):
            pass
listener = socket.socket(family, socket.SOCK_STREAM, int(sys.argv[2]))
listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
listener.bind(("", 5001))
listener.listen(512)
while True:
    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
"""

_SINK = """
import json, os, signal, socket, sys, time
def abort(*_):
    connection.recv(1, socket.MSG_PEEK)
    os._exit(0)
address, protocol, size = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
family = socket.AF_INET6 if ":" in address else socket.AF_INET
connection = socket.socket(family, socket.SOCK_STREAM, protocol)
begun = time.monotonic()
connection.connect((address, 5001))
connected = time.monotonic()
signal.signal(signal.SIGTERM, abort)
connection.sendall(b"%020d" % size)
received = 0
while received < size and (data := connection.recv(1 << 20)):
    received += len(data)
    print("some", flush=True) if received == len(data) else None
print(json.dumps({"received": received, "connect_s": connected - begun}))
"""


def fabric(**options: Any) -> Fabric:
    """Two edge switches with a host each and two paths between them, except for these options."""
    return Fabric(**{"hosts": 1, "cores": 2, "links": PATH, "congestion_control": "cubic", **options})


class Received(NamedTuple):
    """The report of a transfer's receiver: bytes, and the time from SYN to SYN/ACK."""

    received: int
    connect_s: float


@contextlib.contextmanager
def serving(host: MultihomedHost, address: str, *, mptcp: bool = True) -> Iterator[None]:
    """A server that sends to each client as many bytes as it requests."""
    with killed_at_end(host.popen(["python3", "-c", _SOURCE, address, str(MPTCP if mptcp else TCP)])):
        wait_until(lambda: f":{PORT} " in host.run(["ss", "-Htln"]), f"a server on {host.name}", 30)
        yield


class Transfer:
    """A download under way."""

    def __init__(self, client: MultihomedHost, address: str, size: int, *, mptcp: bool = True) -> None:
        argv = ["python3", "-c", _SINK, address, str(MPTCP if mptcp else TCP), str(size)]
        self._process = client.popen(argv, stdout=subprocess.PIPE, text=True)

    def wait_begun(self) -> None:
        assert self._process.stdout.readline() == "some\n"

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """The client reads nothing during the block: soon the server may send no more, and the transfer cannot end."""
        self._process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self._process.send_signal(signal.SIGCONT)

    def end(self, limit_s: float = 60) -> Received:
        """Waits for the last byte."""
        output, _ = self._process.communicate(timeout=limit_s)
        assert self._process.returncode == 0
        return Received(**json.loads(output.splitlines()[-1]))

    def abort(self) -> None:
        """Ends it with bytes unread: the kernel resets all subflows then, else it may keep them for 60 s."""
        self._process.terminate()
        self._process.communicate(timeout=10)

    def kill(self) -> None:
        self._process.kill()
        self._process.communicate()


def download(client: MultihomedHost, address: str, size: int, *, mptcp: bool = True) -> Received:
    result = Transfer(client, address, size, mptcp=mptcp).end()
    assert result.received == size
    return result


def kill_controller(testbed: Testbed) -> None:
    testbed.controller._process.kill()
    testbed.controller._process.wait()
    testbed.controller.stop()


def start_controller(testbed: Testbed) -> None:
    """Returns when all switches have their rules, and a controller that steers has taken over."""
    testbed.controller.start()
    testbed.controller.wait_listening()
    testbed.controller.wait_ready()
    if testbed.controller.policy is not None:
        wait_until(lambda: testbed.controller.view.health()["ready"], "the controller to have taken over", 30)


def core_link(testbed: Testbed, edge: str, core: str) -> Any:
    return next(it for it in testbed.links if (it.intf1.node.name, it.intf2.node.name) == (edge, core))


def path_of(subflow: dict[str, Any]) -> str:
    """The core switch that a subflow of the view crosses."""
    _, core, _ = subflow["switches"]
    return core


def subflows(testbed: Testbed) -> dict[tuple[str, int, str, int], dict[str, Any]]:
    """The subflows of the controller's view by addresses and ports, each with its connection's token and protocol."""
    return {
        (it["source"], it["source_port"], it["destination"], it["destination_port"]): {**connection, **it}
        for connection in testbed.controller.view.connections()["connections"]
        for it in connection["subflows"]
    }


def kernel_subflows(server: MultihomedHost) -> dict[tuple[str, int, str, int], dict[str, Any]]:
    """The same as the server's kernel sees it, of established TCP sockets on its port: token, and bytes sent."""
    sockets = {}
    output = server.run(["ss", "-HtniO", "state", "established", f"sport = :{PORT}"])
    for line in output.splitlines():
        _queued, _sent, here, there = line.split()[:4]
        token = re.search(r"tcp-ulp-mptcp .*token:[0-9a-f]+\(id:\d+\)/([0-9a-f]+)\(", line)
        sent = re.search(r" bytes_sent:(\d+)", line)
        sockets[(*_end(there), *_end(here))] = {
            "token": f"{int(token[1], 16):08x}" if token else None,
            "bytes": int(sent[1]) if sent else 0,
        }
    return sockets


def mib_counter(host: MultihomedHost, name: str) -> int:
    """One of the counters that the kernel keeps for each network namespace, by the name that `nstat` gives it."""
    return int(host.run(["nstat", "-asz", name]).split(name)[1].split()[0])


def _end(text: str) -> tuple[str, int]:
    """Address and port as `ss` writes them."""
    address, _, port = text.rpartition(":")
    address = address.removeprefix("[").removesuffix("]").partition("%")[0]
    return str(ip_address(address.removeprefix("::ffff:"))), int(port)
