"""A Mininet network that makes many hosts and links in parallel, because most of the time is spent waiting."""

import os
from typing import Any

from mininet.log import info
from mininet.net import Mininet
from mininet.node import Host
from mininet.topo import Topo
from mininet.util import numCores

from flightpath.commands import at_once
from flightpath.overrides import override
from topologies.hosts.multihomed import MultihomedHost
from topologies.hosts.nodes import Namespaces
from topologies.links.emulated_link import EmulatedLink, complete
from topologies.links.emulators import makes_emulated_links


class EmulatedNetwork(Mininet):
    """A Mininet network for MultihomedHosts and EmulatedLinks; other hosts and links work as in Mininet."""

    def __init__(self, *args: Any, **params: Any) -> None:
        self._namespaces: Namespaces | None = None
        self._is_building = False
        numCores.ncores = os.cpu_count()  # Mininet would start a program to find out
        super().__init__(*args, **params)

    @override
    def buildFromTopo(self, topo: Topo) -> None:
        """Builds a topology: first all namespaces with one program, then all links in parallel."""
        names = [name for name in topo.hosts() if self._is_multihomed(topo.nodeInfo(name).get("cls"))]
        if names:
            self._namespaces = Namespaces(names)
        self._is_building = True
        try:
            super().buildFromTopo(topo)
        finally:
            self._is_building = False
        complete([link for link in self.links if isinstance(link, EmulatedLink)])

    @override
    def addHost(self, name: str, cls: type[Host] | None = None, **params: Any) -> Host:
        if self._is_building and self._namespaces is not None and name in self._namespaces.pids:
            params["namespace_pid"] = self._namespaces.pids[name]
        return super().addHost(name, cls, **params)

    @override
    def addLink(self, node1: Any, node2: Any, *args: Any, **params: Any) -> Any:
        if self._is_building and makes_emulated_links(params.get("cls") or self.link):
            params["wait"] = False
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
    def stop(self) -> None:
        for link in self.links:
            if isinstance(link, EmulatedLink):
                link.end_soon()
        try:
            super().stop()
        finally:
            if self._namespaces is not None:
                self._namespaces.stop()
                self._namespaces = None

    def _is_multihomed(self, cls: type[Host] | None) -> bool:
        host_class = cls or self.host
        return isinstance(host_class, type) and issubclass(host_class, MultihomedHost)
