"""Sends on the frames that switches have sent to the controller."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from controllers.network.description import Switch, SwitchPort
from controllers.network.paths import Topology
from controllers.openflow.channel import CONTROLLER_PORT
from controllers.openflow.event_table import PacketIn
from controllers.openflow.rules import Action, Output, output_ports
from controllers.openflow.switches import Switches
from controllers.packets.checksums import complete_tcp_checksum


@dataclass
class FrameSender:
    """Sends frames on.

    Args:
        flood_ports: returns the ports to which frames to unknown destinations go at a time.
    """

    switches: Switches
    topology: Topology
    flood_ports: Callable[[float], Iterable[SwitchPort]]
    _default_ports: dict[str, dict[str, int]] = field(default_factory=dict)

    def release(self, packet: PacketIn, actions: tuple[Action, ...] | None) -> None:
        """Sends on a held frame: with these actions, or by forwarding's rules (None)."""
        channel = packet.connection.channel
        if channel not in self.switches.by_channel:
            return
        if actions is None:
            port = self._default_port(packet.connection.switch, packet.frame[:6].hex(":"))
            if port is None:
                self.flood(packet)
                return
            actions = (Output(port),)
        channel.send_frames(packet.in_port, [(complete_tcp_checksum(packet.frame), actions)])

    def flood(self, packet: PacketIn) -> None:
        """Sends a frame out of all ports to flood, except the one that it came from."""
        outputs: dict[str, list[Output]] = {}
        for at in self.flood_ports(packet.now_s):
            if at != packet.ingress:
                outputs.setdefault(at.switch, []).append(Output(at.port))
        for switch, actions in outputs.items():
            if (connection := self.switches.by_name.get(switch)) is not None:
                connection.channel.send_frames(CONTROLLER_PORT, [(complete_tcp_checksum(packet.frame), tuple(actions))])

    def forget_ports(self, *_change: object) -> None:
        """Computes forwarding's ports again when they are needed, because the network or a link has changed."""
        self._default_ports.clear()

    def _default_port(self, switch: Switch, mac: str) -> int | None:
        if switch.name not in self._default_ports:
            ports = output_ports(self.topology.alive(self.switches.network), switch)
            self._default_ports[switch.name] = {interface.mac: port for interface, port in ports.items()}
        return self._default_ports[switch.name].get(mac)
