"""Events for which the clock of a network in virtual time is stopped, found by the kernel's counters."""

import json
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Protocol, TypeVar

from mininet.net import Mininet

from flightpath.clock import Clock, clock_here
from flightpath.commands import require, run
from flightpath.errors import MeasurementFailed, UsageError
from flightpath.suggestions import did_you_mean
from flightpath.tcp_info import counters
from flightpath.units import parse_duration, parse_probability
from topologies.links import events
from topologies.links.changes import Direction
from topologies.links.emulated_link import EmulatedLink
from topologies.links.netem import stages_between
from topologies.links.traffic_control import HTB, Stages
from topologies.sandbox.sandbox import TEMPORARY

EVENTS = ("retransmission", "subflow joined", "link down", "link up", "queue h1-s1 > 90%")

_DEVICES = Path("/proc/net/dev")
_CARRIER = {"link down": "carrier_down_count", "link up": "carrier_up_count"}
_QUEUE = re.compile(r"queue (?P<link>\S+) *> *(?P<share>\S+)")
_PERIOD_S, _QUEUE_PERIOD_S = 1e-4, 1e-3
"""Periods in which a network looks for an event; a queue's length takes a program."""


class Inside(Protocol):
    """A link into whose queue one can look, if it is netem's."""

    @property
    def ends(self) -> events.Ends:
        """Its ends."""

    @property
    def names(self) -> Sequence[str]:
        """Interfaces between its ends."""

    @property
    def stages(self) -> Mapping[Direction, Stages]:
        """Stages of each direction."""

    def queue_bytes(self, way: Direction) -> int:
        """Returns the bound of a direction's queue, as it is now."""


_Link = TypeVar("_Link", bound=Inside)


@cache
def interfaces() -> Path:
    """Returns the folder of this namespace's interfaces; a sandbox's /sys shows those outside, so it gets one more."""
    names = {line.partition(":")[0].strip() for line in _DEVICES.read_text(encoding="ascii").splitlines()[2:]}
    folder = Path("/sys/class/net")
    if not names <= {path.name for path in folder.iterdir()}:
        own = TEMPORARY / "sys"
        own.mkdir()
        run(["mount", "-t", "sysfs", "sysfs", str(own)])
        folder = own / "class/net"
    return folder


def is_moment(text: str) -> bool:
    """Tells a moment, as `3.2s`, from an event."""
    return re.match(r"[-0-9]", text) is not None


def is_state(event: str) -> bool:
    """Returns whether an event is a state, which may be there already: a full queue. Others are counted."""
    return event.startswith("queue")


def seen(links: Sequence[_Link]) -> Sequence[_Link]:
    """Returns those links that have interfaces between their ends.

    Raises:
        UsageError: none has.
    """
    found = [link for link in links if (interfaces() / link.names[0]).exists()]
    if not found:
        raise UsageError("links of the relay, and those without limits, can be neither looked into nor changed")
    return found


def counter(event: str, hosts: Sequence[int], links: Sequence[Inside]) -> Callable[[], int]:
    """Returns a function that counts an event, all over the network; of a state, the number of queues that are in it.

    Args:
        event: one of `EVENTS`; also "first retransmission".
        hosts: a process in each host's network namespace.
        links: all of them.

    Raises:
        UsageError: there is no such event, or its links cannot be looked into.
    """
    match event.removeprefix("first ").removeprefix("next "):
        case "retransmission":
            return lambda: sum(_count(process, "snmp", "Tcp", "RetransSegs") for process in hosts)
        case "subflow joined":
            return lambda: sum(_count(process, "netstat", "MPTcpExt", "MPJoinAckRx") for process in hosts)
        case "link down" | "link up" as kind:
            # A number of those that are down would miss that one comes back when another one is cut.
            files = [interfaces() / link.names[0] / _CARRIER[kind] for link in seen(links)]
            return lambda: sum(int(file.read_text(encoding="ascii")) for file in files)
    if (queue := _QUEUE.fullmatch(event)) is None:
        raise UsageError(f"there is no event {event!r}", did_you_mean(event, EVENTS))
    number, ways = events.find(queue["link"], [link.ends for link in links])
    (link,) = seen([links[number]])
    share = parse_probability(queue["share"], "queue")
    return lambda: sum(_backlog(link.stages[way].rate) > share * link.queue_bytes(way) for way in ways)


class Stepper:
    """Lets the clock of a network in virtual time go on, for a time, to a moment or to an event.

    Args:
        network: it must run.
    """

    def __init__(self, network: Mininet) -> None:
        self._network, self._began_ns = network, time.monotonic_ns()

    @property
    def now_s(self) -> float:
        """Time since it was made."""
        return (time.monotonic_ns() - self._began_ns) / 1e9

    def step(self, text: str) -> None:
        """Goes on for a time, for example `10ms`."""
        _require_virtual("step")
        time.sleep(parse_duration(text, "step"))

    def until(self, when: str, limit_s: float) -> None:
        """Goes on to a moment, as `3.2s`, or to an event; it is 0.1 ms late at most, for a queue 1 ms.

        Raises:
            UsageError: there is no such event, or the moment is over.
            MeasurementFailed: the event has not happened within the limit.
        """
        _require_virtual("until")
        if is_moment(when):
            left_s = parse_duration(when, "until") - self.now_s
            if left_s < 0:
                raise UsageError(f"until: {when} is over: it is {self.now_s:.9f} s", "choose a later moment")
            time.sleep(left_s)
            return
        links = [_LiveLink(link) for link in self._network.links if isinstance(link, EmulatedLink)]
        count = counter(when, [host.pid for host in self._network.hosts], links)
        began, end_s = 0 if is_state(when) else count(), self.now_s + limit_s
        while count() <= began:
            if self.now_s > end_s:
                raise MeasurementFailed(f"no {when!r} within {limit_s:g} s")
            time.sleep(_QUEUE_PERIOD_S if is_state(when) else _PERIOD_S)


@dataclass(frozen=True)
class _LiveLink:
    """A link of a network that runs here."""

    link: EmulatedLink

    @property
    def ends(self) -> events.Ends:
        return events.ends_of(self.link)

    @property
    def names(self) -> Sequence[str]:
        return self._between()[0]

    @property
    def stages(self) -> Mapping[Direction, Stages]:
        return self._between()[1]

    def queue_bytes(self, way: Direction) -> int:
        spec = getattr(self.link, way)
        return int(spec.queue_bytes)

    def _between(self) -> tuple[Sequence[str], Mapping[Direction, Stages]]:
        (_, a), (_, b) = self.ends
        return stages_between(a, b)


def _require_virtual(command: str) -> None:
    if clock_here() is Clock.REAL:
        raise UsageError(f"{command}: the real clock does not stand still", "start the network with --clock virtual")


def _count(process: int, file: str, group: str, name: str) -> int:
    text = Path(f"/proc/{process}/net/{file}").read_text(encoding="ascii")
    return counters(text, group).get(name, 0)


def _backlog(interface: str) -> int:
    qdiscs = json.loads(run([require("tc"), "-s", "-j", "qdisc", "show", "dev", interface]))
    return next(int(qdisc["backlog"]) for qdisc in qdiscs if qdisc["handle"] == HTB)
