"""Writes rules to several switches in stages, so that no frame arrives where a rule that it needs is still missing.

The rules of a stage are sent to all its switches at once. When each of these has answered a barrier, the next stage
begins. Nothing here blocks: the caller is called back at the end.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from controllers.openflow.library import Datapath
from controllers.openflow.messages import add_rule, delete_rule, send_barrier
from controllers.openflow.steering_rules import SwitchRule

Done = Callable[[bool], None]


@dataclass
class _Write:
    """A write that is in progress; `waiting` counts the barriers that are still to be answered."""

    stages: list[Sequence[SwitchRule]]
    done: Done
    waiting: int = 0
    failed: bool = False


@dataclass
class _Channel:
    """What a switch has been sent and has not confirmed yet, by transaction id."""

    barriers: dict[int, tuple[_Write, list[int]]] = field(default_factory=dict)
    rules: dict[int, _Write] = field(default_factory=dict)


class Writer:
    """Writes rules to switches, which `datapath_of` finds by name if they are connected.

    Attributes:
        sent, refused: rules so far.
    """

    def __init__(self, datapath_of: Callable[[str], Datapath | None]) -> None:
        self.sent = 0
        self.refused = 0
        self._datapath_of = datapath_of
        self._channels: dict[Datapath, _Channel] = {}

    def write(self, stages: Iterable[Sequence[SwitchRule]], done: Done) -> None:
        """Writes rules, stage after stage.

        `done` is called once: with True when all switches have confirmed all rules, with False as soon as a switch
        refuses a rule or is not connected. Rules that are in place by then stay.
        """
        self._send_stage(_Write([stage for stage in stages if stage], done))

    def delete(self, rule: SwitchRule) -> None:
        """Deletes a rule, if its switch is connected."""
        if (datapath := self._datapath_of(rule.switch)) is not None:
            delete_rule(datapath, rule.rule)

    def on_barrier(self, datapath: Datapath, xid: int) -> None:
        """Handles a switch's reply to a barrier: it has processed all that was sent before."""
        channel = self._channels.get(datapath)
        if channel is None or xid not in channel.barriers:
            return
        write, rules = channel.barriers.pop(xid)
        for rule in rules:
            channel.rules.pop(rule, None)
        write.waiting -= 1
        if not write.failed and write.waiting == 0:
            self._send_stage(write)

    def on_error(self, datapath: Datapath, xid: int) -> bool:
        """Handles a switch's refusal of a message; returns whether the message was a rule of a write."""
        channel = self._channels.get(datapath)
        write = channel.rules.pop(xid, None) if channel else None
        if write is None:
            return False
        self.refused += 1
        self._fail(write)
        return True

    def on_disconnect(self, datapath: Datapath) -> None:
        """Fails the writes that the switch has not confirmed: it will not answer any more."""
        channel = self._channels.pop(datapath, _Channel())
        for write, _rules in channel.barriers.values():
            self._fail(write)

    def _send_stage(self, write: _Write) -> None:
        if not write.stages:
            write.done(True)
            return
        by_switch: dict[str, list[SwitchRule]] = {}
        for rule in write.stages.pop(0):
            by_switch.setdefault(rule.switch, []).append(rule)
        datapaths = {name: self._datapath_of(name) for name in by_switch}
        if None in datapaths.values():
            self._fail(write)
            return
        write.waiting = len(by_switch)
        for name, rules in by_switch.items():
            datapath = datapaths[name]
            channel = self._channels.setdefault(datapath, _Channel())
            xids = [add_rule(datapath, rule.rule, rule.cookie) for rule in rules]
            channel.rules |= dict.fromkeys(xids, write)
            channel.barriers[send_barrier(datapath)] = write, xids
            self.sent += len(rules)

    @staticmethod
    def _fail(write: _Write) -> None:
        if not write.failed:
            write.failed = True
            write.done(False)
