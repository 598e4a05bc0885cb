"""The network of `mn` and of scripts for Mininet, and links from texts of `mn`."""

import inspect
import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from typing import Any

from mininet.link import Intf, Link
from mininet.log import error, output, warn
from mininet.node import Host, Node
from mininet.topo import Topo

from flightpath.commands import run
from flightpath.errors import MeasurementFailed, UsageError
from flightpath.overrides import override
from flightpath.waiting import wait_until
from topologies.links.emulated_link import EmulatedLink
from topologies.links.spec import LinkSpec
from topologies.links.texts import mininet_units
from topologies.mininet import congestion_control
from topologies.mininet.certificates import CERTIFIER
from topologies.mininet.live import LIVE
from topologies.mininet.scripts.nodes import NO_CPU_LIMIT_HINT, ScriptController, ScriptSwitch
from topologies.mininet.scripts.tc_options import take_shape
from topologies.sandbox.kernel_settings import entry
from topologies.testbed.network import EmulatedNetwork
from topologies.testbed.openvswitch import PrivateOpenVSwitch

_MININETS_OWN = frozenset(inspect.signature(Link.__init__).parameters) | {"moveIntfFn", "wait"}
_SPECIFICATIONS = ("spec", "a_to_b", "b_to_a")
_IPERF_RATE = re.compile(r"[\d.]+ \w+/sec")
_IPERF_GRACE_S = 30
_CONNECT_TIMEOUT_S = 30
_NO_WINDOW_HINT = "run the command here: `h1 COMMAND`, or `h1 COMMAND > FILE &` to continue meanwhile"
_TERMINALS = {"xterm": "xterm", "gterm": "gnome-terminal"}


class SharedOpenVSwitch(PrivateOpenVSwitch):
    """The sandbox's Open vSwitch, shared by all its networks and their `ovs-vsctl`; it ends with the sandbox."""

    is_own = False

    @override
    def start(self) -> None:
        if self._start_up is None:
            super().start()

    @override
    def stop(self) -> None:
        """Does nothing: another network may use it."""


OPENVSWITCH = SharedOpenVSwitch()


