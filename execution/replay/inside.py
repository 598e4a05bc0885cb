"""What a replay runs in a copy of a cell's kernel, in the namespace of the switches and links.

    inside.py NODES links|set CHANGE|read EVENT|find EVENT BEGAN PERIOD|is EVENT BEGAN

It reads the request for the cell from stdin. NODES is an object of JSON: for each node, a process in its namespace.
`read` prints the counter of an event. `find` waits until it is above BEGAN, and prints the time on the kernel's clock,
in ns.
"""

import json
import re
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from execution.guest_side import CellRequest
from execution.replay.stopped_cell import ROOT
from experiments.plan import Plan
from flightpath.command_line import exit_code_of
from flightpath.commands import require, run
from flightpath.errors import MeasurementFailed, UsageError
from flightpath.suggestions import did_you_mean
from flightpath.units import format_rate, parse_probability
from probes.counters import tcp
from topologies.links import events, traffic_control
from topologies.links.changes import DIRECTIONS, Direction, DryRunLink
from topologies.links.events import LinkEvent
from topologies.links.netem import stages_between
from topologies.links.netem_counters import NO_LOSS, Reading
from topologies.links.spec import LinkSpec
from topologies.links.traffic_control import HTB, Stages

_EVENTS = ("retransmission", "subflow joined", "link down", "link up", "queue h1-s1 > 90%")
_QUEUE = re.compile(r"queue (?P<link>\S+) *> *(?P<share>\S+)")
_INTERFACES = Path("/sys/class/net")
_UP = 1  # IFF_UP of netdevice(7)


class _Link(NamedTuple):
    """A link of the cell's topology, with the interfaces between its ends; `now` knows of changes."""

    ends: events.Ends
    now: DryRunLink
    specs: Mapping[Direction, LinkSpec]
    names: Sequence[str]
    stages: Mapping[Direction, Stages]

    def name(self, way: Direction) -> str:
        """Returns what a direction is called."""
        (a, _), (b, _) = self.ends
        return f"{a}->{b}" if way == "a_to_b" else f"{b}->{a}"


