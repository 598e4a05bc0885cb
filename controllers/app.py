"""The OpenFlow application: hands each event to the managers that its table names for it."""

import time
from typing import Any

from controllers.forwarding.rule_manager import RuleRefused
from controllers.openflow.event_table import Event, EventTable
from controllers.openflow.library import DEAD_DISPATCHER, MAIN_DISPATCHER, EventTick, OpenFlowApp, events, set_ev_cls
from controllers.openflow.messages import OpenFlowChannel, decode
from flightpath.overrides import override

_MESSAGES = [
    events.EventOFPPacketIn,
    events.EventOFPBarrierReply,
    events.EventOFPErrorMsg,
    events.EventOFPFlowRemoved,
    events.EventOFPFlowStatsReply,
    events.EventOFPPortDescStatsReply,
    events.EventOFPPortStatsReply,
    events.EventOFPPortStatus,
]


class ControllerApp(OpenFlowApp):
    """The controller as os-ken sees it; what it does is in the managers."""

    def __init__(self, *args: Any, table: EventTable, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.table = table

    @override
    def start(self) -> None:
        super().start()
        self.table.handle(Event.STARTED)
        for period_s, steps in self.table.tasks:
            self.every(period_s, steps)

    @set_ev_cls(events.EventOFPStateChange, MAIN_DISPATCHER)
    def on_connect(self, event: events.EventOFPStateChange) -> None:
        self.table.connect(OpenFlowChannel(event.datapath), time.monotonic())

    @set_ev_cls(events.EventOFPStateChange, DEAD_DISPATCHER)
    def on_disconnect(self, event: events.EventOFPStateChange) -> None:
        self.table.disconnect(OpenFlowChannel(event.datapath))

    @set_ev_cls(_MESSAGES, MAIN_DISPATCHER)
    def on_message(self, event: Any) -> None:
        """Forwards what a switch reports; ends the controller if a switch has refused a base rule."""
        connection = self.table.switches.by_channel.get(OpenFlowChannel(event.msg.datapath))
        if connection is None:
            return
        try:
            for report in decode(event.msg, connection, time.monotonic()):
                self.table.handle(*report)
        except RuleRefused as error:
            self.fail(error)

    @set_ev_cls(EventTick)
    def on_tick(self, event: EventTick) -> None:
        """Runs the steps of a periodic task that is due."""
        for step in event.steps:
            step(time.monotonic())
