"""Writes rules to several switches in an order: without it a packet could run ahead of the rules that it needs.

A write has stages. The rules of a stage are sent to all its switches at once; when each of these has answered a
barrier, the next stage begins. Nothing here waits: the caller is told at the end.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from controllers.openflow.library import Datapath
from controllers.openflow.messages import add_rule, delete_rule, send_barrier
from controllers.openflow.steering_rules import Placed

Done = Callable[[bool], None]


@dataclass
class _Write:
    """A write that is under way."""

    stages: list[Sequence[Placed]]
    done: Done
    waiting: int = 0
    failed: bool = False


@dataclass
class _Channel:
    """What a switch has been sent and has not answered yet."""

    barriers: dict[int, tuple[_Write, list[int]]] = field(default_factory=dict)
    rules: dict[int, _Write] = field(default_factory=dict)


class Writer:
    """Writes under way.

    Args:
        datapath_of: the connection to a switch, by its name; None while there is none.

    Attributes:
        sent: rules sent so far.
        refused: rules that a switch did not take.
    """

    def __init__(self, datapath_of: Callable[[str], Datapath | None]) -> None:
        self.sent = 0
        self.refused = 0
        self._datapath_of = datapath_of
        self._channels: dict[Datapath, _Channel] = {}

    def write(self, stages: Iterable[Sequence[Placed]], done: Done) -> None:
        """Writes rules, stage after stage.

        Args:
            stages: empty ones are skipped.
            done: called once: with True when all switches have confirmed all rules, with False as soon as one has
                refused a rule or is not there. Rules that were taken by then stay.
        """
        self._next(_Write([stage for stage in stages if stage], done))

    def delete(self, placed: Placed) -> None:
        """Deletes a rule, if its switch is there."""
        datapath = self._datapath_of(placed.switch)
        if datapath is not None:
            delete_rule(datapath, placed.rule)

    def on_barrier(self, datapath: Datapath, xid: int) -> None:
        """A switch has done what it was sent before the barrier."""
        channel = self._channels.get(datapath)
        write, rules = channel.barriers.pop(xid, (None, [])) if channel else (None, [])
        if write is None:
            return
        for number in rules:
            channel.rules.pop(number, None)
        write.waiting -= 1
        if not write.failed and write.waiting == 0:
            self._next(write)

    def on_error(self, datapath: Datapath, xid: int) -> bool:
        """A switch has refused a message; returns whether it was a rule of a write."""
        channel = self._channels.get(datapath)
        write = channel.rules.pop(xid, None) if channel else None
        if write is None:
            return False
        self.refused += 1
        self._fail(write)
        return True

    def on_disconnect(self, datapath: Datapath) -> None:
        """A switch will not answer any more."""
        channel = self._channels.pop(datapath, _Channel())
        for write, _rules in channel.barriers.values():
            self._fail(write)

    def _next(self, write: _Write) -> None:
        if not write.stages:
            write.done(True)
            return
        by_switch: dict[str, list[Placed]] = {}
        for placed in write.stages.pop(0):
            by_switch.setdefault(placed.switch, []).append(placed)
        datapaths = {name: self._datapath_of(name) for name in by_switch}
        if None in datapaths.values():
            self._fail(write)
            return
        write.waiting = len(by_switch)
        for name, rules in by_switch.items():
            self._send(write, datapaths[name], rules)

    def _send(self, write: _Write, datapath: Datapath, rules: Sequence[Placed]) -> None:
        channel = self._channels.setdefault(datapath, _Channel())
        numbers = [add_rule(datapath, placed.rule, placed.cookie) for placed in rules]
        channel.rules |= dict.fromkeys(numbers, write)
        channel.barriers[send_barrier(datapath)] = write, numbers
        self.sent += len(rules)

    @staticmethod
    def _fail(write: _Write) -> None:
        if not write.failed:
            write.failed = True
            write.done(False)
