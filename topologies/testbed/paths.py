"""Which links a packet crosses between two hosts: without it nothing would tell how long its round trip should be."""

from mininet.link import Intf
from mininet.net import Mininet
from mininet.node import Host

from controllers.openflow.rules import output_ports
from flightpath.errors import FlightpathError
from topologies.links.spec import LinkSpec
from topologies.testbed.controller import describe


def specs_between(network: Mininet, source: Host, target: Host, port: int) -> list[LinkSpec]:
    """The links' specifications, each in its direction, from an interface of a host to that of another.

    Args:
        network: built, with EmulatedLinks and the controller's rules.
        source, target: the hosts; `port` is the interface's number on both.

    Raises:
        FlightpathError: the switches have no way from one to the other.
    """
    description = describe(network)
    switches = {switch.name: switch for switch in description.switches}
    aim = next(it for it in description.interfaces if it.name == target.intfs[port].name) if switches else None
    here, crossed = source.intfs[port], []
    for _ in range(len(network.links)):
        spec, there = _cross(here)
        crossed.append(spec)
        if there.node is target:
            return crossed
        ports = output_ports(description, switches[there.node.name]) if there.node.name in switches else {}
        if aim not in ports:
            break
        here = there.node.intfs[ports[aim]]
    raise FlightpathError(f"there is no way from {source.name} to {target.name} on interface {port}")


def _cross(interface: Intf) -> tuple[LinkSpec, Intf]:
    link = interface.link
    return (link.a_to_b, link.intf2) if interface is link.intf1 else (link.b_to_a, link.intf1)
