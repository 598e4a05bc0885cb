"""A Mininet that makes many hosts and links at once: one after the other, most of the time would be spent waiting."""

import os
from typing import Any

from mininet.log import info
from mininet.net import Mininet
from mininet.node import Host
from mininet.topo import Topo
from mininet.util import numCores

from flightpath.commands import at_once
from topologies.hosts.multihomed import MultihomedHost
from topologies.hosts.nodes import Namespaces
from topologies.links.emulated_link import EmulatedLink, complete
from topologies.links.emulators import makes_emulated_links


class EmulatedNetwork(Mininet):
    """As Mininet's, for topologies with MultihomedHosts and EmulatedLinks; others pass through as they are."""

    def __init__(self, *args: Any, **params: Any) -> None:
        self._namespaces: Namespaces | None = None
        self._building = False
        numCores.ncores = os.cpu_count()  # Mininet would start another program to know
        super().__init__(*args, **params)

    def buildFromTopo(self, topo: Topo) -> None:  # noqa: N802 - Mininet's hook
        """As Mininet's: first all namespaces, then all links beside each other."""
        kept = [name for name in topo.hosts() if self._is_multihomed(topo.nodeInfo(name).get("cls"))]
        if kept:
            self._namespaces = Namespaces(kept)
        self._building = True
        try:
            super().buildFromTopo(topo)
        finally:
            self._building = False
        complete([link for link in self.links if isinstance(link, EmulatedLink)])

    def addHost(self, name: str, cls: type[Host] | None = None, **params: Any) -> Host:  # noqa: N802 - Mininet's hook
        """As Mininet's; in the namespace that was made for it, if one was."""
        if self._building and self._namespaces is not None and name in self._namespaces.pids:
            params["namespace_pid"] = self._namespaces.pids[name]
        return super().addHost(name, cls, **params)

    def addLink(self, node1: Any, node2: Any, *args: Any, **params: Any) -> Any:  # noqa: N802 - Mininet's hook
        """As Mininet's; while a topology is built the links do not wait for each other."""
        if self._building and makes_emulated_links(params.get("cls") or self.link):
            params["wait"] = False
        return super().addLink(node1, node2, *args, **params)

    def configHosts(self) -> None:  # noqa: N802 - Mininet's hook
        """As Mininet's, for several hosts at a time."""
        ours = [host for host in self.hosts if isinstance(host, MultihomedHost)]
        info(" ".join(host.name for host in ours), "")
        at_once(host.configDefault for host in ours)
        everyone, self.hosts = self.hosts, [host for host in self.hosts if host not in ours]
        try:
            super().configHosts()
        finally:
            self.hosts = everyone

    def stop(self) -> None:
        """As Mininet's."""
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
        kind = cls or self.host
        return isinstance(kind, type) and issubclass(kind, MultihomedHost)