class _Replay:
    """The cell in whose copy this process runs.

    Args:
        nodes: a process in the namespace of each node.
    """

    def __init__(self, nodes: Mapping[str, str]) -> None:
        request = CellRequest.model_validate_json(sys.stdin.read())
        plan, self._nodes = Plan.from_json(request.plan), nodes
        topology = request.experiment().topology(plan.cells()[request.order], plan)
        links = [_link(info) for _a, _b, info in topology.links(sort=True, withInfo=True)]
        # Links of the relay, and those without limits, have no interfaces between their ends.
        self._links = [link for link in links if (_INTERFACES / link.names[0]).exists()]

    def links(self, *changes: str) -> None:
        """Prints the queue and the losses of each direction of each link, after changes."""
        for change in changes:
            self._change(change)
        row = "{:14} {:12} {:>12} {:>22} {:>9} {:>9} {:>9}".format
        print(row("link", "one end", "rate", "queue", "under way", "dropped", "lost"))
        for link in self._links:
            reading = Reading.take(link.names, [stages.gate for stages in link.stages.values()])
            for way, stages in link.stages.items():
                _, htb, _, netem = reading.parts(stages)
                drops, spec = reading.direction(stages, NO_LOSS)["drops"], getattr(link.now, way)
                rate = format_rate(spec.bandwidth_bps) if spec.bandwidth_bps else "unlimited"
                queue = f"{htb['backlog']} of {spec.queue_bytes} B"
                dropped = drops["queue"] + drops["aqm"]
                print(row(link.name(way), link.ends[0][1], rate, queue, netem["qlen"], dropped, drops["loss"]))

    def set(self, *changes: str) -> None:
        """Makes the last of several changes of links, those before it having been made."""
        for change in changes[:-1]:
            self._change(change)
        event, link, ways, before = self._change(changes[-1])
        if event.carrier is not None:
            state = "up" if event.carrier else "down"
            run(["ip", "-batch", "-"], stdin="\n".join(f"link set dev {name} {state}" for name in link.names))
        lines: list[str] = []
        for way in ways if event.changes else ():
            kind = traffic_control.queue_kind(link.specs[way])
            after: LinkSpec = getattr(link.now, way)
            traffic_control.refuse_change(before[way], after, kind)
            lines += traffic_control.change(link.stages[way], after, kind, None)
        if event.black_hole is not None:
            lines += [traffic_control.gate(link.stages[way], is_open=not event.black_hole) for way in ways]
        run([require("tc"), "-batch", "-"], stdin="\n".join(lines))

    def _change(self, text: str) -> tuple[LinkEvent, _Link, Sequence[Direction], Mapping[Direction, LinkSpec]]:
        """Makes a change in what is known of a link; returns it, its link and directions, and what they were."""
        event = LinkEvent.parse(f"0 {text}")
        number, ways = events.find(event.link, [link.ends for link in self._links])
        link = self._links[number]
        before = {way: getattr(link.now, way) for way in DIRECTIONS}
        event.apply(link.now, ways)
        return event, link, ways, before

    def read(self, event: str) -> None:
        """Prints the counter of an event, above which it has happened."""
        count = self._counter(event)()
        print(0 if event.startswith("queue") else count)

    def find(self, event: str, began: str, period_ns: str) -> None:
        """Waits for an event, and prints when it was there."""
        count = self._counter(event)
        try:
            while count() <= int(began):
                time.sleep(int(period_ns) / 1e9)
        except OSError as error:
            raise MeasurementFailed("the cell has ended before") from error
        print(time.monotonic_ns())

    def is_there(self, event: str, began: str) -> None:
        """Prints whether an event has happened."""
        print("yes" if self._counter(event)() > int(began) else "no")

    def _counter(self, event: str) -> Callable[[], int]:
        """Returns a function that counts an event, all over the network.

        Raises:
            UsageError: there is no such event.
        """
        hosts = [process for name, process in self._nodes.items() if name != ROOT]
        match event.removeprefix("first ").removeprefix("next "):
            case "retransmission":
                return lambda: sum(_value(process, "Tcp.RetransSegs") for process in hosts)
            case "subflow joined":
                return lambda: sum(_value(process, "MPTcpExt.MPJoinAckRx") for process in hosts)
            case "link down":
                return lambda: sum(not _is_up(link.names[0]) for link in self._links)
            case "link up":
                return lambda: sum(_is_up(link.names[0]) for link in self._links)
        if (queue := _QUEUE.fullmatch(event)) is None:
            raise UsageError(f"there is no event {event!r}", did_you_mean(event, _EVENTS))
        number, ways = events.find(queue["link"], [link.ends for link in self._links])
        link, share = self._links[number], parse_probability(queue["share"], "queue")
        parts = [(link.stages[way].rate, share * link.specs[way].queue_bytes) for way in ways]
        return lambda: sum(_backlog(name) > limit for name, limit in parts)


def _link(info: Mapping[str, Any]) -> _Link:
    a, b = ends = events.planned_end(info, 1), events.planned_end(info, 2)
    spec = info.get("spec") or LinkSpec()
    names, stages = stages_between(a[1], b[1])
    specs: dict[Direction, LinkSpec] = {way: info.get(way) or spec for way in DIRECTIONS}
    return _Link(ends, DryRunLink(specs["a_to_b"], specs["b_to_a"]), specs, names, stages)


def _value(process: str, counter: str) -> int:
    group, _, _ = counter.partition(".")
    return tcp.of_process(int(process), [group]).get(counter, 0)


def _is_up(interface: str) -> bool:
    return bool(int((_INTERFACES / interface / "flags").read_text(encoding="ascii"), 16) & _UP)


def _backlog(interface: str) -> int:
    qdiscs = json.loads(run([require("tc"), "-s", "-j", "qdisc", "show", "dev", interface]))
    return next(int(qdisc["backlog"]) for qdisc in qdiscs if qdisc["handle"] == HTB)


def main(words: Sequence[str]) -> int:
    """Runs a command, and returns the exit code."""
    nodes, verb, *rest = words

    def command() -> None:
        replay = _Replay(json.loads(nodes))
        commands: dict[str, Callable[..., None]] = {
            "links": replay.links,
            "set": replay.set,
            "read": replay.read,
            "find": replay.find,
            "is": replay.is_there,
        }
        commands[verb](*rest)

    return exit_code_of(command, describe="{}".format)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
