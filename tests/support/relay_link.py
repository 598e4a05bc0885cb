"""A link between two hosts in network namespaces of their own, for the tests of the relay.

Each test has a link of its own: the relay in one network namespace, a host at each end in another. A host is `cat` on
a pipe of ours, and the relay dies with its parent: whatever ends the tests ends all of it.
"""

import json
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import native
from flightpath.waiting import wait_until
from tests.support.namespace_host import NamespaceHost

PAYLOAD = 1400
WIRE = PAYLOAD + 42
PORT = 5000


class Host(NamespaceHost):
    """A network namespace for one interface of a link."""

    def __init__(self, stack: ExitStack, number: int) -> None:
        super().__init__(f"h{number}")
        stack.enter_context(self)
        self.interface, self.address, self.mac = f"t{number}", f"10.0.0.{number}", f"02:00:00:00:00:0{number}"
        # No neighbour discovery, no ARP: every packet on the link is the test's own.
        self.run("sysctl", "-qw", "net.ipv6.conf.all.disable_ipv6=1", "net.ipv6.conf.default.disable_ipv6=1")

    def take(self, relay_pid: int, peer: "Host") -> None:
        move = ["ip", "link", "set", self.interface, "netns", str(self.pid)]
        subprocess.run(["nsenter", "-t", str(relay_pid), "-n", *move], check=True)
        self.run("ip", "link", "set", self.interface, "address", self.mac, "up")
        self.run("ip", "address", "add", f"{self.address}/24", "dev", self.interface)
        self.run("ip", "neighbour", "add", peer.address, "lladdr", peer.mac, "dev", self.interface)

    def has_interface(self) -> bool:
        return any(link["ifname"] == self.interface for link in json.loads(self.run("ip", "-j", "link")))


class Link:
    """A running relay, its two hosts, and its control socket."""

    def __init__(
        self, stack: ExitStack, folder: Path, a_to_b: str, b_to_a: str, *options: str, program: str = "relay"
    ) -> None:
        self.control = folder / "control"
        specs = ["--a-to-b", a_to_b, "--b-to-a", b_to_a]
        argv = relay_argv(self.control, *specs, "--seed", "1", *options, program=program)
        self.process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        stack.callback(self.process.communicate)
        stack.callback(self.process.kill)
        assert self.process.stdout.readline() == "ready\n", self.process.communicate()[1]
        self.a, self.b = Host(stack, 1), Host(stack, 2)
        self.a.take(self.process.pid, self.b)
        self.b.take(self.process.pid, self.a)
        self.client = stack.enter_context(closing(connect(self.control)))
        self.receiver = stack.enter_context(closing(self.b.socket(socket.SOCK_DGRAM)))
        self.receiver.setsockopt(socket.SOL_SOCKET, 33, 64 << 20)  # SO_RCVBUFFORCE
        self.receiver.bind(("10.0.0.2", PORT))
        self.sender = stack.enter_context(closing(self.a.socket(socket.SOCK_DGRAM)))

    def ask(self, request: str) -> dict:
        self.client.send(request.encode())
        return json.loads(self.client.recv(65536))

    def stats(self, direction: str = "a_to_b") -> dict:
        return self.ask("stats")["directions"][direction]

    def send(self, count: int, size: int = PAYLOAD) -> None:
        for number in range(count):
            self.sender.sendto(number.to_bytes(4, "big") + bytes(size - 4), ("10.0.0.2", PORT))

    def settled(self, packets: int) -> dict:
        """The statistics once so many packets have come in, none is inside, and each is accounted for.

        Waited for, since a snapshot of a direction that is not at rest may be a frame out of step with itself.
        """
        stats: dict = {}

        def is_at_rest() -> bool:
            stats.update(self.stats())
            gone = stats["out_packets"] - stats["duplicated_packets"] + sum(stats["drops"].values())
            return stats["in_packets"] == gone >= packets and stats["queued_packets"] == 0

        wait_until(is_at_rest, f"{packets} packets to come in and to be accounted for", 30, poll_s=0.002)
        return stats

    def received(self) -> list[int]:
        """The numbers of the datagrams that have arrived by now."""
        numbers = []
        self.receiver.setblocking(False)
        try:
            while True:
                numbers.append(int.from_bytes(self.receiver.recv(65536)[:4], "big"))
        except BlockingIOError:
            return numbers

    def offload(self, host: Host, name: str) -> bool:
        return f"{name}: on" in host.run("ethtool", "-k", host.interface)

    def gso_max_size(self, host: Host) -> int:
        return json.loads(host.run("ip", "-d", "-j", "link", "show", host.interface))[0]["gso_max_size"]


def relay_argv(control: Path, *more: str, program: str = "relay") -> list[str]:
    start = ["unshare", "--net", str(native.binary(program))]
    return [*start, "--name", "link", "--a", "t1", "--b", "t2", "--control", str(control), *more]


def connect(path: Path) -> socket.socket:
    client = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    client.settimeout(10)
    client.connect(str(path))
    return client


def assert_nothing_unaccounted(stats: dict) -> None:
    dropped = sum(stats["drops"].values())
    assert stats["in_packets"] + stats["duplicated_packets"] == stats["out_packets"] + dropped + stats["queued_packets"]
    gone_bytes = stats["out_bytes"] + stats["dropped_bytes"] + stats["queued_bytes"]
    assert stats["in_bytes"] + stats["duplicated_bytes"] == gone_bytes


def frames_written(stats: dict) -> int:
    return sum(stats["lateness_ns"]["histogram"])


@contextmanager
def tcp_transfer(link: Link, data: bytes) -> Iterator[bytearray]:
    """Sends the data from a to b; after the block the array holds what arrived."""
    with (
        closing(link.b.socket()) as listener,
        closing(link.a.socket()) as source,
        transferred(source, listener, link.b.address, data) as arrived,
    ):
        yield arrived


@contextmanager
def transferred(source: socket.socket, listener: socket.socket, address: str, data: bytes) -> Iterator[bytearray]:
    """Sends the data over TCP between two sockets that are not connected, to an address of the second one's host."""
    arrived = bytearray()
    listener.bind((address, PORT))
    listener.listen()
    source.settimeout(60)
    source.connect((address, PORT))
    sink, _ = listener.accept()
    sink.settimeout(60)

    def receive() -> None:
        with sink:
            while block := sink.recv(1 << 16):
                arrived.extend(block)

    def send() -> None:
        source.sendall(data)
        source.shutdown(socket.SHUT_WR)

    threads = [threading.Thread(target=work, daemon=True) for work in (receive, send)]
    for thread in threads:
        thread.start()
    yield arrived
    for thread in threads:
        thread.join(90)
        assert not thread.is_alive(), f"stuck after {len(arrived)} bytes"
