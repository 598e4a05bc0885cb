"""The table of managers: which of them handle an event, and in which order."""

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum, auto

from controllers.network.description import LARGEST_PORT, SwitchPort
from controllers.openflow.channel import Channel
from controllers.openflow.switches import SwitchConnection, Switches
from controllers.output import warn


class Event(Enum):
    """Reports of switches, and conclusions of managers; each with the arguments of its handlers."""

    STARTED = auto()  # nothing
    NEW_SWITCH = auto()  # dpid, now_s: a switch is about to connect; the network may not have it yet
    CONNECTED = auto()  # connection
    DISCONNECTED = auto()  # connection, which is no longer among `Switches`
    CONFIRMED = auto()  # connection, xid: a switch has processed everything up to a barrier
    READY = auto()  # connection: a switch has confirmed everything that it was sent when it connected
    REFUSED = auto()  # connection, xid, error: a switch has refused a message
    PACKET_IN = auto()  # packet
    PORT = auto()  # connection, port, is_up, now_s: all ordinary ports after a switch has connected, then each change
    COUNTERS = auto()  # connection, xid, counters, now_s: those of ports; a reply may have several parts
    RULES = auto()  # connection, rules, is_last, now_s: a part of a reply
    ALL_RULES = auto()  # connection, rules, now_s: those from before the switch connected
    RULE_EXPIRED = auto()  # match of a rule that was idle
    PROBE_CROSSED = auto()  # hop, travel_s, now_s
    LINK_CHANGED = auto()  # change
    NETWORK_CHANGED = auto()  # network, now_s: something has been discovered


@dataclass(frozen=True)
class PacketIn:
    """A frame that a switch has sent to the controller, or its beginning; `now_s` is on CLOCK_MONOTONIC.

    Args:
        frame_bytes: length of the whole frame.
        table, cookie: of the rule that sent it.
    """

    connection: SwitchConnection
    in_port: int
    frame: bytes
    frame_bytes: int
    table: int
    cookie: int
    now_s: float

    @property
    def has_ingress(self) -> bool:
        """Whether it entered at an ordinary port."""
        return 1 <= self.in_port <= LARGEST_PORT

    @property
    def ingress(self) -> SwitchPort:
        """The port where it entered."""
        return SwitchPort(self.connection.switch.name, self.in_port)


@dataclass(frozen=True)
class PortCounters:
    """The counters of an ordinary port."""

    port: int
    sent_packets: int
    received_packets: int
    sent_bytes: int
    received_bytes: int


Handler = Callable[..., bool | None]
"""Handles an event; returns True if it has taken it, so that the handlers behind it do not get it."""

Publish = Callable[..., None]
"""`EventTable.handle`, for managers."""


@dataclass
class EventTable:
    """Hands each event to its managers.

    Attributes:
        rows: the handlers of each event, in their order.
        tasks: what is repeated: the period, computed before each pause, and what is called with the time.
    """

    switches: Switches
    rows: dict[Event, list[Handler]] = field(default_factory=dict)
    tasks: list[tuple[Callable[[], float], list[Callable[[float], None]]]] = field(default_factory=list)

    def handle(self, event: Event, *arguments: object) -> None:
        """Calls the handlers of an event, until one of them takes it."""
        for handler in self.rows.get(event, ()):
            if handler(*arguments):
                return

    def connect(self, channel: Channel, now_s: float) -> None:
        self.handle(Event.NEW_SWITCH, channel.dpid, now_s)
        switches = self.switches
        switch = switches.network.switch_with_dpid(channel.dpid)
        if switch is None:
            warn(f"a switch with dpid {channel.dpid} connected, but the network has none; it gets no rules")
            return
        switches.by_channel[channel] = switches.by_name[switch.name] = connection = SwitchConnection(switch, channel)
        self.handle(Event.CONNECTED, connection)

    def disconnect(self, channel: Channel) -> None:
        connection = self.switches.disconnect(channel)
        if connection is not None:
            self.handle(Event.DISCONNECTED, connection)
