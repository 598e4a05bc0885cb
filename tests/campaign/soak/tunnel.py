"""A tunnel past 2^31 and 2^32 packets, with traffic in both directions: it never pauses, and loses what links drop.

Its program is built for this: it numbers packets from near there, or passes over most numbers on the way.
"""

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from flightpath.waiting import wait_until
from tests.bench.hosts import Pair, iperf_server, pair
from tests.bench.processes import QUIET
from tests.campaign.outcome import Outcome
from tests.campaign.soak.memory_use import MEGABYTE, MemoryUse
from tests.support.c_builds import make
from tests.support.host_programs import program
from tests.support.killed import killed_at_end
from tests.support.steering_tools import mib_counter
from tests.support.tunnel_net import running
from topologies.links.spec import LinkSpec
from topologies.testbed.tunnel import Tunnel, TunnelSpec

PATH = LinkSpec(bandwidth_bps=1_000_000_000, delay_s=0.001, queue="20ms")
PATHS = 2
MAX_GROWTH = 16 * MEGABYTE
MAX_PAUSE_S = 1.0
LONG_S = 60
"""From so much traffic on, a session also counts 2^31 packets from its first one, which takes a minute or two."""

SEGMENTS_MAX = 64
"""Packets of one message, which the sender's kernel may refuse."""

HALF, WHOLE = 2**31, 2**32
NEAR = 2**17
"""Packets before the turn at which real traffic begins."""

PASSED_OVER = 16_000
"""Numbers after each flush on the way to the turn. Those of all packets on the way must fit into the window: a larger
jump would be a new beginning for the receiver."""

WINDOW = 65_536
_CLIMBED_S = 300
_WARM_S, _NO_DELAY_S = 1.0, 0.000_05
_LIMIT_S = 120


def soak(seconds: float) -> Iterator[Outcome]:
    """Takes new tunnels past both turns of their numbers, with so much traffic in all."""
    sessions = [("2^31", HALF, 0), ("2^32", WHOLE, 0)]
    if seconds >= LONG_S:
        sessions.append(("2^31 packets since its beginning", HALF, HALF - NEAR))
    for name, turn, climbs in sessions:
        first = 0 if climbs else turn - NEAR
        # To climb takes thousands of round trips, and on several paths some packets overtake so many that it is a jump.
        paths = [replace(PATH, delay_s=_NO_DELAY_S)] if climbs else [PATH] * PATHS
        with pair(*paths) as network:
            spec = TunnelSpec(window_packets=WINDOW if climbs else TunnelSpec.window_packets)
            with Tunnel(network.source, network.target, spec, program=_build(first, climbs)) as tunnel:
                session = _Session(network, tunnel)
                if climbs:
                    _climb(network, tunnel, climbs)
                session.fill(seconds / len(sessions), 2 * NEAR)
                yield session.outcome(f"soak: tunnel past {name}")


