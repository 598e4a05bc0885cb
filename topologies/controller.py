"""The controller as a Mininet node: started with the network's description, ready when every switch has its rules."""

import subprocess
import threading
from pathlib import Path
from typing import Any

from mininet.link import Intf
from mininet.net import Mininet
from mininet.node import Controller

from controllers import network as network_description
from flightpath.commands import end
from flightpath.errors import FlightpathError, MeasurementFailed
from flightpath.launcher import project_python
from flightpath.waiting import wait_until
from topologies.hosts import MultihomedHost
from topologies.sandbox import TEMPORARY

_PROJECT = Path(__file__).parents[1]
_START_LIMIT_S = 30.0


class FlightpathController(Controller):
    """`python -m controllers` in a process of its own, on the sandbox's loopback."""

    def __init__(self, name: str = "c0", **params: Any) -> None:
        self._process: subprocess.Popen[str] | None = None
        self._said: list[str] = []
        self._network: Mininet | None = None
        super().__init__(name, **params)

    def checkListening(self) -> None:  # noqa: N802 - Mininet's hook
        """Nothing else can listen: the sandbox's loopback is its own."""

    def describe(self, network: Mininet) -> None:
        """Gives the network that `start` hands to the controller's process."""
        self._network = network

    def start(self) -> None:
        """Starts the process; it installs rules as the switches connect."""
        if self._network is None:
            raise FlightpathError("the controller has no network: call describe() first")
        description = TEMPORARY / f"{self.name}-network.json"
        description.write_text(describe(self._network).to_json())
        self._log = (TEMPORARY / f"{self.name}.log").open("w")
        self._process = subprocess.Popen(
            [project_python(), "-m", "controllers", "--network", description, "--listen", f"{self.ip}:{self.port}"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
            cwd=_PROJECT,
            start_new_session=True,
        )
        threading.Thread(target=self._listen, args=(self._process,), daemon=True).start()
        # A switch that calls before anybody listens waits a second or more before it calls again.
        self._wait_for("listening on", "the controller to listen")

    def wait_ready(self) -> None:
        """Waits until every switch has confirmed its rules.

        Raises:
            MeasurementFailed: not in time, or the controller ended; with the end of its log.
        """
        for switch in self._network.switches:
            self._wait_for(f"switch {switch.name} ready", f"rules on {switch.name}")

    def check(self) -> None:
        """Raises MeasurementFailed if the process has ended."""
        if self._process is None or self._process.poll() is not None:
            said = (TEMPORARY / f"{self.name}.log").read_text()[-2000:].strip()
            raise MeasurementFailed(f"the controller {self.name} has ended: {said}")

    def stop(self, *args: Any, **kwargs: Any) -> None:
        """Ends the process; the switches go on forwarding by the rules they have."""
        if self._process is not None:
            end(self._process)
            self._log.close()
            self._process = None
        super(Controller, self).stop(*args, **kwargs)

    def _wait_for(self, beginning: str, what: str) -> None:
        wait_until(
            lambda: any(line.startswith(beginning) for line in self._said), what, _START_LIMIT_S, check=self.check
        )

    def _listen(self, process: subprocess.Popen[str]) -> None:
        with process.stdout as lines:
            self._said.extend(iter(lines.readline, ""))


def describe(network: Mininet) -> network_description.Network:
    """A built network as the controller knows it: switches, hosts with addresses, links between switches."""
    switches = set(network.switches)
    interfaces: dict[str, list[network_description.Interface]] = {host.name: [] for host in network.hosts}
    links = []
    for link in network.links:
        a, b = link.intf1, link.intf2
        if a.node in switches and b.node in switches:
            links.append(network_description.Link(_port(a), _port(b)))
        elif b.node in switches and a.node.name in interfaces:
            interfaces[a.node.name].append(_host_interface(a, b))
        elif a.node in switches and b.node.name in interfaces:
            interfaces[b.node.name].append(_host_interface(b, a))
    return network_description.Network(
        switches=tuple(network_description.Switch(switch.name, int(switch.dpid, 16)) for switch in network.switches),
        hosts=tuple(network_description.Host(name, tuple(found)) for name, found in interfaces.items()),
        links=tuple(links),
    )


def _port(interface: Intf) -> network_description.SwitchPort:
    return network_description.SwitchPort(interface.node.name, interface.node.ports[interface])


def _host_interface(interface: Intf, far_end: Intf) -> network_description.Interface:
    host, plugged_into = interface.node, _port(far_end)
    if isinstance(host, MultihomedHost):
        addresses = tuple(str(address.ip) for address in host.addresses.get(host.ports[interface], ()))
    else:
        addresses = (interface.IP(),) if interface.IP() else ()
    return network_description.Interface(
        interface.name, interface.MAC(), addresses, plugged_into.switch, plugged_into.port
    )
