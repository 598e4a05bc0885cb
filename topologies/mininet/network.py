"""Mininet's network, links and switches as `mn` needs them: without it `--link relay,bw=10` would mean nothing here."""

import inspect
import re
import subprocess
from collections.abc import Mapping, Sequence
from typing import Any

from mininet.link import Link
from mininet.log import output
from mininet.net import Mininet
from mininet.node import Host, Node

from flightpath.commands import run
from flightpath.errors import FlightpathError, MeasurementFailed
from flightpath.waiting import wait_until
from topologies.links.emulated_link import EmulatedLink
from topologies.links.spec import LinkSpec
from topologies.links.texts import LinkText, flag, link_specs, mininet_units
from topologies.sandbox import sandbox
from topologies.sandbox.kernel_settings import entry
from topologies.testbed.controller import FlightpathController
from topologies.testbed.network import EmulatedNetwork
from topologies.testbed.openvswitch import EmulatedSwitch, PrivateOpenVSwitch, choose_datapath
from topologies.web_service import PLANES, WebService

_MININETS_OWN = frozenset(inspect.signature(Link.__init__).parameters) | {"moveIntfFn", "wait"}
_SPECIFICATIONS = ("spec", "a_to_b", "b_to_a")
_IPERF_RATE = re.compile(r"[\d.]+ \w+/sec")
_IPERF_GRACE_S = 30


