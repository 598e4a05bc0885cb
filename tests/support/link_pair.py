"""Two hosts and a link between them, and numbered datagrams that record when they were sent and arrived."""

import contextlib
import socket
import struct
import threading
import time
from dataclasses import dataclass
from typing import Any

from flightpath.errors import MeasurementFailed
from flightpath.waiting import wait_until
from tests.support.relay_link import transferred
from topologies.hosts.multihomed import MultihomedHost
from topologies.links.changes import DIRECTIONS, Direction
from topologies.links.emulated_link import EmulatedLink
from topologies.links.emulators import link_class
from topologies.links.spec import LinkSpec
from topologies.sandbox import kernel_settings

HEADERS = 42
SMALL, LARGE = 100, 1400
PORT = 5000
HEAD = struct.Struct("!IIq")
SO_RCVBUFFORCE, SO_TIMESTAMPNS, IP_RECVTOS, TCP_CONGESTION = 33, 35, 13, 13


def socket_in(host: MultihomedHost, kind: socket.SocketKind) -> socket.socket:
    """A socket of this test in a host: it stays in the namespace in which it was made."""
    with kernel_settings.inside(host):
        return socket.socket(socket.AF_INET, kind)


@dataclass(frozen=True)
class Arrival:
    """A datagram: its number, and when it was sent and came in, in seconds."""

    number: int
    sent_s: float
    at_s: float
    tos: int

    @property
    def delay_s(self) -> float:
        return self.at_s - self.sent_s


class Receiver:
    """Records what arrives at a host, on a thread so that its buffer is never full."""

    def __init__(self, source: socket.socket) -> None:
        self.arrivals: list[Arrival] = []
        self._source = source
        source.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        source.setsockopt(socket.IPPROTO_IP, IP_RECVTOS, 1)
        source.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)
        with contextlib.suppress(PermissionError):  # beyond the machine's limit, if root
            source.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 8 << 20)
        source.bind(("", PORT))
        source.settimeout(0.05)
        self._stopped = False
        self._thread = threading.Thread(target=self._receive, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._stopped = True
        self._thread.join()
        self._source.close()

    def _receive(self) -> None:
        while not self._stopped:
            with contextlib.suppress(TimeoutError):
                payload, extra, _flags, _address = self._source.recvmsg(1 << 16, 256)
                number, _flow, sent_ns = HEAD.unpack_from(payload)
                told = {kind: value for _level, kind, value in extra}
                seconds, nanoseconds = struct.unpack("qq", told[SO_TIMESTAMPNS])
                at_s = seconds + nanoseconds / 1e9
                self.arrivals.append(Arrival(number, sent_ns / 1e9, at_s, told[socket.IP_TOS][0]))


class Pair:
    def __init__(self, stack: contextlib.ExitStack, emulator: str, specs: dict[str, LinkSpec]) -> None:
        # No neighbour discovery, no ARP: every packet on the link is the test's own.
        quiet = {"net.ipv6.conf.all.disable_ipv6": 1, "net.ipv6.conf.default.disable_ipv6": 1}
        hosts = [MultihomedHost(n, addresses={0: (f"10.0.0.{i}/24",)}, sysctls=quiet) for i, n in enumerate("ab", 1)]
        for host in hosts:
            stack.callback(host.terminate)
            host.run(["sysctl", "-q", "-w", *(f"{key}={value}" for key, value in quiet.items())])
        macs = [f"02:00:00:00:00:0{number}" for number in (1, 2)]
        self.link: EmulatedLink = link_class(emulator)(*hosts, **specs, addr1=macs[0], addr2=macs[1])
        stack.callback(self.link.delete)
        self.hosts = dict(zip(DIRECTIONS, hosts, strict=True))
        self.received: dict[Direction, Receiver] = {}
        self.senders: dict[Direction, list[socket.socket]] = {}
        self._sent = dict.fromkeys(DIRECTIONS, 0)
        for host, peer, mac in zip(hosts, reversed(hosts), reversed(macs), strict=True):
            host.config()
            host.run(["ip", "neighbour", "replace", peer.address(), "lladdr", mac, "dev", host.intfs[0].name])
        for way, host, peer in zip(DIRECTIONS, hosts, reversed(hosts), strict=True):
            self.received[way] = Receiver(socket_in(peer, socket.SOCK_DGRAM))
            stack.callback(self.received[way].stop)
            self.senders[way] = [stack.enter_context(socket_in(host, socket.SOCK_DGRAM)) for _flow in range(3)]
            for sender in self.senders[way]:
                sender.connect((peer.address(), PORT))

    def send(
        self,
        count: int,
        *,
        way: Direction = "a_to_b",
        size: int = LARGE,
        pause_s: float = 0.0,
        flow: int = 0,
        tos: int = 0,
    ) -> list[int]:
        """Sends datagrams and returns their numbers, which go on from call to call."""
        numbers = list(range(self._sent[way], self._sent[way] + count))
        self._sent[way] += count
        sender = self.senders[way][flow]
        sender.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, tos)
        started = time.monotonic()
        for place, number in enumerate(numbers):
            if pause_s and (left_s := started + place * pause_s - time.monotonic()) > 0:
                time.sleep(left_s)
            sender.send(HEAD.pack(number, flow, time.time_ns()).ljust(size, b"\0"))
        return numbers

    def counters(self, way: Direction = "a_to_b") -> dict[str, Any]:
        return self.link.stats()["directions"][way]

    def settled(self, way: Direction = "a_to_b", limit_s: float = 20) -> dict[str, Any]:
        """The counters when everything that was sent has entered and left the link, and has been received.

        What has arrived is counted before they are read. Netem's counters are those of its stages, read one after the
        other, and a packet between two stages is in none of them.
        """

        def at_rest() -> bool:
            nonlocal received, told
            received, told = len(self.received[way].arrivals), self.counters(way)
            left = told["in_packets"] + told["duplicated_packets"] - sum(told["drops"].values())
            is_empty = told["in_packets"] >= self._sent[way] and not told["queued_packets"]
            return is_empty and received == told["out_packets"] == left

        received, told = 0, {}
        try:
            wait_until(at_rest, "the link to come to rest", limit_s)
        except MeasurementFailed as error:
            raise AssertionError(f"{error}: {received} received, {told}") from error
        assert told["in_packets"] == self._sent[way], told
        return told

    def until_inside(self, count: int) -> None:
        """Waits until so many packets are in the queue or in propagation."""
        wait_until(lambda: self.counters()["queued_packets"] >= count, f"{count} packets inside", 30)

    def arrivals(self, way: Direction = "a_to_b") -> list[Arrival]:
        return self.received[way].arrivals


def balanced(told: dict[str, Any]) -> bool:
    gone = told["out_packets"] + sum(told["drops"].values()) + told["queued_packets"]
    return told["queued_packets"] == 0 and told["in_packets"] + told["duplicated_packets"] == gone


def transfer(pair: Pair, data: bytes) -> bytes:
    """Sends data from a to b over TCP with reno, which fills queues; returns what arrives."""
    a, b = pair.hosts["a_to_b"], pair.hosts["b_to_a"]
    with socket_in(b, socket.SOCK_STREAM) as listener, socket_in(a, socket.SOCK_STREAM) as source:
        source.setsockopt(socket.IPPROTO_TCP, TCP_CONGESTION, b"reno")
        with transferred(source, listener, b.address(), data) as arrived:
            pass
    return bytes(arrived)
