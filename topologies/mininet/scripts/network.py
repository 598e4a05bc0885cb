"""Mininet's network as scripts know it: `Mininet(topo=…, link=TCLink)`, in a sandbox that has one Open vSwitch."""

from typing import Any

from mininet.link import Intf, Link
from mininet.node import Host
from mininet.topo import Topo

from flightpath.errors import UsageError
from flightpath.overrides import override
from topologies.mininet.network import InteractiveNetwork
from topologies.mininet.scripts.nodes import NO_CPU_LIMIT_HINT, ScriptController, ScriptSwitch
from topologies.testbed.openvswitch import PrivateOpenVSwitch


class SharedOpenVSwitch(PrivateOpenVSwitch):
    """The sandbox's Open vSwitch, shared by a script's networks and its own `ovs-vsctl`; it ends with the sandbox."""

    @override
    def start(self) -> None:
        if self._start_up is None:
            super().start()

    @override
    def stop(self) -> None:
        """Does nothing: another network may use it."""


OPENVSWITCH = SharedOpenVSwitch()


class ScriptNetwork(InteractiveNetwork):
    """`mininet.net.Mininet` with the same arguments, whose default switches and controllers are ours."""

    def __init__(
        self,
        topo: Topo | None = None,
        switch: Any = ScriptSwitch,
        host: Any = Host,
        controller: Any = ScriptController,
        link: Any = Link,
        intf: Any = Intf,
        *args: Any,
        **params: Any,
    ) -> None:
        super().__init__(topo, switch, host, controller, link, intf, *args, **params)

    @override
    def start_openvswitch(self) -> PrivateOpenVSwitch:
        return OPENVSWITCH

    @override
    def runCpuLimitTest(self, cpu: float, duration: int = 5) -> list[float]:
        raise UsageError("processor time is not limited here, so there is no limit to test", NO_CPU_LIMIT_HINT)
