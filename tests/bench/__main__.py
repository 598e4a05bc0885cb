"""`make bench`: how fast and how exact a link is on this machine, beside a bare veth pair, in one run.

Absolute figures move with the machine; the ratio to the veth pair that was measured just before does not.
"""

import json
import os
import statistics
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from mininet.link import Link
from mininet.net import Mininet
from rich.console import Console
from rich.table import Table

from flightpath.units import format_bandwidth
from flightpath.waiting import wait_until
from topologies import sandbox
from topologies.hosts import MultihomedHost
from topologies.links import LinkSpec
from topologies.relay import RelayLink

ROUNDS = 5
SECONDS = 3
_BUFFERS = {"net.ipv4.tcp_rmem": "4096 131072 268435456", "net.ipv4.tcp_wmem": "4096 131072 268435456"}
_PAYLOAD_SHARE = 1448 / 1514


@dataclass(frozen=True)
class Case:
    """A link to measure; no specification is a bare veth pair."""

    name: str
    spec: LinkSpec | None = None


@dataclass(frozen=True)
class Found:
    """One transfer: payload per second, and the share of one core that the machine was busy."""

    goodput_bps: float
    cores_busy: float


CASES = (
    Case("bare veth pair"),
    Case("relay, nothing emulated", LinkSpec()),
    Case("relay, 10 Gb/s, 30 ms RTT", LinkSpec(10_000_000_000, 0.015, queue="1bdp")),
    Case("relay, 1 Gb/s, 30 ms RTT", LinkSpec(1_000_000_000, 0.015, queue="1bdp")),
    Case("relay, 50 Mb/s", LinkSpec(50_000_000)),
)


def main() -> int:
    """Measures all cases in turn, ROUNDS times, and prints medians."""
    found: dict[str, list[Found]] = {case.name: [] for case in CASES}
    for number in range(1, ROUNDS + 1):
        for case in CASES:
            print(f"round {number} of {ROUNDS}: {case.name}", file=sys.stderr)
            with _pair(case) as (source, target):
                found[case.name].append(_transfer(source, target))
    _print(found)
    return 0


@contextmanager
def _pair(case: Case) -> Iterator[tuple[MultihomedHost, MultihomedHost]]:
    Mininet.inited = True
    net = Mininet(controller=None, host=MultihomedHost, build=False)
    hosts = [
        net.addHost(f"h{n}", addresses={0: (f"10.0.0.{n}/24",)}, congestion_control="cubic", sysctls=_BUFFERS)
        for n in (1, 2)
    ]
    try:
        if case.spec is None:
            net.addLink(*hosts, cls=Link)
        else:
            net.addLink(*hosts, cls=RelayLink, spec=case.spec)
        net.start()
        yield hosts[0], hosts[1]
    finally:
        net.stop()


def _transfer(source: MultihomedHost, target: MultihomedHost) -> Found:
    server = target.popen(["iperf3", "-s"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_until(lambda: ":5201 " in target.run(["ss", "-Htln"]), "iperf3 to listen", 10)
        busy = _busy_s()
        told = json.loads(source.run(["iperf3", "-c", target.address(), "-t", str(SECONDS), "-O", "1", "-J"]))
        cores_busy = (_busy_s() - busy) / (SECONDS + 1)
    finally:
        server.kill()
        server.wait()
    return Found(told["end"]["sum_received"]["bits_per_second"], cores_busy)


def _busy_s() -> float:
    with open("/proc/stat") as file:  # noqa: PTH123 (one line of a long file)
        ticks = [int(word) for word in file.readline().split()[1:9]]
    return (sum(ticks) - ticks[3] - ticks[4]) / os.sysconf("SC_CLK_TCK")


def _print(found: dict[str, list[Found]]) -> None:
    table = Table("link", "goodput", "of the payload limit", "to veth", "cores busy", title=f"medians of {ROUNDS}")
    bare = [each.goodput_bps for each in found[CASES[0].name]]
    for case in CASES:
        rates = [each.goodput_bps for each in found[case.name]]
        limit = case.spec.bandwidth_bps if case.spec else None
        ratio = statistics.median(rate / reference for rate, reference in zip(rates, bare, strict=True))
        table.add_row(
            case.name,
            f"{format_bandwidth(statistics.median(rates))}/s",
            f"{statistics.median(rates) / (limit * _PAYLOAD_SHARE):.1%}" if limit else "-",
            f"{ratio:.2f}",
            f"{statistics.median(each.cores_busy for each in found[case.name]):.2f}",
        )
    console = Console()
    console.print(table)
    console.print(f"machine: {os.uname().release}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} at the end")


if __name__ == "__main__":
    sys.exit(sandbox.run_inside(main))
