"""A plain reactive learning switch on os-ken, to compare steering with: `python -m tests.bench.l2_switch PORT`.

As os-ken's own example (`simple_switch_13`): what is unknown goes to the controller, which floods it or adds a rule. A
rule is for one TCP connection, not for two addresses as there: so the controller sees each connection at every switch.
"""

import sys
from typing import Any

from controllers.openflow.library import MAIN_DISPATCHER, OpenFlowApp, events, serve, set_ev_cls
from controllers.openflow.messages import OpenFlowChannel
from controllers.openflow.rules import WHOLE_FRAME, Output, Rule, ToController
from controllers.openflow.steering_rules import flow_match
from controllers.packets.checksums import complete_tcp_checksum
from controllers.packets.segments import parse_segment

FLOOD = 0xFFFFFFFB
_IDLE_S = 10


class LearningSwitch(OpenFlowApp):
    """Learns at which port each address is."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._ports: dict[tuple[int, str], int] = {}

    @set_ev_cls(events.EventOFPStateChange, MAIN_DISPATCHER)
    def on_connect(self, event: events.EventOFPStateChange) -> None:
        OpenFlowChannel(event.datapath).add_rules([Rule(0, (), ToController(WHOLE_FRAME))], 0)

    @set_ev_cls(events.EventOFPPacketIn, MAIN_DISPATCHER)
    def on_frame(self, event: events.EventOFPPacketIn) -> None:
        """An unknown destination, or a new connection."""
        channel, frame, port = OpenFlowChannel(event.msg.datapath), event.msg.data, event.msg.match["in_port"]
        target, source = frame[:6].hex(":"), frame[6:12].hex(":")
        self._ports[channel.dpid, source] = port
        out = self._ports.get((channel.dpid, target), FLOOD)
        if out != FLOOD and (segment := parse_segment(frame)) is not None:
            match = (("in_port", port), ("eth_dst", target), ("eth_src", source), *flow_match(segment.flow))
            channel.add_rules([Rule(1, match, Output(out), idle_timeout_s=_IDLE_S)], 0)
        channel.send_frames(port, [(complete_tcp_checksum(frame), (Output(out),))])


if __name__ == "__main__":
    serve("127.0.0.1", int(sys.argv[1]), LearningSwitch)
