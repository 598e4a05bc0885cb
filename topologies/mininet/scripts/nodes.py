"""Replacements for Mininet's switches, controllers and hosts, in `mn` and in scripts."""

import shutil
from collections.abc import Sequence
from typing import Any

from mininet import node, nodelib
from mininet.log import warn
from mininet.node import Controller, Host

from flightpath.commands import run
from flightpath.errors import MissingCapability, UsageError
from flightpath.overrides import override
from topologies.sandbox.kernel_settings import entry
from topologies.testbed.applications import OskenController
from topologies.testbed.openvswitch import EmulatedSwitch, choose_datapath

NO_CPU_LIMIT_HINT = "leave CPULimitedHost and its tests out"
"""Hint for scripts with CPULimitedHost."""

OUTSIDE_HINT = "nothing outside the sandbox can be reached: start what the network needs inside it"
"""Hint for a controller or a network that is not in the sandbox."""

_KERNEL = "kernel"
_PORTS = (6653, 6633)
"""Ports of controllers: that of OpenFlow, and the one used before it was assigned."""


class AutoSwitch(EmulatedSwitch):
    """`--switch auto` or `ovs`: an Open vSwitch bridge on the kernel's datapath if it has one; `auto,datapath=user`."""

    def __init__(self, name: str, datapath: str = "auto", **params: Any) -> None:
        super().__init__(name, datapath=choose_datapath(datapath), **params)

    @override
    def dpctl(self, *args: str) -> str | None:
        return self.cmd("ovs-ofctl", "-O", "OpenFlow13", args[0], self, *args[1:])


class KernelSwitch(AutoSwitch):
    """`--switch ovsk`: an Open vSwitch bridge on the kernel's datapath."""

    def __init__(self, name: str, datapath: str = "kernel", **params: Any) -> None:
        super().__init__(name, datapath, **params)


class ScriptSwitch(AutoSwitch):
    """`OVSSwitch` and `OVSKernelSwitch`: Open vSwitch, on the kernel's datapath if it has one."""

    def __init__(self, name: str, failMode: str = "secure", datapath: str = _KERNEL, **params: Any) -> None:
        datapath = "auto" if datapath == _KERNEL else datapath
        super().__init__(name, datapath, **{"protocols": None, **params, "failMode": failMode})

    @override
    def dpctl(self, *args: str) -> str | None:
        protocols = ["-O", self.protocols] if self.protocols else ["-O", "OpenFlow13"]
        return self.cmd("ovs-ofctl", *protocols, args[0], self, *args[1:])


class ScriptUserSwitch(ScriptSwitch):
    """`UserSwitch`: Open vSwitch's user datapath, which unlike the reference switch is maintained."""

    def __init__(self, name: str, dpopts: str = "", **params: Any) -> None:
        super().__init__(name, **{**params, "datapath": "user"})
        self.dpopts = dpopts


class ScriptBridge(ScriptSwitch):
    """`OVSBridge` and `LinuxBridge`: a bridge that learns addresses, optionally with a spanning tree (`stp=True`)."""

    def __init__(self, name: str, prio: int | None = None, **params: Any) -> None:
        super().__init__(name, **{**params, "failMode": "standalone"})
        self.prio = prio

    @override
    def start(self, controllers: Sequence[Controller]) -> None:
        super().start([])

    @override
    def connected(self) -> bool:
        """Returns whether the bridge forwards yet."""
        return node.OVSBridge.connected(self)


class ScriptController(OskenController):
    """`Controller`: a learning switch, as Mininet's; a command that the script gives is run instead."""

    command: str

    def __init__(self, name: str = "c0", command: str = "", **params: Any) -> None:
        self._own_command = command
        super().__init__(name, **params)
        self.command = command or self.command

    @override
    def start(self) -> None:
        if self._own_command:
            Controller.start(self)
        else:
            super().start()

    @override
    def stop(self, *args: Any, **kwargs: Any) -> None:
        if self._own_command:
            Controller.stop(self, *args, **kwargs)
        else:
            super().stop(*args, **kwargs)

    @classmethod
    @override
    def isAvailable(cls) -> bool:
        return True


class ScriptRyu(OskenController):
    """`Ryu`: os-ken with Ryu's applications; Ryu's sample switches, which os-ken lacks, become its learning switch."""

    def __init__(self, name: str = "c0", ryuArgs: str | Sequence[str] = (), command: str = "", **params: Any) -> None:
        words = ryuArgs.split() if isinstance(ryuArgs, str) else [word for text in ryuArgs for word in text.split()]
        super().__init__(name, *(word for word in words if not word.startswith("ryu.app.simple_switch")), **params)


class ScriptRemoteController(node.RemoteController):
    """`RemoteController`: a controller that the script itself starts, since the sandbox is isolated."""

    port: int | None

    @override
    def checkListening(self) -> None:
        ports = _PORTS if self.port is None else (self.port,)
        listening = next((port for port in ports if self.isListening(self.ip, port)), None)
        self.port = listening or ports[0]
        if listening is None:
            warn(f"*** {self.name}: no controller listens on {self.ip}:{self.port} yet; {OUTSIDE_HINT}\n")

    @override
    def isListening(self, ip: str, port: int) -> bool:
        listeners = [*entry(self), "ss", "-H", "-tln", f"sport = :{port}"]
        return bool(run(listeners).strip())


class ScriptNAT(nodelib.NAT):
    """`NAT` between networks of the script, not to the outside."""

    def __init__(self, name: str, *args: Any, **params: Any) -> None:
        if not params.get("inNamespace", True):
            raise UsageError(f"{name}: a network address translation to the outside is not possible", OUTSIDE_HINT)
        if shutil.which("iptables") is None:
            raise MissingCapability("a NAT needs iptables, which is not installed", "apt install iptables")
        super().__init__(name, *args, **params)

    @override
    def setManualConfig(self, intf: Any) -> None:
        """Does nothing: Mininet's writes to the machine's /etc/network/interfaces."""


class UnlimitedHost(Host):
    """`CPULimitedHost` without its limit: control groups belong to the machine and would outlive a killed run."""

    _has_warned = False

    def __init__(self, name: str, sched: str = "cfs", **params: Any) -> None:
        super().__init__(name, **params)
        self.sched = sched

    @override
    def config(self, cpu: float = -1, cores: Any = None, **params: Any) -> dict[str, Any]:
        if (cpu > 0 or cores) and not UnlimitedHost._has_warned:
            UnlimitedHost._has_warned = True
            warn("*** CPULimitedHost: processor time is not limited here; hosts get as much as they ask for\n")
        return super().config(**params)

    def setCPUFrac(self, f: float, sched: str | None = None) -> None:
        """Does nothing: see `config`."""

    setCPUs = setCPUFrac
