"""A switch that learns which port an address is behind, as Mininet's own controller does: `controllers.applications`.

It knows nothing of the network, so it also serves one that changes: a host that moves, a switch that is added. Frames
to unknown addresses go to all ports, so that a network with loops needs another controller.
"""

import struct
from typing import Any

from controllers.openflow.library import DEAD_DISPATCHER, MAIN_DISPATCHER, Datapath, OpenFlowApp, events, set_ev_cls

_IDLE_S = 60
"""After this time without a packet a rule ends, as with the reference controller of OpenFlow."""
_PRIORITY = 1
_IS_GROUP = 0x01
_MACS = struct.Struct("!6s6s")


class LearningSwitch(OpenFlowApp):
    """Sends frames where their destination was last seen, and installs a rule for it; floods what it does not know."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._ports: dict[Datapath, dict[bytes, int]] = {}

    @set_ev_cls(events.EventOFPStateChange, MAIN_DISPATCHER)
    def on_connect(self, event: events.EventOFPStateChange) -> None:
        """Makes a switch send the controller everything that no rule matches."""
        self._begin(event.datapath)

    @set_ev_cls(events.EventOFPFlowRemoved, MAIN_DISPATCHER)
    def on_rule_removed(self, event: events.EventOFPFlowRemoved) -> None:
        """Starts again: all rules have been deleted (`dpctl del-flows`), which only the one without a match reports."""
        self._begin(event.msg.datapath)

    @set_ev_cls(events.EventOFPStateChange, DEAD_DISPATCHER)
    def on_disconnect(self, event: events.EventOFPStateChange) -> None:
        self._ports.pop(event.datapath, None)

    @set_ev_cls(events.EventOFPPacketIn, MAIN_DISPATCHER)
    def on_packet_in(self, event: events.EventOFPPacketIn) -> None:
        """Learns from a frame where its source is, and sends it on."""
        message = event.msg
        datapath, in_port = message.datapath, message.match["in_port"]
        ports = self._ports.get(datapath)
        if ports is None or len(message.data) < _MACS.size:
            return
        destination, source = _MACS.unpack_from(message.data)
        ports[source] = in_port
        parser, protocol = datapath.ofproto_parser, datapath.ofproto
        known = None if destination[0] & _IS_GROUP else ports.get(destination)
        action = parser.OFPActionOutput(protocol.OFPP_FLOOD if known is None else known)
        if known is not None:
            fields = {"in_port": in_port, "eth_src": source.hex(":"), "eth_dst": destination.hex(":")}
            _add_rule(datapath, _PRIORITY, fields, action, idle_timeout=_IDLE_S)
        datapath.send_msg(
            parser.OFPPacketOut(
                datapath=datapath,
                buffer_id=message.buffer_id,
                in_port=in_port,
                actions=[action],
                data=message.data if message.buffer_id == protocol.OFP_NO_BUFFER else None,
            )
        )

    def _begin(self, datapath: Datapath) -> None:
        """Starts to learn: adds a rule for everything that no other one matches; the switch reports its deletion."""
        self._ports[datapath] = {}
        parser, protocol = datapath.ofproto_parser, datapath.ofproto
        to_controller = parser.OFPActionOutput(protocol.OFPP_CONTROLLER, protocol.OFPCML_NO_BUFFER)
        _add_rule(datapath, 0, {}, to_controller, flags=protocol.OFPFF_SEND_FLOW_REM)


def _add_rule(datapath: Datapath, priority: int, fields: dict[str, Any], action: Any, **settings: int) -> None:
    parser = datapath.ofproto_parser
    apply = parser.OFPInstructionActions(datapath.ofproto.OFPIT_APPLY_ACTIONS, [action])
    match = parser.OFPMatch(**fields)
    datapath.send_msg(
        parser.OFPFlowMod(datapath=datapath, priority=priority, match=match, instructions=[apply], **settings)
    )
