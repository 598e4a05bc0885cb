"""A link of 10 Gb/s that is full all the time, in one direction after the other."""

import json
from collections.abc import Iterator
from typing import Any

from flightpath.waiting import wait_until
from tests.bench.hosts import Pair, iperf_server, pair
from tests.campaign.outcome import Outcome
from tests.campaign.soak.memory_use import MEGABYTE, MemoryUse
from tests.support.relay_link import frames_written
from topologies.hosts.multihomed import MultihomedHost
from topologies.links.changes import DIRECTIONS
from topologies.links.spec import LinkSpec

SPEC = LinkSpec(bandwidth_bps=10_000_000_000, delay_s=0.000_5, queue="10ms")
MOST_GROWTH = 8 * MEGABYTE
LATE_NS = 500_000_000
"""A 99th percentile of lateness above this is insane, even on a machine that has too much to do."""

_TURN_S = 30.0
_TURNS = 4
_TCP_HEADERS = 14 + 20 + 32
"""Of each segment of a super-frame: the link counts them for each, and the interface once."""


def soak(seconds: float) -> Iterator[Outcome]:
    """Fills the link for so long; the first turn of each direction is its warm-up."""
    turn_s = min(_TURN_S, seconds / _TURNS)
    turns = round(seconds / turn_s)
    with pair(SPEC) as network, iperf_server(network.target):
        (link,) = network.links
        process = link._process
        memory = MemoryUse("the relay", process.pid, MOST_GROWTH)
        received = []
        for turn in range(turns):
            received.append(_turn(network, turn_s, backwards=turn % 2 == 1))
            memory.warm() if turn == 1 else memory.sample()
            if process.poll() is not None:
                fault = f"the relay ended with exit code {process.returncode} in turn {turn + 1} of {turns}"
                yield Outcome("soak: relay", f"{turn + 1} turns of {turn_s:g} s", faults=(fault,))
                return
        told = _at_rest(network)
        faults = [*memory.faults(), *_uneven(told, _interfaces(network)), *_late(told)]
        yield Outcome(
            "soak: relay", f"{turns * turn_s:.0f} s at full rate", _figures(told, received, memory), tuple(faults)
        )


def _turn(network: Pair, seconds: float, *, backwards: bool) -> float:
    """Fills one direction; returns the payload per second."""
    client = ["iperf3", "-c", network.target.address(), "-t", str(seconds), "-J", *(["-R"] if backwards else [])]
    told = json.loads(network.source.run(client, timeout_s=seconds + 60))
    return told["end"]["sum_received"]["bits_per_second"]


def _at_rest(network: Pair) -> dict[str, dict[str, Any]]:
    (link,) = network.links
    wait_until(
        lambda: not any(it["queued_packets"] for it in link.stats()["directions"].values()), "the link to rest", 20
    )
    return link.stats()["directions"]


def _interfaces(network: Pair) -> list[dict[str, int]]:
    """What the kernels of both hosts have counted at their ends of the link."""
    return [_counted(host) for host in (network.source, network.target)]


def _counted(host: MultihomedHost) -> dict[str, int]:
    (told,) = json.loads(host.run(["ip", "-j", "-s", "link", "show", "dev", host.intfs[0].name]))
    return {f"{way}_{what}": told["stats64"][way][what] for way in ("rx", "tx") for what in ("packets", "bytes")}


def _uneven(told: dict[str, dict[str, Any]], ends: list[dict[str, int]]) -> Iterator[str]:
    """What does not add up: in the link itself, and between the link and its ends, all of them from their beginning."""
    for way, sender, receiver in zip(DIRECTIONS, ends, reversed(ends), strict=True):
        link = told[way]
        dropped = sum(link["drops"].values())
        if link["in_packets"] != link["out_packets"] + dropped:
            yield f"{way}: {link['in_packets']} packets in, but {link['out_packets']} out and {dropped} dropped"
        if link["in_bytes"] != link["out_bytes"] + link["dropped_bytes"]:
            yield f"{way}: {link['in_bytes']} bytes in, {link['out_bytes']} out and {link['dropped_bytes']} dropped"
        headers = _TCP_HEADERS * (link["in_packets"] - sender["tx_packets"])
        if link["in_bytes"] != sender["tx_bytes"] + headers:
            yield f"{way}: {link['in_bytes']} bytes in, but its sender sent {sender['tx_bytes']} + {headers}"
        written = frames_written(link) - link["drops"].get("device", 0)
        if written != receiver["rx_packets"]:
            yield f"{way}: {written} frames out, but its receiver's interface got {receiver['rx_packets']}"
        headers = _TCP_HEADERS * (link["out_packets"] - receiver["rx_packets"])
        if link["out_bytes"] != receiver["rx_bytes"] + headers:
            yield f"{way}: {link['out_bytes']} bytes out, but its receiver got {receiver['rx_bytes']} + {headers}"


def _late(told: dict[str, dict[str, Any]]) -> Iterator[str]:
    for way, link in told.items():
        late = link["lateness_ns"]
        if not late["p50"] <= late["p99"] <= late["max"] or late["p99"] > LATE_NS:
            yield f"{way}: lateness has median {late['p50']}, 99th percentile {late['p99']}, maximum {late['max']} ns"


def _figures(told: dict[str, dict[str, Any]], received: list[float], memory: MemoryUse) -> str:
    packets, dropped = (
        sum(link["in_packets"] for link in told.values()),
        sum(sum(link["drops"].values()) for link in told.values()),
    )
    octets = sum(link["out_bytes"] for link in told.values())
    late_ms = [link["lateness_ns"]["p99"] / 1e6 for link in told.values()]
    return (
        f"{packets} packets = delivered + {dropped} dropped, {octets / 1e9:.1f} GB out, "
        f"{min(received) / 1e9:.2f} to {max(received) / 1e9:.2f} Gb/s, p99 of lateness {late_ms[0]:.2f} and "
        f"{late_ms[1]:.2f} ms, memory of {memory}"
    )