class _Session:
    """Two ends of a tunnel, and what is seen of them while they work."""

    def __init__(self, network: Pair, tunnel: Tunnel) -> None:
        self.network, self.tunnel, self.hosts = network, tunnel, (network.source, network.target)
        self.memory = [MemoryUse(f"{end.host.name}'s end", end.process.pid, MAX_GROWTH) for end in tunnel._ends]
        self.faults: list[str] = []

    def fill(self, seconds: float, packets: int) -> None:
        """TCP in both directions for so long, and until each end has sent so many packets."""
        client = ["iperf3", "-c", self.tunnel.address(self.network.target), "-t", "0", "--bidir"]
        with iperf_server(self.network.target), killed_at_end(self.network.source.popen(client, **QUIET)):
            self._watch(seconds, packets)

    def _watch(self, seconds: float, packets: int) -> None:
        """Looks ten times a second at what has arrived at each end."""
        begun_s = now_s = time.monotonic()
        before = self._stats()
        self.downs_before = _sum(before, "downs")
        arrived, at_s = [it["out_packets"] for it in before], [begun_s, begun_s]
        longest = [0.0, 0.0]
        while now_s < begun_s + _LIMIT_S + seconds:
            time.sleep(0.1)
            now, now_s = self._stats(), time.monotonic()
            for place in range(2):
                if now[place]["out_packets"] > arrived[place] + 10:
                    longest[place] = max(longest[place], now_s - at_s[place])
                    arrived[place], at_s[place] = now[place]["out_packets"], now_s
            for memory in self.memory:
                memory.sample(is_warming=now_s < begun_s + _WARM_S)
            sent = min(after["in_packets"] - it["in_packets"] for after, it in zip(now, before, strict=True))
            if now_s >= begun_s + seconds and sent >= packets:
                break
        else:
            self.faults.append(f"only {sent} of {packets} packets were sent in {_LIMIT_S + seconds:.0f} s")
        self.pauses_s = [max(long, now_s - at) for long, at in zip(longest, at_s, strict=True)]
        self.filled_s = now_s - begun_s

    def outcome(self, name: str) -> Outcome:
        """Result of the traffic, when all is at rest."""
        downs = _sum(self._stats(), "downs") - self.downs_before
        if downs:
            self.faults.append(f"paths went down {downs} times, as the ends see them")
        wait_until(self._is_at_rest, "the tunnel and its paths to rest", 30, poll_s=0.2)
        stats = self._stats()
        for number, host in enumerate(self.hosts):
            if (pause_s := self.pauses_s[number]) > MAX_PAUSE_S:
                self.faults.append(f"nothing arrived at {host.name} for {pause_s:.1f} s")
            self.faults += self.memory[number].faults()
            self.faults += _uneven(stats[number], host.name)
            self.faults += self._lost(stats[number], stats[1 - number], number)
        lost = [_sum([a], "tx_packets") - _sum([b], "rx_packets") for a, b in zip(stats, stats[::-1], strict=True)]
        figures = (
            f"{stats[0]['in_packets']} packets there and {stats[1]['in_packets']} back in {self.filled_s:.0f} s, "
            f"{lost[0]} and {lost[1]} of them lost by the links, longest pause {max(self.pauses_s):.2f} s, "
            f"{downs} paths down, memory of " + ", ".join(map(str, self.memory))
        )
        return Outcome(name, f"{sum(it['in_packets'] for it in stats)} packets", figures, self.faults)

    def _stats(self) -> list[dict[str, Any]]:
        return [self.tunnel.stats(host) for host in self.hosts]

    def _is_at_rest(self) -> bool:
        before = self._stats()
        time.sleep(0.3)
        after = self._stats()
        counts = [[(it["in_packets"], it["out_packets"]) for it in stats] for stats in (before, after)]
        return counts[0] == counts[1] and not any(it["reordering"]["held"] for it in after)

    def _lost(self, sender: dict[str, Any], receiver: dict[str, Any], way: int) -> Iterator[str]:
        """More packets lost than links and sockets dropped."""
        links = [list(link.stats()["directions"].values())[way] for link in self.network.links]
        dropped = sum(sum(link["drops"].values()) for link in links)
        full_sockets = mib_counter(self.hosts[1 - way], "UdpRcvbufErrors")
        unsent = SEGMENTS_MAX * _sum([sender], "drops")
        lost = _sum([sender], "tx_packets") - _sum([receiver], "rx_packets")
        if not 0 <= lost <= dropped + full_sockets + unsent:
            where = f"links dropped {dropped}, full sockets {full_sockets}, the sender at most {unsent}"
            yield f"{lost} packets from {self.hosts[way].name} are lost: {where}"


def _build(first: int, until: int = 0) -> str:
    """Builds a tunnel that numbers packets from `first`, and passes over most numbers while they are below `until`."""
    name = f"mptgre-numbered-{first}-{PASSED_OVER if until else 0}-{until}"
    make(f"build/{name}")
    return name


def _climb(network: Pair, tunnel: Tunnel, until: int) -> None:
    """Exchanges datagrams, few at a time, until the numbers in both directions are near `until`."""
    address = tunnel.address(network.target)
    passed = until - WINDOW

    def is_there() -> bool:
        ends = [tunnel.stats(host) for host in (network.source, network.target)]
        return min(it["reordering"]["given_up"] + it["out_packets"] for it in ends) >= passed

    with running(network.target, "echo", address), killed_at_end(network.source.popen(program("climb", address))):
        wait_until(is_there, f"the numbers to pass {passed}", _CLIMBED_S, poll_s=0.1)
    time.sleep(0.1)


def _uneven(stats: dict[str, Any], name: str) -> Iterator[str]:
    sent, came = _sum([stats], "tx_packets"), _sum([stats], "rx_packets")
    left, drops = stats["out_packets"], stats["drops"]
    thrown = drops["duplicates"] + drops["stale"] + drops["strays"]
    if stats["in_packets"] != sent + drops["no_path"]:
        yield f"{name}: {stats['in_packets']} packets in, but {sent} sent and {drops['no_path']} without a path"
    if came != left + thrown:
        yield f"{name}: {came} packets came, but {left} went out and {thrown} were dropped"
    if thrown > came / 1000:
        yield f"{name}: dropped {drops['stale']} stale, {drops['strays']} stray, {drops['duplicates']} double packets"


def _sum(stats: list[dict[str, Any]], counter: str) -> int:
    return sum(path[counter] for end in stats for path in end["paths"])
