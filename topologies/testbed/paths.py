"""The links that a packet crosses between two hosts, from which its expected round-trip time follows."""

from mininet.link import Intf
from mininet.net import Mininet
from mininet.node import Host

from controllers.openflow.rules import output_ports
from flightpath.errors import FlightpathError
from topologies.links.spec import LinkSpec
from topologies.testbed.controller import describe


def specs_between(network: Mininet, source: Host, target: Host, port: int) -> list[LinkSpec]:
    """The specifications of the links, each in its direction, between two hosts' interfaces with the same number.

    Args:
        network: built, with EmulatedLinks, and switches that follow the controller's rules.
        source, target: the hosts.
        port: the number of the interface, on both.

    Raises:
        FlightpathError: the switches do not forward from one to the other.
    """
    description = describe(network)
    switches = {switch.name: switch for switch in description.switches}
    destination = next(it for it in description.interfaces if it.name == target.intfs[port].name) if switches else None
    here, specs = source.intfs[port], []
    for _ in range(len(network.links)):
        spec, there = _cross(here)
        specs.append(spec)
        if there.node is target:
            return specs
        ports = output_ports(description, switches[there.node.name]) if there.node.name in switches else {}
        if destination not in ports:
            break
        here = there.node.intfs[ports[destination]]
    raise FlightpathError(f"there is no path from {source.name} to {target.name} on interface {port}")


def _cross(interface: Intf) -> tuple[LinkSpec, Intf]:
    """The specification of an interface's link in the outgoing direction, and the interface at its far end."""
    link = interface.link
    return (link.a_to_b, link.intf2) if interface is link.intf1 else (link.b_to_a, link.intf1)
