"""Two hosts with emulated paths between them, for the tests of the tunnel."""

import contextlib
import subprocess
import time
from collections.abc import Iterator

from tests.support.host_programs import program
from tests.support.killed import killed_at_end
from topologies.hosts.multihomed import MultihomedHost
from topologies.links.spec import LinkSpec
from topologies.multipath_pair import MultipathPair
from topologies.testbed.testbed import Testbed
from topologies.testbed.tunnel import Tunnel

PATH = LinkSpec(bandwidth_bps=50_000_000, delay_s=0.002)
FAST = LinkSpec(bandwidth_bps=1_000_000_000, delay_s=0.0005)
MEGABYTE = 1_000_000


@contextlib.contextmanager
def running(host: MultihomedHost, *argv: str) -> Iterator[subprocess.Popen]:
    """A program of host_programs.py that listens, in a host."""
    with killed_at_end(host.popen(program(*argv), stdout=subprocess.PIPE, text=True)) as process:
        assert process.stdout.readline() == "listening\n"
        yield process


class Net:
    def __init__(self, testbed: Testbed) -> None:
        self.testbed = testbed
        self.h1, self.h2 = testbed.host("h1"), testbed.host("h2")

    def link(self, path: int):
        return self.testbed.link("h1", path)

    def carried(self) -> list[int]:
        """Bytes that each path has carried from h1 to h2."""
        return [self.link(path).stats()["directions"]["a_to_b"]["out_bytes"] for path in range(len(self.testbed.links))]

    def transfer(self, tunnel: Tunnel, size: int, family: int = 4) -> float:
        """A TCP transfer through the tunnel, compared byte by byte; returns its seconds."""
        target = tunnel.address(self.h2, family)
        with running(self.h2, "receive", target, str(size)) as receiver:
            start = time.monotonic()
            self.h1.run(program("send", target, size))
            assert receiver.stdout.readline() == "same\n"
            return time.monotonic() - start

    def datagrams(self, tunnel: Tunnel, total: int, size: int = 1000, per_second: int = 2000) -> list[int]:
        """Numbers of datagrams that came, came twice, and came out of order, and the longest pause in ns."""
        target = tunnel.address(self.h2)
        with running(self.h2, "count", target, str(total)) as counter:
            self.h1.run(program("emit", target, total, size, per_second))
            return [int(word) for word in counter.stdout.readline().split()]


@contextlib.contextmanager
def net(*links: LinkSpec) -> Iterator[Net]:
    with Testbed(MultipathPair(paths=len(links), links=list(links), mptcp=False), emulator="relay") as testbed:
        yield Net(testbed)


def ping(host: MultihomedHost, target: str, *options: str) -> str:
    return host.run(["ping", "-n", "-q", "-c", "1", "-W", "5", *options, target])
