"""Your controller, an application for os-ken: `flightpath mn ... --controller osken,switch.py`.

As delivered it is a hub: each frame goes to the controller, which sends it to all ports that FLOOD names. Complete it.
"""

from os_ken.base.app_manager import OSKenApp
from os_ken.controller import ofp_event
from os_ken.controller.handler import CONFIG_DISPATCHER, MAIN_DISPATCHER, set_ev_cls
from os_ken.lib.packet import ethernet, packet
from os_ken.ofproto import ofproto_v1_3

EDGE1, EDGE2, CORE1, CORE2 = 1, 2, 0x101, 0x102
HOST_PORTS = (16, 17)  # of both edge switches; port 1 leads to core1, port 2 to core2
FLOOD = {EDGE1: (1, 16, 17), EDGE2: (1, 16, 17), CORE1: (1, 2), CORE2: ()}  # a tree: no frame comes back


class Switch(OSKenApp):
    OFP_VERSIONS = [ofproto_v1_3.OFP_VERSION]

    @set_ev_cls(ofp_event.EventOFPSwitchFeatures, CONFIG_DISPATCHER)
    def on_connect(self, event):
        """A switch has connected: whatever no rule matches comes to us."""
        datapath = event.msg.datapath
        protocol = datapath.ofproto
        self.add_rule(datapath, 0, {}, [protocol.OFPP_CONTROLLER])

    @set_ev_cls(ofp_event.EventOFPPacketIn, MAIN_DISPATCHER)
    def on_frame(self, event):
        """A frame that no rule matches."""
        message = event.msg
        datapath, in_port = message.datapath, message.match["in_port"]
        frame = packet.Packet(message.data).get_protocol(ethernet.ethernet)
        print(f"switch {datapath.id:#x}: {frame.src} to {frame.dst} from port {in_port}")
        self.send(message, [port for port in FLOOD[datapath.id] if port != in_port])

    def add_rule(self, datapath, priority, match, ports):
        """Lets a switch send frames to ports by itself. `match`: {"in_port": 16, "eth_dst": "02:00:..."}, or parts."""
        parser, protocol = datapath.ofproto_parser, datapath.ofproto
        actions = [parser.OFPActionOutput(port, protocol.OFPCML_NO_BUFFER) for port in ports]
        instructions = [parser.OFPInstructionActions(protocol.OFPIT_APPLY_ACTIONS, actions)]
        rule = parser.OFPFlowMod(
            datapath=datapath, priority=priority, match=parser.OFPMatch(**match), instructions=instructions
        )
        datapath.send_msg(rule)

    def send(self, message, ports):
        """Sends this one frame to ports."""
        datapath = message.datapath
        parser = datapath.ofproto_parser
        out = parser.OFPPacketOut(
            datapath=datapath,
            buffer_id=datapath.ofproto.OFP_NO_BUFFER,
            in_port=message.match["in_port"],
            actions=[parser.OFPActionOutput(port) for port in ports],
            data=message.data,
        )
        datapath.send_msg(out)
