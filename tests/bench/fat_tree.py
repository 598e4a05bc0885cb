"""A fat tree that is started, tried and ended, with what that costs: `python -m tests.bench.fat_tree 16 --sample 100`.

Prints one JSON object: times in seconds, `cpu_s` in seconds of all processes in the sandbox (0 in virtual time, where
computing takes no time), `kb_per_host` from the memory that the machine has available before and after the start.
"""

import argparse
import contextlib
import json
import os
import random
import socket
import struct
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from flightpath.waiting import timeout_scale
from topologies.fat_tree import FatTree
from topologies.hosts.multihomed import MultihomedHost
from topologies.sandbox import kernel_settings, sandbox
from topologies.testbed.testbed import Testbed

_ECHO, _REPLY = 8, 0
_ICMP = struct.Struct("!BBHHH")
_IP_HEADER_BYTES = 20
_TIMEOUT_S = 10.0
_SEED = 1


def main(pods: int, policy: str | None, sample: int, packets: int) -> int:
    before_kb, began_s = _available_kb(), time.monotonic()
    with Testbed(FatTree(pods=pods), policy=policy) as testbed:
        net = testbed.net
        found = {
            **{"hosts": len(net.hosts), "switches": len(net.switches), "links": len(net.links)},
            **{"up_s": time.monotonic() - began_s, "up_cpu_s": _cpu_s()},
            "kb_per_host": (before_kb - _available_kb()) / len(net.hosts),
        }
        chosen = random.Random(_SEED).sample(net.hosts, min(sample, len(net.hosts)))
        found |= {"pairs": len(chosen) * (len(chosen) - 1), "reached": _reached(chosen)}
        if packets:
            used_s = _cpu_s()
            _exchange(net.hosts[0], net.hosts[-1], packets)
            found["packet_cpu_us"] = (_cpu_s() - used_s) / (2 * packets) * 1e6
        used_s, ends_s = _cpu_s(), time.monotonic()
    found |= {"down_s": time.monotonic() - ends_s, "down_cpu_s": _cpu_s() - used_s}
    print(json.dumps(found))
    return 0 if found["pairs"] == found["reached"] else 1


def _reached(hosts: Sequence[MultihomedHost]) -> int:
    """How many ordered pairs exchange a packet. Neighbours are permanent: all namespaces share 1024 others."""
    for host in hosts:
        others = [it for it in hosts if it is not host]
        lines = [f"neigh replace {it.address()} lladdr {it.intfs[0].MAC()} dev {host.intfs[0].name}" for it in others]
        host.run(["ip", "-batch", "-"], stdin="\n".join(f"{line} nud permanent" for line in lines))
    return sum(_answers(host, [it.address() for it in hosts if it is not host]) for host in hosts)


def _answers(source: MultihomedHost, targets: Sequence[str]) -> int:
    """How many of these addresses answer an echo request."""
    waiting = set(targets)
    with _icmp(source) as icmp:
        for target in targets:
            icmp.sendto(_echo_request(), (target, 0))
        with contextlib.suppress(TimeoutError):
            while waiting:
                packet, (address, _) = icmp.recvfrom(2048)
                if packet[_IP_HEADER_BYTES] == _REPLY:
                    waiting.discard(address)
    return len(targets) - len(waiting)


def _exchange(source: MultihomedHost, target: MultihomedHost, count: int) -> None:
    """Sends echo requests, each after the answer to the one before."""
    for _ in range(count):
        if _answers(source, [target.address()]) != 1:
            sys.exit(f"{target.name} does not answer {source.name}")


@contextlib.contextmanager
def _icmp(host: MultihomedHost) -> Iterator[socket.socket]:
    with kernel_settings.inside(host):
        icmp = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
    with icmp:
        icmp.settimeout(_TIMEOUT_S * timeout_scale())
        yield icmp


def _echo_request() -> bytes:
    return _ICMP.pack(_ECHO, 0, 0xFFFF ^ (_ECHO << 8), 0, 0)


def _cpu_s() -> float:
    """Processor time of all processes of the sandbox, and of those that have ended."""
    ticks = 0
    for entry in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            ticks += sum(map(int, entry.read_text().rpartition(")")[2].split()[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


def _available_kb() -> int:
    lines = Path("/proc/meminfo").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("MemAvailable"))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tests.bench.fat_tree", description=__doc__)
    parser.add_argument("pods", type=int, help="16 has 1024 hosts, 320 switches and 3072 links")
    parser.add_argument("--policy", help="steer by this policy (without: shortest paths only)")
    parser.add_argument(
        "--sample", type=int, default=10, metavar="N", help="hosts of which all pairs exchange a packet"
    )
    parser.add_argument("--packets", type=int, default=0, metavar="N", help="exchanges between the first and last host")
    options = parser.parse_args()
    sys.exit(sandbox.run_inside(lambda: main(options.pods, options.policy, options.sample, options.packets)))
