"""Gives each switch its forwarding rules as it connects: without it the rules would stay on paper."""

import sys
import time
from dataclasses import dataclass, field, replace
from typing import Any

from controllers.network.description import Network, Switch
from controllers.openflow.library import (
    DEAD_DISPATCHER,
    MAIN_DISPATCHER,
    Datapath,
    EventOFPBarrierReply,
    EventOFPErrorMsg,
    EventOFPPacketIn,
    EventOFPStateChange,
    OpenFlowApp,
    set_ev_cls,
)
from controllers.openflow.messages import add_rule, delete_all_but, send_barrier
from controllers.openflow.rules import Rule, cookie_of, forwarding_rules
from controllers.openflow.table_miss import Misses
from flightpath.errors import FlightpathError


class RuleRefused(FlightpathError):
    """A switch did not take a forwarding rule: its network would not be the one described."""


@dataclass
class SwitchConnection:
    """A switch while it is connected.

    Attributes:
        switch: which.
        rules: what it has been given when it connected, or since.
        cookie: of these rules.
        sent: those that it has not confirmed yet, by transaction id.
        barrier: the transaction id whose answer says that it is ready; None before.
        ready: whether it has said so.
        misses: what it has no rules for.
    """

    switch: Switch
    rules: tuple[Rule, ...]
    cookie: int
    sent: dict[int, Rule] = field(default_factory=dict)
    barrier: int | None = None
    ready: bool = False
    misses: Misses = field(default_factory=Misses)


class Forwarding(OpenFlowApp):
    """Shortest-path forwarding, installed in full when a switch connects; nothing is learnt from traffic.

    Forwarding goes on when this process ends, if the switch's fail mode is `secure`, and while it starts anew: rules
    are written over those that are there, and only then the stale ones deleted.

    Args:
        network: what there is to forward between.
    """

    MISS_TABLE = 0
    SIBLING_BIT = 0
    """Rules whose cookie differs in this bit are another layer's, which keeps them: see `messages.delete_all_but`."""

    def __init__(self, *args: Any, network: Network, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._network = network
        self._connections: dict[Datapath, SwitchConnection] = {}

    def rules_for(self, switch: Switch) -> tuple[Rule, ...]:
        """What a switch gets when it connects."""
        return forwarding_rules(self._network, switch)

    def cookie_for(self, rules: tuple[Rule, ...]) -> int:
        """The cookie of these rules."""
        return cookie_of(rules)

    def greet(self, datapath: Datapath, connection: SwitchConnection) -> None:
        """A switch has been sent its rules; what is sent here it has done too when it is ready."""

    def other_error(self, message: Any) -> None:
        """A switch refused something that was none of the rules of `rules_for`."""
        warn(f"switch {self._name_of(message.datapath)} refused a message: {_error(message)}")

    @set_ev_cls(EventOFPStateChange, MAIN_DISPATCHER)
    def on_connect(self, event: EventOFPStateChange) -> None:
        """Sends the switch its rules, then deletes what is not among them, then asks whether all that is done."""
        datapath = event.datapath
        switch = self._network.switch_with_dpid(datapath.id)
        if switch is None:
            warn(f"a switch with dpid {datapath.id} connected, which the network does not have; it gets no rules")
            return
        rules = self.rules_for(switch)
        connection = SwitchConnection(switch, rules, self.cookie_for(rules))
        self._connections[datapath] = connection
        for rule in rules:
            connection.sent[add_rule(datapath, rule, connection.cookie)] = rule
        delete_all_but(datapath, connection.cookie, self.SIBLING_BIT)
        self.greet(datapath, connection)
        connection.barrier = send_barrier(datapath)

    @set_ev_cls(EventOFPBarrierReply, MAIN_DISPATCHER)
    def on_done(self, event: EventOFPBarrierReply) -> None:
        """Tells the testbed that the switch has its rules."""
        connection = self._connections.get(event.msg.datapath)
        if connection is not None and event.msg.xid == connection.barrier:
            connection.sent.clear()
            connection.ready = True
            say(f"switch {connection.switch.name} ready: {len(connection.rules)} rules")

    @set_ev_cls(EventOFPErrorMsg, MAIN_DISPATCHER)
    def on_error(self, event: EventOFPErrorMsg) -> None:
        """Gives up if a forwarding rule was refused: half a network must not look like a whole one."""
        message = event.msg
        connection = self._connections.get(message.datapath)
        rule = connection.sent.get(message.xid) if connection else None
        if rule is None:
            self.other_error(message)
            return
        text = f"switch {self._name_of(message.datapath)} refused {rule}: {_error(message)}"
        del self._connections[message.datapath]  # so that the barrier's answer makes no ready switch of it
        self.fail(RuleRefused(text))

    @set_ev_cls(EventOFPPacketIn, MAIN_DISPATCHER)
    def on_miss(self, event: EventOFPPacketIn) -> None:
        """A frame to an unknown destination."""
        connection = self._connections.get(event.msg.datapath)
        if connection is not None and len(event.msg.data) >= 12:
            self.report_miss(connection, event.msg)

    def report_miss(self, connection: SwitchConnection, message: Any) -> None:
        """Counts a frame to an unknown destination and has the switch drop what follows it for a while."""
        destination, source = message.data[:6].hex(":"), message.data[6:12].hex(":")
        rule = connection.misses.seen(destination, time.monotonic())
        if rule is not None:
            add_rule(message.datapath, replace(rule, table=self.MISS_TABLE), connection.cookie)
            count = connection.misses.count
            warn(f"switch {connection.switch.name}: no rule for {source} -> {destination} (no. {count}); dropped")

    @set_ev_cls(EventOFPStateChange, DEAD_DISPATCHER)
    def on_disconnect(self, event: EventOFPStateChange) -> None:
        """Forgets the connection; the switch keeps its rules."""
        self._connections.pop(event.datapath, None)

    def _name_of(self, datapath: Datapath) -> str:
        connection = self._connections.get(datapath)
        return connection.switch.name if connection else f"with dpid {datapath.id}"


def say(line: str) -> None:
    """For the testbed, which may have stopped to listen."""
    _print(line, sys.stdout)


def warn(line: str) -> None:
    """For whoever reads the log."""
    _print(line, sys.stderr)


def _error(message: Any) -> str:
    return f"OpenFlow error type {message.type}, code {message.code}"


def _print(line: str, stream: Any) -> None:
    try:
        print(line, file=stream, flush=True)
    except BrokenPipeError:
        return
