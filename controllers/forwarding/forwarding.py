"""Shortest-path forwarding: installs the rules of each switch when it connects."""

import contextlib
import sys
import time
from dataclasses import dataclass, field, replace
from typing import Any

from controllers.network.description import Network, Switch
from controllers.openflow.library import DEAD_DISPATCHER, MAIN_DISPATCHER, Datapath, OpenFlowApp, events, set_ev_cls
from controllers.openflow.messages import add_rule, delete_all_but, send_barrier
from controllers.openflow.rules import Rule, cookie_of, forwarding_rules
from controllers.openflow.table_miss import TableMissLimiter
from flightpath.errors import FlightpathError


class RuleRefused(FlightpathError):
    """A switch refused a forwarding rule, so its network would not be the one described."""


@dataclass
class SwitchConnection:
    """A connected switch.

    Attributes:
        unconfirmed: the rules that it has not confirmed yet, by transaction id.
        barrier: the transaction id of the barrier that follows the rules; None: not sent yet.
    """

    switch: Switch
    rules: tuple[Rule, ...]
    cookie: int
    unconfirmed: dict[int, Rule] = field(default_factory=dict)
    barrier: int | None = None
    miss_limiter: TableMissLimiter = field(default_factory=TableMissLimiter)

    @property
    def is_ready(self) -> bool:
        """Whether the switch has confirmed its rules."""
        return self.barrier is not None and not self.unconfirmed


class Forwarding(OpenFlowApp):
    """Shortest-path forwarding. All rules are installed when a switch connects; nothing is learnt from traffic.

    If the switch's fail mode is `secure`, forwarding continues when this process ends and while it starts again: it
    writes its rules over the existing ones, and only then deletes rules that are out of date.
    """

    MISS_TABLE = 0
    """The flow table whose unmatched frames go to the controller."""

    SIBLING_BIT = 0
    """Rules whose cookie differs in this bit are kept, because a subclass manages them: see `delete_all_but`."""

    def __init__(self, *args: Any, network: Network, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._network = network
        self._connections: dict[Datapath, SwitchConnection] = {}

    def rules_for(self, switch: Switch) -> tuple[Rule, ...]:
        """The rules that a switch gets when it connects."""
        return forwarding_rules(self._network, switch)

    def cookie_for(self, rules: tuple[Rule, ...]) -> int:
        """The cookie of these rules."""
        return cookie_of(rules)

    def on_rules_sent(self, datapath: Datapath, connection: SwitchConnection) -> None:
        """Hook for subclasses: what they send to a switch here, it has done too when it is reported ready."""

    def on_other_error(self, message: Any) -> None:
        """Handles a switch's refusal of a message that is not one of the rules of `rules_for`."""
        warn(f"switch {self._name_of(message.datapath)} refused a message: {_error(message)}")

    @set_ev_cls(events.EventOFPStateChange, MAIN_DISPATCHER)
    def on_connect(self, event: events.EventOFPStateChange) -> None:
        """Sends a switch its rules, deletes all others, and asks it to confirm."""
        datapath = event.datapath
        switch = self._network.switch_with_dpid(datapath.id)
        if switch is None:
            warn(f"a switch with dpid {datapath.id} connected, but the network has none; it gets no rules")
            return
        rules = self.rules_for(switch)
        connection = SwitchConnection(switch, rules, self.cookie_for(rules))
        self._connections[datapath] = connection
        for rule in rules:
            connection.unconfirmed[add_rule(datapath, rule, connection.cookie)] = rule
        delete_all_but(datapath, connection.cookie, self.SIBLING_BIT)
        self.on_rules_sent(datapath, connection)
        connection.barrier = send_barrier(datapath)

    @set_ev_cls(events.EventOFPBarrierReply, MAIN_DISPATCHER)
    def on_barrier_reply(self, event: events.EventOFPBarrierReply) -> None:
        """Reports to the testbed that a switch has its rules."""
        connection = self._connections.get(event.msg.datapath)
        if connection is not None and event.msg.xid == connection.barrier:
            connection.unconfirmed.clear()
            announce(f"switch {connection.switch.name} ready: {len(connection.rules)} rules")

    @set_ev_cls(events.EventOFPErrorMsg, MAIN_DISPATCHER)
    def on_error(self, event: events.EventOFPErrorMsg) -> None:
        """Ends the controller if a switch refused a forwarding rule, because half a network must not look complete."""
        message = event.msg
        connection = self._connections.get(message.datapath)
        rule = connection.unconfirmed.get(message.xid) if connection else None
        if rule is None:
            self.on_other_error(message)
            return
        text = f"switch {self._name_of(message.datapath)} refused {rule}: {_error(message)}"
        del self._connections[message.datapath]  # so that the reply to the barrier does not report the switch ready
        self.fail(RuleRefused(text))

    @set_ev_cls(events.EventOFPPacketIn, MAIN_DISPATCHER)
    def on_packet_in(self, event: events.EventOFPPacketIn) -> None:
        """Handles a frame that no rule matches: its destination is unknown."""
        connection = self._connections.get(event.msg.datapath)
        if connection is not None and len(event.msg.data) >= 12:
            self.report_miss(connection, event.msg)

    def report_miss(self, connection: SwitchConnection, message: Any) -> None:
        """Counts a frame to an unknown destination, and makes the switch drop further ones for a while."""
        destination, source = message.data[:6].hex(":"), message.data[6:12].hex(":")
        rule = connection.miss_limiter.report(destination, time.monotonic())
        if rule is not None:
            add_rule(message.datapath, replace(rule, table=self.MISS_TABLE), connection.cookie)
            count = connection.miss_limiter.count
            warn(f"switch {connection.switch.name}: no rule for {source} -> {destination} (no. {count}); dropped")

    @set_ev_cls(events.EventOFPStateChange, DEAD_DISPATCHER)
    def on_disconnect(self, event: events.EventOFPStateChange) -> None:
        """Forgets the connection; the switch keeps its rules."""
        self._connections.pop(event.datapath, None)

    def _name_of(self, datapath: Datapath) -> str:
        connection = self._connections.get(datapath)
        return connection.switch.name if connection else f"with dpid {datapath.id}"


def announce(line: str) -> None:
    """Prints a line for the testbed, which may have stopped reading."""
    with contextlib.suppress(BrokenPipeError):
        print(line, flush=True)


def warn(line: str) -> None:
    """Prints a line to the log."""
    with contextlib.suppress(BrokenPipeError):
        print(line, file=sys.stderr, flush=True)


def _error(message: Any) -> str:
    return f"OpenFlow error type {message.type}, code {message.code}"
