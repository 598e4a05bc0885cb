"""A link of 10 Gb/s that is full all the time, in one direction after the other."""

import json
from collections.abc import Iterator
from typing import Any

from flightpath.waiting import wait_until
from probes.transfers.iperf3 import Iperf3
from tests.bench.hosts import iperf_server, pair
from tests.campaign.outcome import Outcome
from tests.campaign.soak.memory_use import MEGABYTE, MemoryUse
from tests.support.relay_link import frames_written
from topologies.hosts.multihomed import MultihomedHost
from topologies.links.changes import DIRECTIONS
from topologies.links.emulated_link import EmulatedLink
from topologies.links.spec import LinkSpec

SPEC = LinkSpec(bandwidth_bps=10_000_000_000, delay_s=0.000_5, queue="10ms")
MAX_GROWTH = 8 * MEGABYTE
LATE_NS = 500_000_000
"""A 99th percentile of lateness above this is insane, even on a machine that has too much to do."""

_TURN_S = 30.0
_TURNS = 4
_TCP_HEADERS = 14 + 20 + 32
"""Bytes of each segment's headers: the link counts them for each segment of a GSO packet, the interface once."""

Ways = dict[str, dict[str, Any]]
"""Counters of the link, by direction."""


def soak(seconds: float) -> Iterator[Outcome]:
    """Fills the link for so long; the first turn of each direction is its warm-up."""
    turn_s = min(_TURN_S, seconds / _TURNS)
    turns = round(seconds / turn_s)
    with pair(SPEC) as network, iperf_server(network.target):
        (link,) = network.links
        process = link._process
        memory = MemoryUse("the relay", process.pid, MAX_GROWTH)
        received = []
        for turn in range(turns):
            probe = Iperf3(seconds=turn_s, warm_up_s=0, reverse=turn % 2 == 1)
            received.append(probe.run(network.source, network.target.address()).metrics["goodput"].value)
            memory.sample(is_warming=turn <= 1)
            if process.poll() is not None:
                fault = f"the relay ended with exit code {process.returncode} in turn {turn + 1} of {turns}"
                yield Outcome("soak: relay", f"{turn + 1} turns of {turn_s:g} s", faults=(fault,))
                return
        wait_until(lambda: not any(way["queued_packets"] for way in _ways(link).values()), "the link to rest", 20)
        ways = _ways(link)
        ends = [_counted(host) for host in (network.source, network.target)]
        faults = [*memory.faults(), *_uneven(ways, ends), *_late(ways)]
        trials = f"{turns * turn_s:.0f} s at full rate"
        yield Outcome("soak: relay", trials, _figures(ways, received, memory), faults)


def _ways(link: EmulatedLink) -> Ways:
    return link.stats()["directions"]


def _counted(host: MultihomedHost) -> dict[str, dict[str, int]]:
    """The counters of a host's kernel at its end of the link."""
    (link,) = json.loads(host.run(["ip", "-j", "-s", "link", "show", "dev", host.intfs[0].name]))
    return link["stats64"]


def _uneven(ways: Ways, ends: list[dict[str, dict[str, int]]]) -> Iterator[str]:
    """Names what does not add up, in the link itself or between it and its ends, since the beginning."""
    for way, sender, receiver in zip(DIRECTIONS, ends, reversed(ends), strict=True):
        link, sent, got = ways[way], sender["tx"], receiver["rx"]
        entered, left = link["in_packets"] - sent["packets"], link["out_packets"] - got["packets"]
        for what, one, other in (
            ("packets in, and out or dropped", link["in_packets"], link["out_packets"] + sum(link["drops"].values())),
            ("bytes in, and out or dropped", link["in_bytes"], link["out_bytes"] + link["dropped_bytes"]),
            ("bytes in, and sent with headers", link["in_bytes"], sent["bytes"] + _TCP_HEADERS * entered),
            ("frames out, and received", frames_written(link) - link["drops"].get("device", 0), got["packets"]),
            ("bytes out, and received with headers", link["out_bytes"], got["bytes"] + _TCP_HEADERS * left),
        ):
            if one != other:
                yield f"{way}: {what}: {one} and {other}"


def _late(ways: Ways) -> Iterator[str]:
    for way, link in ways.items():
        late = link["lateness_ns"]
        if not late["p50"] <= late["p99"] <= late["max"] or late["p99"] > LATE_NS:
            yield f"{way}: lateness has median {late['p50']}, 99th percentile {late['p99']}, maximum {late['max']} ns"


def _figures(ways: Ways, received: list[float], memory: MemoryUse) -> str:
    packets = sum(link["in_packets"] for link in ways.values())
    dropped = sum(sum(link["drops"].values()) for link in ways.values())
    octets = sum(link["out_bytes"] for link in ways.values())
    late_ms = [link["lateness_ns"]["p99"] / 1e6 for link in ways.values()]
    return (
        f"{packets} packets = delivered + {dropped} dropped, {octets / 1e9:.1f} GB out, "
        f"{min(received) / 1e9:.2f} to {max(received) / 1e9:.2f} Gb/s, p99 of lateness {late_ms[0]:.2f} and "
        f"{late_ms[1]:.2f} ms, memory of {memory}"
    )