class InteractiveNetwork(EmulatedNetwork):
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
        OPENVSWITCH.start()
        return OPENVSWITCH

    @override
    def start(self) -> None:
        super().start()
        CERTIFIER.watch(self)
        LIVE.watch(self)

    @override
    def stop(self) -> None:
        LIVE.leave(self)
        CERTIFIER.leave(self)
        super().stop()

    @override
    def addHost(self, name: str, cls: type[Host] | None = None, **params: Any) -> Host:
        host = super().addHost(name, cls, **params)
        congestion_control.pass_on(host)
        return host

    @override
    def addLink(self, node1: Any, node2: Any, *args: Any, **params: Any) -> Any:
        link = super().addLink(node1, node2, *args, **params)
        if type(link) is Link and type(link.intf1) is Intf and (shape := take_shape(dict(params))):
            warn(f"*** {link}: {', '.join(shape)} have no effect without link=TCLink, as in Mininet\n")
        return link

    @override
    def runCpuLimitTest(self, cpu: float, duration: int = 5) -> list[float]:
        raise UsageError("processor time is not limited here, so there is no limit to test", NO_CPU_LIMIT_HINT)

    @override
    def waitConnected(self, timeout: float | bool | None = None, delay: float = 0.5) -> bool:
        if not (timeout is None or timeout is True):
            return super().waitConnected(timeout, delay)
        waiting = [switch.name for switch in self.switches if not self.controllers and not switch.connected()]
        if waiting:
            raise UsageError(
                f"{', '.join(waiting)}: there is no controller to wait for, and without one no packet passes",
                "choose --controller flightpath, or leave --test and --wait out and set rules with dpctl",
            )
        if not super().waitConnected(_CONNECT_TIMEOUT_S, delay):
            raise MeasurementFailed(
                f"after {_CONNECT_TIMEOUT_S} s there are switches without a connection to their controller",
                "your controller must listen inside the sandbox, which has no way to the outside",
            )
        return True

    @override
    def startTerms(self) -> None:
        try:
            require_display("xterm")
        except UsageError as problem:
            error(f"*** No terminals: {problem}\n")
        else:
            super().startTerms()

    @override
    def addNAT(self, name: str = "nat0", connect: Any = True, inNamespace: bool = False, **params: Any) -> Node:
        if not inNamespace:
            raise UsageError(
                f"{name}: there is no way from the network to the internet, and so no NAT",
                "start the servers that you need in a host: `h1 python3 -m http.server 80 &`",
            )
        return super().addNAT(name, connect, inNamespace, **params)

    @override
    def configLinkStatus(self, src: str, dst: str, status: str) -> None:
        links = self.linksBetween(self.get(src), self.get(dst)) if src in self and dst in self else []
        if not links or not all(isinstance(link, EmulatedLink) for link in links):
            super().configLinkStatus(src, dst, status)
            return
        for link in links:
            link.set_carrier(status == "up")  # unlike after `ifconfig down`, both ends notice

    @override
    def iperf(
        self,
        hosts: Sequence[Host] | None = None,
        l4Type: str = "TCP",
        udpBw: str = "10M",
        fmt: str | None = None,
        seconds: int = 5,
        port: int = 5001,
    ) -> list[str]:
        """Measures a rate with iperf (Mininet's own method waits forever for a report that iperf 2.1 does not print).

        Returns the rates reported by server and client, for UDP after the requested rate.
        """
        client, server = hosts or (self.hosts[0], self.hosts[-1])
        output("*** Iperf: testing", l4Type, "bandwidth between", client, "and", server, "\n")
        is_udp = l4Type == "UDP"
        common = ["-p", str(port), *(["-u"] if is_udp else []), *(["-f", fmt] if fmt else [])]
        server_process = subprocess.Popen(
            [*entry(server), "iperf", "-s", "-P", "1", *common],  # -P 1: ends after one connection
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        try:
            listeners = [*entry(server), "ss", "-H", "-uln" if is_udp else "-tln", f"sport = :{port}"]
            wait_until(lambda: bool(run(listeners).strip()), f"iperf to listen on {server}", _IPERF_GRACE_S)
            client_argv = [
                "iperf",
                "-c",
                server.IP(),
                "-t",
                str(seconds),
                *common,
                *(["-b", udpBw] if is_udp else []),
            ]
            client_report = run([*entry(client), *client_argv], timeout_s=seconds + _IPERF_GRACE_S)
            server_report = server_process.communicate(timeout=_IPERF_GRACE_S)[0]
        except subprocess.TimeoutExpired as error:
            raise MeasurementFailed(f"iperf on {server} still runs {_IPERF_GRACE_S} s after its client") from error
        finally:
            server_process.kill()
            server_process.wait()
        rates = [*([udpBw] if is_udp else []), _last_rate(server_report), _last_rate(client_report)]
        output(f"*** Results: {rates}\n")
        return rates


class _TextLink(EmulatedLink):
    """A link that also takes texts as `mn` passes them, for example from `--link relay,bw=10,delay=15ms`.

    As everywhere in Mininet, a topology's settings of a link override `--link`.
    """

    def __init__(self, node1: Node, node2: Node, **params: Any) -> None:
        own = {key: params[key] for key in params if key in _MININETS_OWN or key in _SPECIFICATIONS}
        if all(own.get(key) is None for key in _SPECIFICATIONS):
            own["spec"] = spec_from_settings(params)
        super().__init__(node1, node2, **own)


def link_class_for_mn(emulator: type[EmulatedLink]) -> type[EmulatedLink]:
    """Returns an emulator's link class that also takes texts as `mn` passes them."""
    return type("TextLink", (_TextLink, emulator), {})


def spec_from_settings(settings: Mapping[str, Any]) -> LinkSpec:
    """Returns the specification in the parameters of a link from `mn` or a topology, besides Mininet's own."""
    ours = {key: value for key, value in settings.items() if key not in _MININETS_OWN and key not in _SPECIFICATIONS}
    return LinkSpec.parse(**mininet_units(ours))


def require_display(terminal: str = "") -> None:
    """Checks that a window can be opened, and that the terminal (by Mininet's name) is installed."""
    display = os.environ.get("DISPLAY", "")
    if not display:
        raise UsageError("there is no display for windows (DISPLAY is not set)", _NO_WINDOW_HINT)
    if display.partition(":")[0] not in ("", "unix"):
        raise UsageError(f"the display {display} is another machine's, which a sandbox cannot reach", _NO_WINDOW_HINT)
    program = _TERMINALS.get(terminal)
    if program and shutil.which(program) is None:
        raise UsageError(f"{program} is not installed", f"install it, or {_NO_WINDOW_HINT}")


def _last_rate(report: str) -> str:
    rates = _IPERF_RATE.findall(report)
    if not rates:
        raise MeasurementFailed(f"iperf reported no rate: {report.strip()[-500:]}")
    return rates[-1]