class SandboxedMininet(EmulatedNetwork):
    """Mininet's network on an Open vSwitch of its own, with links that have a carrier."""

    def __init__(self, *args: Any, **params: Any) -> None:
        if not sandbox.inside():
            raise FlightpathError("this network runs only in a sandbox", "start it with mn --custom topologies/mn.py")
        sandbox.prepare_network()
        self._switching = PrivateOpenVSwitch()
        self._switching.begin()
        # Mininet would raise limits of the whole machine here; a sandbox changes nothing outside.
        Mininet.inited = True
        super().__init__(*args, **params)

    def addController(self, *args: Any, **params: Any) -> Any:  # noqa: N802 - Mininet's hook
        """As Mininet's; the controller is told which network it is for."""
        controller = super().addController(*args, **params)
        if isinstance(controller, FlightpathController):
            controller.describe(self)
            controller.launch()
        return controller

    def addSwitch(self, *args: Any, **params: Any) -> Any:  # noqa: N802 - Mininet's hook
        """As Mininet's; most kinds of switches ask Open vSwitch something at once."""
        self._switching.wait()
        return super().addSwitch(*args, **params)

    def start(self) -> None:
        """As Mininet's; returns when the switches have their rules."""
        self._switching.wait()
        super().start()
        for controller in self.controllers:
            if isinstance(controller, FlightpathController):
                controller.wait_ready()

    def stop(self) -> None:
        """As Mininet's; ends Open vSwitch too."""
        super().stop()
        self._switching.stop()

    def configLinkStatus(self, src: str, dst: str, status: str) -> None:  # noqa: N802 - Mininet's hook
        """As Mininet's; a link that can, cuts or mends its cable, so that both ends see it."""
        links = self.linksBetween(self.get(src), self.get(dst)) if src in self and dst in self else []
        if not links or not all(isinstance(link, EmulatedLink) for link in links):
            super().configLinkStatus(src, dst, status)
            return
        for link in links:
            link.set_carrier(status == "up")

    def iperf(
        self,
        hosts: Sequence[Host] | None = None,
        l4Type: str = "TCP",  # noqa: N803 - Mininet's name
        udpBw: str = "10M",  # noqa: N803 - Mininet's name
        fmt: str | None = None,
        seconds: int = 5,
        port: int = 5001,
    ) -> list[str]:
        """As Mininet's, which waits for ever for a second report that iperf 2.1 does not print.

        Returns:
            The rates as the server and the client saw them; for UDP after the rate that was asked for.

        Raises:
            MeasurementFailed: iperf did not start, or reported no rate.
        """
        client, server = hosts or (self.hosts[0], self.hosts[-1])
        output("*** Iperf: testing", l4Type, "bandwidth between", client, "and", server, "\n")
        is_udp = l4Type == "UDP"
        common = ["-p", str(port), *(["-u"] if is_udp else []), *(["-f", fmt] if fmt else [])]
        serving = subprocess.Popen(
            [*entry(server), "iperf", "-s", "-P", "1", *common],  # -P 1: ends after one connection
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        try:
            listeners = [*entry(server), "ss", "-H", "-uln" if is_udp else "-tln", f"sport = :{port}"]
            wait_until(lambda: bool(run(listeners).strip()), f"iperf to listen on {server}", _IPERF_GRACE_S)
            asking = ["iperf", "-c", server.IP(), "-t", str(seconds), *common, *(["-b", udpBw] if is_udp else [])]
            seen_by_client = run([*entry(client), *asking], timeout_s=seconds + _IPERF_GRACE_S)
            seen_by_server = serving.communicate(timeout=_IPERF_GRACE_S)[0]
        except subprocess.TimeoutExpired as error:
            raise MeasurementFailed(f"iperf on {server} has not ended {_IPERF_GRACE_S} s after its client") from error
        finally:
            serving.kill()
            serving.wait()
        rates = [*([udpBw] if is_udp else []), _last_rate(seen_by_server), _last_rate(seen_by_client)]
        output(f"*** Results: {rates}\n")
        return rates


class AutoSwitch(EmulatedSwitch):
    """`--switch auto`: an Open vSwitch bridge on the kernel's datapath where there is one; `auto,datapath=user`."""

    def __init__(self, name: str, datapath: str = "auto", **params: Any) -> None:
        super().__init__(name, datapath=choose_datapath(datapath), **params)

    def dpctl(self, *args: str) -> str:
        """As Mininet's, in the one version of OpenFlow that these switches speak."""
        return self.cmd("ovs-ofctl", "-O", "OpenFlow13", args[0], self, *args[1:])


class WebServiceForMn(WebService):
    """`--topo web_service`: its links are what `--link` says, or `planes=...;...` (texts, one for both or each)."""

    def build(
        self,
        planes: LinkText | Sequence[LinkText] = None,
        mptcp: bool | int | str = False,
        congestion_control: str | None = None,
    ) -> None:
        """Mininet's hook."""
        specs = link_specs("planes", planes, len(PLANES))
        super().build(planes=specs, mptcp=flag("mptcp", mptcp), congestion_control=congestion_control)


def with_texts(emulator: type[EmulatedLink]) -> type[EmulatedLink]:
    """A link class that also takes the keys of `link_fields`, as `--link relay,bw=10,delay=15ms` hands them over.

    What a topology says of a link goes before what `--link` says, as everywhere in Mininet.
    """

    class TextLink(emulator):
        """A link from texts."""

        def __init__(self, node1: Node, node2: Node, **params: Any) -> None:
            own = {key: params[key] for key in params if key in _MININETS_OWN or key in _SPECIFICATIONS}
            if all(own.get(key) is None for key in _SPECIFICATIONS):
                own["spec"] = spec_from_settings(params)
            super().__init__(node1, node2, **own)

    return TextLink


def spec_from_settings(settings: Mapping[str, Any]) -> LinkSpec:
    """A specification from what `mn` or a topology hands to a link, without Mininet's own parameters.

    Raises:
        UsageError: names the field, the value and the accepted forms.
    """
    ours = {key: value for key, value in settings.items() if key not in _MININETS_OWN and key not in _SPECIFICATIONS}
    return LinkSpec.parse(**mininet_units(ours))


def _last_rate(told: str) -> str:
    rates = _IPERF_RATE.findall(told)
    if not rates:
        raise MeasurementFailed(f"iperf reported no rate: {told.strip()[-500:]}")
    return rates[-1]
