"""Writes rules to several switches in stages, so that no frame arrives where a rule that it needs is still missing.

The rules of a stage are sent to all its switches at once. When each of these has answered a barrier, the next stage
begins. Nothing here blocks: the caller is called back at the end.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from controllers.openflow.steering_rules import SwitchRule
from controllers.openflow.switches import SwitchConnection, Switches

Done = Callable[[bool], None]


@dataclass
class _Write:
    """A write that is in progress; `waiting` counts the barriers that are still to be answered."""

    stages: list[Sequence[SwitchRule]]
    done: Done
    waiting: int = 0
    failed: bool = False


@dataclass
class _Unconfirmed:
    """Messages to a switch that it has not confirmed yet, by transaction id."""

    barriers: dict[int, tuple[_Write, list[int]]] = field(default_factory=dict)
    rules: dict[int, _Write] = field(default_factory=dict)


@dataclass
class Writer:
    """Writes rules to connected switches.

    Attributes:
        sent, refused: number of rules so far.
    """

    switches: Switches
    sent: int = 0
    refused: int = 0
    _unconfirmed: dict[SwitchConnection, _Unconfirmed] = field(default_factory=dict)

    def write(self, stages: Iterable[Sequence[SwitchRule]], done: Done) -> None:
        """Writes rules, stage after stage.

        `done` is called once: with True when all switches have confirmed all rules, with False as soon as a switch
        refuses a rule or is not connected. Rules that are in place by then stay.
        """
        self._send_stage(_Write([stage for stage in stages if stage], done))

    def delete(self, rule: SwitchRule) -> None:
        if (connection := self.switches.by_name.get(rule.switch)) is not None:
            connection.channel.delete_rule(rule.rule)

    def on_confirmed(self, connection: SwitchConnection, xid: int) -> None:
        """Handles a switch's reply to a barrier: it has processed all that was sent before."""
        unconfirmed = self._unconfirmed.get(connection)
        if unconfirmed is None or xid not in unconfirmed.barriers:
            return
        write, rules = unconfirmed.barriers.pop(xid)
        for rule in rules:
            unconfirmed.rules.pop(rule, None)
        write.waiting -= 1
        if not write.failed and write.waiting == 0:
            self._send_stage(write)

    def on_refused(self, connection: SwitchConnection, xid: int, _error: str) -> bool:
        """Takes the refusal of a rule of a write: only this write fails."""
        unconfirmed = self._unconfirmed.get(connection)
        write = unconfirmed.rules.pop(xid, None) if unconfirmed else None
        if write is None:
            return False
        self.refused += 1
        self._fail(write)
        return True

    def on_disconnect(self, connection: SwitchConnection) -> None:
        """Fails the writes that the switch has not confirmed: it will not answer any more."""
        unconfirmed = self._unconfirmed.pop(connection, _Unconfirmed())
        for write, _rules in unconfirmed.barriers.values():
            self._fail(write)

    def _send_stage(self, write: _Write) -> None:
        if not write.stages:
            write.done(True)
            return
        by_switch: dict[str, list[SwitchRule]] = {}
        for rule in write.stages.pop(0):
            by_switch.setdefault(rule.switch, []).append(rule)
        if not by_switch.keys() <= self.switches.by_name.keys():
            self._fail(write)
            return
        write.waiting = len(by_switch)
        for name, rules in by_switch.items():
            connection = self.switches.by_name[name]
            unconfirmed = self._unconfirmed.setdefault(connection, _Unconfirmed())
            xids = [xid for rule in rules for xid in connection.channel.add_rules([rule.rule], rule.cookie)]
            unconfirmed.rules |= dict.fromkeys(xids, write)
            unconfirmed.barriers[connection.channel.send_barrier()] = write, xids
            self.sent += len(rules)

    @staticmethod
    def _fail(write: _Write) -> None:
        if not write.failed:
            write.failed = True
            write.done(False)
