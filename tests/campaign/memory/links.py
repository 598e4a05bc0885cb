"""A relay and an end of a tunnel with less memory than what is inside them takes."""

import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import replace

from flightpath.errors import FlightpathError
from tests.bench.hosts import Pair, pair
from tests.bench.processes import program
from tests.campaign.memory.group import MemoryGroup
from tests.campaign.outcome import Outcome
from tests.support.killed import killed_at_end
from topologies.links.spec import LinkSpec
from topologies.testbed.tunnel import Tunnel, TunnelSpec

LIMIT_MB = 32
FULL_WITHIN_S = 20
_LONG = LinkSpec(bandwidth_bps=10_000_000_000, delay_s=5, queue="1000000p")
_QUICK = LinkSpec(bandwidth_bps=1_000_000_000, delay_s=0.001)


def relay(group: MemoryGroup, _short: bool) -> Iterator[Outcome]:
    """A link whose packets are on their way for 5 s, beside one that has nothing to do with it."""
    with pair(_LONG, _QUICK) as network:
        link, unrelated = network.links
        group.limit(LIMIT_MB)
        group.take(link._process.pid)
        _know_each_other(network)
        with killed_at_end(network.source.popen(program("flood", network.target.address(0)))):
            output, after_s = _until_error(link.stats, link._process)
        faults = list(_wrong(output, group, "relay"))
        try:
            unrelated.check()
            network.source.run(["ping", "-n", "-c", "3", "-i", "0.2", "-W", "2", network.target.address(1)])
        except FlightpathError as error:
            faults.append(f"the link beside it fails too: {error}")
    yield Outcome("memory: relay", f"limit {LIMIT_MB} MiB", _figures(group, after_s, output), tuple(faults))


def tunnel(group: MemoryGroup, _short: bool) -> Iterator[Outcome]:
    """A window full of packets of a quick path that wait for those of a slow one."""
    slow = replace(_QUICK, delay_s=1.5)
    spec = TunnelSpec(reordering="fixed", window_packets=65_536, max_delay_s=5, dead_s=20)
    with pair(_QUICK, slow) as network, Tunnel(network.source, network.target, spec) as made:
        (_, end) = made._ends
        group.limit(LIMIT_MB)
        group.take(end.process.pid)
        with killed_at_end(network.source.popen(program("flood", made.address(network.target)))):
            output, after_s = _until_error(lambda: made.stats(network.target), end.process)
        faults = list(_wrong(output, group, "tunnel"))
        faults += _dead_too(network, made)
    yield Outcome("memory: tunnel", f"limit {LIMIT_MB} MiB", _figures(group, after_s, output), tuple(faults))


def _know_each_other(network: Pair) -> None:
    """Spares the first datagram two times the delay, until the target's address is resolved."""
    interface, target = network.source.intfs[0], network.target
    to = [target.address(0), "lladdr", target.intfs[0].MAC(), "dev", interface.name]
    network.source.run(["ip", "neighbour", "replace", *to])


def _until_error(ask: Callable[[], object], process: subprocess.Popen[str]) -> tuple[str, float]:
    """Asks a program until that fails; returns the error for the user, empty if none came, and after how long (s)."""
    begun_s = time.monotonic()
    while time.monotonic() < begun_s + FULL_WITHIN_S:
        try:
            ask()
        except FlightpathError as error:
            if process.poll() is None:  # it is being killed
                time.sleep(0.2)
                continue
            return str(error), time.monotonic() - begun_s
        time.sleep(0.1)
    return "", time.monotonic() - begun_s


def _wrong(output: str, group: MemoryGroup, name: str) -> Iterator[str]:
    if not output:
        yield f"the {name} did not reach its limit in {FULL_WITHIN_S} s (at most {group.peak_bytes() >> 20} MiB)"
    elif "memory" not in output:
        yield f"the {name} was killed for want of memory, and all that a user is told is: {output!r}"


def _dead_too(network: Pair, made: Tunnel) -> Iterator[str]:
    """What died with an end of a tunnel that should not have."""
    if made._ends[0].process.poll() is not None:
        yield "the tunnel's other end died too"
    for link in network.links:
        try:
            link.check()
        except FlightpathError as error:
            yield f"a link died too: {error}"


def _figures(group: MemoryGroup, after_s: float, output: str) -> str:
    taken = f"at most {group.peak_bytes() >> 20} MiB taken"
    return f"{taken}, ended after {after_s:.1f} s, and said: {' / '.join(output.splitlines())!r}"
