"""Changes of 500 netem links at the same moments: how late they are, and what one process for all of them saves.

The links are in a kernel of their own, because this machine's may lack netem. On its real clock it is several times
slower than a machine; the ratio to one process for each link, measured in turn, says what was gained.
"""

import json
import math
import sys
import time
from collections.abc import Iterator

from flightpath.commands import run
from flightpath.project import PROJECT
from tests.bench.figures import Figure
from tests.support.congestion_links import plain_network
from topologies.links.changes import DIRECTIONS
from topologies.links.emulated_link import complete
from topologies.links.events import LinkEvent, schedule
from topologies.links.netem import NetemLink
from topologies.links.observing import EventObserver
from topologies.links.spec import LinkSpec
from topologies.sandbox import sandbox

SECTION = "updates"
LINKS, MOMENTS = 500, 10
_PASSING_ON_S, _SETTLED_S = 20.0, 5.0
"""Time for passing all changes on to their links before the first is due, and after the last is."""

_TIME_LIMIT_S = 1200.0


def measure(number: int) -> Iterator[str | Figure]:
    yield f"{LINKS} links, virtual clock"
    late_ms = 1000 * _in_guest("virtual")["late_s"]
    yield Figure(SECTION, f"{LINKS} links each second, virtual time: latest", [late_ms], "ms", at_most=5)
    yield f"{LINKS} links, real clock"
    found = _in_guest("real")
    late_ms = 1000 * found["late_s"]
    yield Figure(SECTION, f"{LINKS} links each second, real clock of that kernel: latest", [late_ms], "ms")
    yield Figure(SECTION, f"changing {LINKS} links, by one process", [found["together_s"]], "s")
    yield Figure(SECTION, f"changing {LINKS} links, by a process for each link", [found["each_s"]], "s")
    yield Figure(SECTION, "ratio of the two", [found["each_s"] / found["together_s"]], "", at_least=10)


def _in_guest(clock: str) -> dict[str, float]:
    guest = [sys.executable, "-m", "execution.virtual", "--seed", "1", "--clock", clock, "--memory", "8192", "--"]
    output = run([*guest, sys.executable, "-m", "tests.bench.updates"], cwd=PROJECT, timeout_s=_TIME_LIMIT_S)
    [report] = (json.loads(line) for line in output.splitlines() if line.startswith("{"))
    return report


def main() -> int:
    """Prints one JSON object, inside the kernel: times in seconds, on its clock."""
    with plain_network() as net:
        a, b = (net.addHost(f"h{number}") for number in (1, 2))
        links = [net.addLink(a, b, cls=NetemLink, spec=_spec(0), wait=False) for _ in range(LINKS)]
        complete(links)
        times = {"each_s": _took_s(links, 1), "together_s": _took_s(links, LINKS)}
        print(json.dumps({"late_s": _late_s(links), **times}))
    return 0


def _spec(number: int) -> LinkSpec:
    return LinkSpec(bandwidth_bps=(100 + number) * 10**6, delay_s=0.01 + 0.001 * number, loss=0.001)


def _took_s(links: list[NetemLink], at_once: int) -> float:
    """Changes both directions of each link, so many links by one process; returns the time."""
    changed = vars(_spec(at_once))
    began_s = time.monotonic()
    for first in range(0, len(links), at_once):
        some = links[first : first + at_once]
        NetemLink._change_all([(link, way, changed) for link in some for way in DIRECTIONS])
    return time.monotonic() - began_s


def _late_s(links: list[NetemLink]) -> float:
    """Changes all links each second; returns how late the latest change was seen."""
    planned = [
        LinkEvent.parse(f"{number}s {link.intf1} bandwidth={100 + number}Mbit delay={10 + number}ms loss=0.2%")
        for number in range(MOMENTS)
        for link in links
    ]
    observer = EventObserver()
    start_ns = time.monotonic_ns() + round(_PASSING_ON_S * 1e9)
    observer.follow(schedule(planned, links, start_ns), start_ns)
    time.sleep(max(0.0, start_ns / 1e9 - time.monotonic()) + MOMENTS + _SETTLED_S)
    observer.stop()
    late_s = [math.inf if seen_s is None else seen_s - event.at_s for event, seen_s in observer.seen_s.items()]
    if len(late_s) < len(planned) or max(late_s) == math.inf:
        sys.exit(f"of {len(planned)} changes, {sum(map(math.isfinite, late_s))} were made within 2 s of their time")
    return max(late_s)


if __name__ == "__main__":
    sys.exit(sandbox.run_inside(main))
