"""A Mininet network in a sandbox: private Open vSwitch, Flightpath's controller, parallel setup of hosts and links."""

import contextlib
import itertools
import os
from functools import partial
from typing import Any

from mininet.link import TCLink
from mininet.log import info
from mininet.net import Mininet
from mininet.node import Host
from mininet.topo import Topo
from mininet.util import macColonHex, numCores

from flightpath.commands import at_once
from flightpath.errors import FlightpathError
from flightpath.overrides import override
from topologies.hosts import neighbours
from topologies.hosts.multihomed import MultihomedHost
from topologies.hosts.nodes import Namespaces
from topologies.links.emulated_link import EmulatedLink, by_kind, complete, delete_interfaces
from topologies.links.emulators import makes_emulated_links
from topologies.sandbox import sandbox
from topologies.testbed.controller import FlightpathController
from topologies.testbed.mininet_tc import CheckedTCIntf
from topologies.testbed.openvswitch import DATAPATH_INTERFACE, EmulatedSwitch, PrivateOpenVSwitch


class EmulatedNetwork(Mininet):
    """A Mininet network for MultihomedHosts, EmulatedLinks and EmulatedSwitches; other kinds work as in Mininet.

    Its Open vSwitch starts in the background while the network is built, and ends with `stop`.

    Args:
        openvswitch: whether to start one; a network without switches needs none.
    """

    hosts: list[Host]

    def __init__(self, *args: Any, openvswitch: bool = True, **params: Any) -> None:
        if not sandbox.is_inside():
            raise FlightpathError(
                "an emulated network runs only in a sandbox",
                "use topologies.sandbox.sandbox.run_inside, or mn --custom topologies/mn.py",
            )
        sandbox.prepare_network()
        self.openvswitch = self.start_openvswitch() if openvswitch else PrivateOpenVSwitch()
        self._namespaces: Namespaces | None = None
        self._is_building = False
        self._link_numbers = itertools.count(1)
        Mininet.inited = True  # otherwise Mininet would raise limits of the whole machine, outside the sandbox
        numCores.ncores = os.cpu_count()  # otherwise Mininet would start a program to find out
        super().__init__(*args, **params)

    def start_openvswitch(self) -> PrivateOpenVSwitch:
        """Starts the network's Open vSwitch in the background."""
        openvswitch = PrivateOpenVSwitch()
        openvswitch.start()
        return openvswitch

    @override
    def buildFromTopo(self, topo: Topo) -> None:
        """Builds a topology: first all namespaces by one program, then all links in parallel."""
        classes = {name: topo.nodeInfo(name).get("cls") or self.host for name in topo.hosts()}
        names = [name for name, cls in classes.items() if _is_subclass(cls, MultihomedHost)]
        if names:
            self._namespaces = Namespaces(names)
        self._is_building = True
        try:
            super().buildFromTopo(topo)
        finally:
            self._is_building = False
        complete([link for link in self.links if isinstance(link, EmulatedLink) and not link.is_complete])

    @override
    def addController(self, *args: Any, **params: Any) -> Any:
        controller = super().addController(*args, **params)
        if isinstance(controller, FlightpathController):
            controller.launch(self)
        return controller

    @override
    def addHost(self, name: str, cls: type[Host] | None = None, **params: Any) -> Host:
        if self._is_building and self._namespaces is not None and name in self._namespaces.pids:
            params["namespace_pid"] = self._namespaces.pids[name]
        return super().addHost(name, cls, **params)

    @override
    def addSwitch(self, name: str, cls: Any = None, **params: Any) -> Any:
        if not _is_subclass(cls or self.switch, EmulatedSwitch):
            self.openvswitch.wait_ready()  # other kinds query it as soon as they are made
        return super().addSwitch(name, cls, **params)

    @override
    def addLink(self, node1: Any, node2: Any, *args: Any, **params: Any) -> Any:
        cls = params.get("cls") or self.link
        while isinstance(cls, partial):
            cls = cls.func
        if self._is_building and makes_emulated_links(cls):
            params["wait"] = False
        number = next(self._link_numbers)
        for end, kind in (("addr1", _FIRST_MACS), ("addr2", _SECOND_MACS)):
            # Mininet's are random. Addresses in a row share forwarding rules.
            params.setdefault(end, macColonHex(kind + number))
        if _is_subclass(cls, TCLink):
            params.update({end: params.get(end, CheckedTCIntf) for end in ("cls1", "cls2")})
        return super().addLink(node1, node2, *args, **params)

    @override
    def configHosts(self) -> None:
        ours = [host for host in self.hosts if isinstance(host, MultihomedHost)]
        info(" ".join(host.name for host in ours), "")
        at_once(host.configDefault for host in ours)
        all_hosts, self.hosts = self.hosts, [host for host in self.hosts if host not in ours]
        try:
            super().configHosts()
        finally:
            self.hosts = all_hosts

    @override
    def start(self) -> None:
        """Starts the network; returns when all switches have their rules."""
        self.openvswitch.wait_ready()
        super().start()
        for controller in self.controllers:
            if isinstance(controller, FlightpathController):
                controller.wait_ready()
        if neighbours.are_out_of_reach(link for link in self.links if isinstance(link, EmulatedLink)):
            neighbours.make_permanent([host for host in self.hosts if isinstance(host, MultihomedHost)])

    @override
    def stop(self) -> None:
        with contextlib.ExitStack() as stack:
            stack.callback(self.openvswitch.stop)
            if self._namespaces is not None:
                stack.callback(self._namespaces.stop)
                self._namespaces = None
            kinds = {it.datapath if isinstance(it, EmulatedSwitch) else "" for it in self.switches}
            if kinds == {"user"} and self.openvswitch.is_own:
                # It would delete its bridges one by one. Of its user datapath only their own interfaces stay.
                self.openvswitch.stop()
                delete_interfaces([*(switch.name for switch in self.switches), DATAPATH_INTERFACE])
            links = [link for link in self.links if isinstance(link, EmulatedLink)]
            for link in links:
                link.terminate_async()
            for kind, of_kind in by_kind(links):
                kind.remove_all(of_kind)
            super().stop()


_FIRST_MACS, _SECOND_MACS = 0x020001000000, 0x020002000000
"""First MAC address of the interfaces at the first and second ends of links that have none."""


def _is_subclass(cls: Any, base: type) -> bool:
    """Returns whether `cls` is a subclass of `base`; Mininet also takes functions in place of classes."""
    return isinstance(cls, type) and issubclass(cls, base)
