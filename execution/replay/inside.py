"""Commands of a replay inside a copy of a cell's kernel, in the namespace of the switches and links.

    inside.py STATE links|set CHANGE|read EVENT|find EVENT BEGAN PERIOD END|is EVENT BEGAN

It reads the request for the cell from stdin. STATE is the prompt's knowledge of the cell, as JSON (`State`). `read`
prints the counter of an event. `find` waits until it is above BEGAN, and prints the time on the kernel's clock, in ns;
it gives up at END.
"""

import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from execution.guest_side import CellRequest
from execution.replay.stopped_cell import ROOT
from experiments.plan import Plan
from flightpath.command_line import exit_code_of
from flightpath.commands import require, run
from flightpath.errors import MeasurementFailed
from flightpath.units import format_rate
from topologies.links import events, traffic_control
from topologies.links.changes import DIRECTIONS, Direction, DryRunLink
from topologies.links.conditions import counter, interfaces, is_state, seen
from topologies.links.events import LinkEvent
from topologies.links.netem import stages_between
from topologies.links.netem_counters import NO_LOSS, Reading
from topologies.links.spec import LinkSpec
from topologies.links.traffic_control import Stages

_UP = 1  # IFF_UP of netdevice(7)


class State(NamedTuple):
    """State of a cell whose clock stands still.

    Attributes:
        nodes: for each node, a process in its namespace.
        load_began_ns: time from which events count, in ns since the start of the guest's kernel.
        changes: changes by `set`, as link events.
    """

    nodes: Mapping[str, str]
    load_began_ns: int
    changes: Sequence[str]


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

    def queue_bytes(self, way: Direction) -> int:
        """Returns the bound of a direction's queue, as it is now."""
        spec: LinkSpec = getattr(self.now, way)
        return spec.queue_bytes


class _Replay:
    """The cell in whose copy this process runs."""

    def __init__(self, state: State) -> None:
        request = CellRequest.model_validate_json(sys.stdin.read())
        scenario, plan, self._nodes = request.experiment(), Plan.from_json(request.plan), state.nodes
        cell = request.cell()
        topology = scenario.topology(cell, plan)
        self._links = [_link(info) for _a, _b, info in topology.links(sort=True, withInfo=True)]
        passed_s = (time.monotonic_ns() - state.load_began_ns) / 1e9
        changes = [*scenario.link_events(cell, plan), *map(LinkEvent.parse, state.changes)]
        for event in sorted(changes, key=lambda change: change.at_s):
            if event.at_s <= passed_s:
                self._change(event)

    def links(self) -> None:
        """Prints the queue and the losses of each direction of each link."""
        row = "{:14} {:11} {:>11} {:>16} {:>9} {:>7} {:>5}".format
        print(row("link", "one end", "rate", "queue (B)", "under way", "dropped", "lost"))
        for link in seen(self._links):
            reading = Reading.take(link.names, [stages.gate for stages in link.stages.values()])
            for way, stages in link.stages.items():
                _, htb, _, netem = reading.parts(stages)
                drops, spec = reading.direction(stages, NO_LOSS)["drops"], getattr(link.now, way)
                rate = format_rate(spec.bandwidth_bps) if spec.bandwidth_bps else "unlimited"
                rate = rate if _is_up(link.names[0]) else "down"
                queue = f"{htb['backlog']}/{spec.queue_bytes}"
                dropped = drops["queue"] + drops["aqm"]
                print(row(link.name(way), link.ends[0][1], rate, queue, netem["qlen"], dropped, drops["loss"]))

    def set(self, change: str) -> None:
        """Changes a link."""
        event = LinkEvent.parse(f"0 {change}")
        link, ways, before = self._change(event)
        seen([link])
        if event.carrier is not None:
            state = "up" if event.carrier else "down"
            run(["ip", "-batch", "-"], stdin="\n".join(f"link set dev {name} {state}" for name in link.names))
        lines: list[str] = []
        for way in ways if event.changes else ():
            kind = traffic_control.queue_kind(link.specs[way])
            after: LinkSpec = getattr(link.now, way)
            traffic_control.refuse_change(before[way], after, kind)
            lines += traffic_control.change(link.stages[way], before[way], after, kind)
        if event.black_hole is not None:
            lines += [traffic_control.gate(link.stages[way], is_open=not event.black_hole) for way in ways]
        run([require("tc"), "-batch", "-"], stdin="\n".join(lines))

    def _change(self, event: LinkEvent) -> tuple[_Link, Sequence[Direction], Mapping[Direction, LinkSpec]]:
        """Notes a change of a link; returns the link, the directions, and their specifications before it."""
        number, ways = events.find(event.link, [link.ends for link in self._links])
        link = self._links[number]
        before = {way: getattr(link.now, way) for way in DIRECTIONS}
        event.apply(link.now, ways)
        return link, ways, before

    def read(self, event: str) -> None:
        """Prints the counter of an event, above which it has happened."""
        count = self._counter(event)()
        print(0 if is_state(event) else count)

    def find(self, event: str, began: str, period_ns: str, end_ns: str) -> None:
        """Waits for an event, and prints when it was there."""
        count = self._counter(event)
        try:
            while count() <= int(began):
                time.sleep(int(period_ns) / 1e9)
                if time.monotonic_ns() > int(end_ns):
                    raise MeasurementFailed("the load has ended before")
        except OSError as error:
            raise MeasurementFailed("the cell has ended before") from error
        print(time.monotonic_ns())

    def is_there(self, event: str, began: str) -> None:
        """Prints whether an event has happened."""
        print("yes" if self._counter(event)() > int(began) else "no")

    def _counter(self, event: str) -> Callable[[], int]:
        hosts = [int(process) for name, process in self._nodes.items() if name != ROOT]
        return counter(event, hosts, self._links)


def _link(info: Mapping[str, Any]) -> _Link:
    a, b = ends = events.planned_end(info, 1), events.planned_end(info, 2)
    spec = info.get("spec") or LinkSpec()
    names, stages = stages_between(a[1], b[1])
    specs: dict[Direction, LinkSpec] = {way: info.get(way) or spec for way in DIRECTIONS}
    return _Link(ends, DryRunLink(specs["a_to_b"], specs["b_to_a"]), specs, names, stages)


def _is_up(interface: str) -> bool:
    return bool(int((interfaces() / interface / "flags").read_text(encoding="ascii"), 16) & _UP)


def main(words: Sequence[str]) -> int:
    """Runs a command, and returns the exit code."""
    state, verb, *rest = words

    def command() -> None:
        replay = _Replay(State(*json.loads(state)))
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
