"""Which flow is on which path, and the rules that keep it there: without it a path would be chosen and not taken.

Nothing here knows os-ken: what is to be written goes to a `Writer`, what time it is comes from the caller.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from controllers.network.description import Interface
from controllers.network.paths import Edge, Path
from controllers.openflow.cookies import FlowCookie, Kind
from controllers.openflow.labels import Interfaces, Labels, Paths
from controllers.openflow.steering_rules import Direction, Placed, path_rules
from controllers.packets.segments import FlowKey

LINGER_S = 3.0
"""So long the rules of an ended flow stay, for what of it is still on its way."""

_MANY_PATHS = 4096


class Writes(Protocol):
    """What is needed of `controllers.openflow.writes.Writer`."""

    def write(self, stages: Iterable[Sequence[Placed]], done: Callable[[bool], None]) -> None:
        """See there."""

    def delete(self, placed: Placed) -> None:
        """See there."""


@dataclass(frozen=True)
class Placement:
    """A flow on a path: both directions, and what their rules are.

    Args:
        number, back_number: of the path in the direction of the SYN, and of the same path from its other end.
        forth, back: the two directions.
        cookie: of the rule of `forth`.
    """

    number: int
    back_number: int
    forth: Direction
    back: Direction
    cookie: FlowCookie

    @property
    def rules(self) -> tuple[Placed, Placed]:
        """The rule where the answers enter, then that where the SYN does."""
        back = replace(self.cookie, kind=Kind.BACK)
        return self.back.placed(back), self.forth.placed(self.cookie)

    @property
    def numbers(self) -> tuple[int, int]:
        """Of both paths."""
        return self.number, self.back_number


class Placements:
    """The flows that have a path.

    Args:
        writer: takes what is to be written.

    Attributes:
        paths: their numbers.
        by_flow: the placements, by flow in the direction of its SYN.
    """

    def __init__(self, writer: Writes) -> None:
        self.paths = Paths()
        self.by_flow: dict[FlowKey, Placement] = {}
        self._writer = writer
        self._labels, self._interfaces = Labels(), Interfaces()
        self._written: set[int] = set()
        self._lingering: deque[tuple[float, Placement]] = deque()

    def use(self, labels: Labels, interfaces: Interfaces) -> None:
        """From now on these labels and numbers of interfaces."""
        self._labels, self._interfaces = labels, interfaces

    def place(self, flow: FlowKey, path: Path, source: Interface, target: Interface, cookie: FlowCookie) -> Placement:
        """Notes that a flow takes a path, now or anew; nothing is written."""
        back_path = path.reversed()
        self._free_path_numbers()
        number, back_number = self.paths.number(path), self.paths.number(back_path)
        forth_label = self._labels.label(number, self._interfaces.number(target.mac))
        back_label = self._labels.label(back_number, self._interfaces.number(source.mac))
        forth = Direction(flow, source, target, path, forth_label)
        back = Direction(flow.reversed(), target, source, back_path, back_label)
        self.by_flow[flow] = placement = Placement(number, back_number, forth, back, cookie)
        return placement

    def write(self, placements: Sequence[Placement], done: Callable[[bool], None]) -> None:
        """Writes the rules of placements, those of new paths before those of flows.

        Args:
            placements: all at once.
            done: called when all switches have confirmed, or one has not.
        """
        fresh: set[int] = set()
        path_stage = [rule for placement in placements for rule in self._path_rules(placement, fresh)]
        flow_stage = [rule for placement in placements for rule in placement.rules]

        def all_written(ok: bool) -> None:
            if ok:
                self._written |= fresh
            done(ok)

        self._writer.write([path_stage, flow_stage], all_written)

    def tell_token(self, flow: FlowKey, token: int | None) -> None:
        """Has the rule of a flow carry the token of its connection."""
        placement = self.by_flow.get(flow)
        if placement is not None and token not in (None, placement.cookie.token):
            self.by_flow[flow] = placement = replace(placement, cookie=replace(placement.cookie, token=token))
            self._writer.write([placement.rules[1:]], lambda _ok: None)

    def end(self, flow: FlowKey, now_s: float) -> None:
        """A flow has ended; its rules go when nothing of it can be on its way any more: see `tick`."""
        if placement := self.by_flow.pop(flow, None):
            self._lingering.append((now_s + LINGER_S, placement))

    def give_up(self, flow: FlowKey) -> None:
        """Forgets a flow that has no packets on their way."""
        if placement := self.by_flow.pop(flow, None):
            self._erase(placement)

    def tick(self, now_s: float) -> None:
        """To be called once in a while: deletes the rules of flows that have ended."""
        while self._lingering and self._lingering[0][0] <= now_s:
            self._erase(self._lingering.popleft()[1])

    def forget_written(self, switch: str) -> None:
        """A switch has connected anew: what it has is not known."""
        self._written = {number for number in self._written if switch not in self.paths.path(number).switches}

    def edges_of(self, flow: FlowKey) -> tuple[Edge, ...]:
        """The links that a flow crosses; none if it has no path."""
        placement = self.by_flow.get(flow)
        return placement.forth.path.edges if placement else ()

    def flows_on(self, edge: Edge) -> tuple[FlowKey, ...]:
        """The flows whose path crosses a link, in no order of importance but always the same."""
        return tuple(flow for flow, placed in self.by_flow.items() if edge in placed.forth.path.edges)

    def rules_of(self, switch: str) -> Iterator[Placed]:
        """All rules of flows and their paths that a switch must have now."""
        for number in {number for placement in self.by_flow.values() for number in placement.numbers}:
            yield from (it for it in path_rules(self.paths.path(number), number, self._labels) if it.switch == switch)
        for placement in self.by_flow.values():
            yield from (it for it in placement.rules if it.switch == switch)

    def _path_rules(self, placement: Placement, fresh: set[int]) -> Iterator[Placed]:
        """The rules of its paths, if the switches have not confirmed them yet; notes their numbers in `fresh`."""
        for direction, number in ((placement.back, placement.back_number), (placement.forth, placement.number)):
            if number not in self._written and number not in fresh:
                fresh.add(number)
                yield from path_rules(direction.path, number, self._labels)

    def _free_path_numbers(self) -> None:
        """Paths of a topology that changes again and again are forgotten when there are many; their rules are few."""
        if len(self.paths) < _MANY_PATHS:
            return
        placed = (*self.by_flow.values(), *(placement for _, placement in self._lingering))
        used = {number for placement in placed for number in placement.numbers}
        rules = {number: path_rules(self.paths.path(number), number, self._labels) for number in self._written - used}
        for number in self.paths.forget_all_but(used):
            self._written.discard(number)
            for placed_rule in rules.get(number, ()):
                self._writer.delete(placed_rule)

    def _erase(self, placement: Placement) -> None:
        """Deletes the rules of a flow, unless the same addresses and ports have begun another one meanwhile."""
        if placement.forth.flow not in self.by_flow and placement.back.flow not in self.by_flow:
            for placed in placement.rules:
                self._writer.delete(placed)
