"""Gives each switch its forwarding rules as it connects: without it the rules would stay on paper."""

import sys
import time
from dataclasses import dataclass, field
from typing import Any

from controllers.misses import Misses
from controllers.network import Network, Switch
from controllers.openflow import (
    DEAD_DISPATCHER,
    MAIN_DISPATCHER,
    Datapath,
    EventOFPBarrierReply,
    EventOFPErrorMsg,
    EventOFPPacketIn,
    EventOFPStateChange,
    OpenFlowApp,
    add_rule,
    delete_all_but,
    send_barrier,
    set_ev_cls,
)
from controllers.rules import Rule, cookie_of, forwarding_rules
from flightpath.errors import FlightpathError


class RuleRefused(FlightpathError):
    """A switch did not take a forwarding rule: its network would not be the one described."""


@dataclass
class _Connection:
    """A switch while it is connected."""

    switch: Switch
    rules: tuple[Rule, ...]
    cookie: int
    sent: dict[int, Rule] = field(default_factory=dict)
    barrier: int | None = None
    misses: Misses = field(default_factory=Misses)


class Forwarding(OpenFlowApp):
    """Shortest-path forwarding, installed in full when a switch connects; nothing is learnt from traffic.

    Forwarding goes on when this process ends, if the switch's fail mode is `secure`, and while it starts anew: rules
    are written over those that are there, and only then the stale ones deleted.

    Args:
        network: what there is to forward between.
    """

    def __init__(self, *args: Any, network: Network, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._network = network
        self._connections: dict[Datapath, _Connection] = {}

    @set_ev_cls(EventOFPStateChange, MAIN_DISPATCHER)
    def on_connect(self, event: EventOFPStateChange) -> None:
        """Sends the switch its rules, then deletes what is not among them, then asks whether all that is done."""
        datapath = event.datapath
        switch = self._network.switch_with_dpid(datapath.id)
        if switch is None:
            _warn(f"a switch with dpid {datapath.id} connected, which the network does not have; it gets no rules")
            return
        rules = forwarding_rules(self._network, switch)
        connection = _Connection(switch, rules, cookie_of(rules))
        self._connections[datapath] = connection
        for rule in rules:
            connection.sent[add_rule(datapath, rule, connection.cookie)] = rule
        delete_all_but(datapath, connection.cookie)
        connection.barrier = send_barrier(datapath)

    @set_ev_cls(EventOFPBarrierReply, MAIN_DISPATCHER)
    def on_done(self, event: EventOFPBarrierReply) -> None:
        """Tells the testbed that the switch has its rules."""
        connection = self._connections.get(event.msg.datapath)
        if connection is not None and event.msg.xid == connection.barrier:
            connection.sent.clear()
            _say(f"switch {connection.switch.name} ready: {len(connection.rules)} rules")

    @set_ev_cls(EventOFPErrorMsg, MAIN_DISPATCHER)
    def on_error(self, event: EventOFPErrorMsg) -> None:
        """Gives up if a forwarding rule was refused: half a network must not look like a whole one."""
        message = event.msg
        connection = self._connections.get(message.datapath)
        name = connection.switch.name if connection else f"with dpid {message.datapath.id}"
        rule = connection.sent.get(message.xid) if connection else None
        text = f"switch {name} refused {rule or 'a message'}: OpenFlow error type {message.type}, code {message.code}"
        if rule is None:
            _warn(text)
        else:
            del self._connections[message.datapath]  # so that the barrier's answer makes no ready switch of it
            self.fail(RuleRefused(text))

    @set_ev_cls(EventOFPPacketIn, MAIN_DISPATCHER)
    def on_miss(self, event: EventOFPPacketIn) -> None:
        """Counts a frame to an unknown destination and has the switch drop what follows it for a while."""
        connection = self._connections.get(event.msg.datapath)
        if connection is None or len(event.msg.data) < 12:
            return
        destination, source = event.msg.data[:6].hex(":"), event.msg.data[6:12].hex(":")
        rule = connection.misses.seen(destination, time.monotonic())
        if rule is not None:
            add_rule(event.msg.datapath, rule, connection.cookie)
            count = connection.misses.count
            _warn(f"switch {connection.switch.name}: no rule for {source} -> {destination} (no. {count}); dropped")

    @set_ev_cls(EventOFPStateChange, DEAD_DISPATCHER)
    def on_disconnect(self, event: EventOFPStateChange) -> None:
        """Forgets the connection; the switch keeps its rules."""
        self._connections.pop(event.datapath, None)


def _say(line: str) -> None:
    """For the testbed, which may have stopped to listen."""
    _print(line, sys.stdout)


def _warn(line: str) -> None:
    _print(line, sys.stderr)


def _print(line: str, stream: Any) -> None:
    try:
        print(line, file=stream, flush=True)
    except BrokenPipeError:
        return
