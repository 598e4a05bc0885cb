"""Placements: which flow takes which path, and the rules for it.

Nothing here knows os-ken or the clock: rules go to a `Writer`, and the caller passes the time.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from controllers.network.description import Interface
from controllers.network.paths import Edge, Path
from controllers.openflow.cookies import FlowCookie, RuleKind
from controllers.openflow.labels import InterfaceNumbers, Labels, Numbers
from controllers.openflow.steering_rules import Direction, SwitchRule, path_rules
from controllers.openflow.writes import Writer
from controllers.packets.segments import FlowKey

LINGER_S = 3.0
"""Time for which the rules of an ended flow stay, for segments that are still on their way."""

_MANY_PATHS = 4096


@dataclass(frozen=True)
class Placement:
    """A flow on a path, in both directions; the cookie is that of the rule of `forward`."""

    forward: Direction
    reverse: Direction
    cookie: FlowCookie

    @property
    def rules(self) -> tuple[SwitchRule, SwitchRule]:
        """The rule where the answers enter, then the rule where the SYN enters."""
        return self.reverse.rule(replace(self.cookie, kind=RuleKind.REVERSE)), self.forward.rule(self.cookie)

    @property
    def numbers(self) -> tuple[int, int]:
        """The numbers of the path and of its reverse."""
        return self.forward.number, self.reverse.number


@dataclass
class Placements:
    """The flows that have a path.

    Attributes:
        by_flow: the placements, by flow in the direction of its SYN.
    """

    writer: Writer
    labels: Labels
    interfaces: InterfaceNumbers
    paths: Numbers[Path] = field(default_factory=Numbers)
    by_flow: dict[FlowKey, Placement] = field(default_factory=dict)
    _written: set[int] = field(default_factory=set)
    _lingering: deque[tuple[float, Placement]] = field(default_factory=deque)

    def place(self, flow: FlowKey, path: Path, source: Interface, target: Interface, cookie: FlowCookie) -> Placement:
        """Sets the path of a flow, which may have another one; writes nothing."""
        self._free_path_numbers()
        forward = self._direction(flow, source, target, path)
        reverse = self._direction(flow.reversed(), target, source, path.reversed())
        self.by_flow[flow] = placement = Placement(forward, reverse, cookie)
        return placement

    def write(self, placements: Sequence[Placement], done: Callable[[bool], None]) -> None:
        """Writes the rules of placements, first those of new paths, then those of flows; `done` is as in `Writer`."""
        new: set[int] = set()
        path_stage = [rule for placement in placements for rule in self._path_rules(placement, new)]
        flow_stage = [rule for placement in placements for rule in placement.rules]

        def on_written(ok: bool) -> None:
            if ok:
                # Meanwhile the flow may have been removed, and the number of its path forgotten.
                self._written.update(number for number in new if self.paths.key(number) is not None)
            done(ok)

        self.writer.write([path_stage, flow_stage], on_written)

    def set_token(self, flow: FlowKey, token: int | None) -> None:
        """Puts the token of its connection into the rule of a flow, if it is known and not there yet."""
        placement = self.by_flow.get(flow)
        if placement is not None and token not in (None, placement.cookie.token):
            self.by_flow[flow] = placement = replace(placement, cookie=replace(placement.cookie, token=token))
            self.writer.write([placement.rules[1:]], lambda _ok: None)

    def end(self, flow: FlowKey, now_s: float) -> None:
        """Removes a flow that has ended; `tick` deletes its rules when its last segments have passed."""
        if placement := self.by_flow.pop(flow, None):
            self._lingering.append((now_s + LINGER_S, placement))

    def remove(self, flow: FlowKey) -> None:
        """Removes a flow of which no segment is on its way, and deletes its rules at once."""
        if placement := self.by_flow.pop(flow, None):
            self._delete_rules(placement)

    def tick(self, now_s: float) -> None:
        """Deletes the rules of flows that ended `LINGER_S` ago. To be called regularly."""
        while self._lingering and self._lingering[0][0] <= now_s:
            self._delete_rules(self._lingering.popleft()[1])

    def forget_written(self, switch: str) -> None:
        """Assumes nothing about the path rules of a switch that has connected again."""
        self._written = {number for number in self._written if switch not in self._path(number).switches}

    def edges_of(self, flow: FlowKey) -> tuple[Edge, ...]:
        placement = self.by_flow.get(flow)
        return placement.forward.path.edges if placement else ()

    def flows_on(self, edge: Edge) -> tuple[FlowKey, ...]:
        """Returns the flows whose path crosses a link, oldest first."""
        return tuple(flow for flow, placement in self.by_flow.items() if edge in placement.forward.path.edges)

    def rules_of(self, switch: str) -> Iterator[SwitchRule]:
        """Yields all rules of flows and their paths that a switch must have now."""
        for number in {number for placement in self.by_flow.values() for number in placement.numbers}:
            yield from (it for it in path_rules(self._path(number), number, self.labels) if it.switch == switch)
        for placement in self.by_flow.values():
            yield from (it for it in placement.rules if it.switch == switch)

    def _path(self, number: int) -> Path:
        """Returns the path with a number that is in use."""
        path = self.paths.key(number)
        assert path is not None, "the numbers of placements and of written rules are forgotten after these"
        return path

    def _direction(self, flow: FlowKey, source: Interface, target: Interface, path: Path) -> Direction:
        number = self.paths.number(path)
        label = self.labels.label(number, self.interfaces.number(target.mac))
        return Direction(flow, source, target, path, number, label)

    def _path_rules(self, placement: Placement, new: set[int]) -> Iterator[SwitchRule]:
        """Yields the rules of its paths that no switch has confirmed yet; adds their numbers to `new`."""
        for it in (placement.reverse, placement.forward):
            if it.number not in self._written and it.number not in new:
                new.add(it.number)
                yield from path_rules(it.path, it.number, self.labels)

    def _free_path_numbers(self) -> None:
        """Forgets unused paths when there are very many, as in a topology that changes again and again."""
        if len(self.paths) < _MANY_PATHS:
            return
        placements = (*self.by_flow.values(), *(placement for _, placement in self._lingering))
        used = {number for placement in placements for number in placement.numbers}
        rules = {number: path_rules(self._path(number), number, self.labels) for number in self._written - used}
        for number in self.paths.forget_all_but(used):
            self._written.discard(number)
            for rule in rules.get(number, ()):
                self.writer.delete(rule)

    def _delete_rules(self, placement: Placement) -> None:
        """Deletes the rules of a flow, unless a new flow with the same addresses and ports has begun since."""
        if placement.forward.flow not in self.by_flow and placement.reverse.flow not in self.by_flow:
            for rule in placement.rules:
                self.writer.delete(rule)
