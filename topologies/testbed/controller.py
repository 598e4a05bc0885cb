"""The controller as a Mininet node: started with the network's description, ready when every switch has its rules."""

import contextlib
import subprocess
import threading
from pathlib import Path
from typing import Any

from mininet.link import Intf, Link
from mininet.net import Mininet
from mininet.node import Controller

from controllers.network import description as network_description
from controllers.view.client import View
from flightpath.commands import end, run
from flightpath.errors import FlightpathError, MeasurementFailed, UsageError
from flightpath.launcher import project_python
from flightpath.project import PROJECT
from flightpath.waiting import wait_until
from topologies.hosts.multihomed import MultihomedHost
from topologies.hosts.nodes import QuietNode
from topologies.links.emulated_link import EmulatedLink
from topologies.sandbox.sandbox import TEMPORARY

_START_LIMIT_S = 30.0


class FlightpathController(QuietNode, Controller):
    """`python -m controllers` in a process of its own, on the sandbox's loopback.

    Args:
        name: the node's.
        policy: how paths are chosen for TCP and MPTCP, see `subflows.policies`; empty: as usual; None: not at all.
        probe_period: between two probes of a link, as `100ms`; `0s` sends none.
    """

    def __init__(
        self, name: str = "c0", *, policy: str | None = None, probe_period: str = "100ms", **params: Any
    ) -> None:
        self.policy = policy
        self._probe_period = probe_period
        self._process: subprocess.Popen[str] | None = None
        self._said: list[str] = []
        self._network: Mininet | None = None
        super().__init__(name, **params)

    def checkListening(self) -> None:  # noqa: N802 - Mininet's hook
        """Nothing else can listen: the sandbox's loopback is its own."""

    def describe(self, network: Mininet) -> None:
        """Gives the network that `start` hands to the controller's process."""
        self._network = network

    def launch(self) -> None:
        """Starts the process, which loads its libraries while the network is made: it takes as long as all else."""
        self._log = (TEMPORARY / f"{self.name}.log").open("w")
        self._said.clear()  # of a process before this one
        self._process = subprocess.Popen(
            [
                *(project_python(), "-m", "controllers", "--network", self._description, "--when-told"),
                *("--listen", f"{self.ip}:{self.port}", *self._steering_options()),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
            cwd=PROJECT,
            start_new_session=True,
        )
        threading.Thread(target=self._listen, args=(self._process,), daemon=True).start()

    def start(self) -> None:
        """Tells the process of the network; it installs rules as the switches connect."""
        if self._network is None:
            raise FlightpathError("the controller has no network: call describe() first")
        if self._process is None:
            self.launch()
        self._description.write_text(describe(self._network).to_json())
        with contextlib.suppress(BrokenPipeError):  # it has ended: `wait_listening` tells why
            self._process.stdin.close()

    def wait_listening(self) -> None:
        """Waits until switches may call: one that calls too early waits a second or more before it calls again.

        Raises:
            MeasurementFailed: not in time, or the controller ended; with the end of its log.
        """
        self._wait_for("listening on", "the controller to listen")

    def show(self, *options: str) -> str:
        """What `python -m controllers show` prints of this controller; errors as `flightpath.commands.run`."""
        url = self.view.where
        return run([project_python(), "-m", "controllers", "show", "--url", url, *options], cwd=PROJECT)

    @property
    def view(self) -> View:
        """What the controller knows of connections, paths and links.

        Raises:
            UsageError: it does not steer.
        """
        if self.policy is None:
            raise UsageError(f"the controller {self.name} does not steer", "give it a policy, for example disjoint")
        return View(f"unix:{self._socket}")

    def wait_ready(self) -> None:
        """Waits until every switch has confirmed its rules.

        Raises:
            MeasurementFailed: not in time, or the controller ended; with the end of its log.
        """
        for switch in self._network.switches:
            self._wait_for(f"switch {switch.name} ready", f"rules on {switch.name}")

    def check(self) -> None:
        """Raises MeasurementFailed if the process has ended, UsageError if it could not use what it was given."""
        if self._process is None or self._process.poll() is not None:
            said = (TEMPORARY / f"{self.name}.log").read_text()[-2000:].strip()
            if self._process is not None and self._process.returncode == UsageError.exit_code:
                raise UsageError(said.removeprefix("controllers: "))
            raise MeasurementFailed(f"the controller {self.name} has ended: {said}")

    def stop(self, *args: Any, **kwargs: Any) -> None:
        """Ends the process; the switches go on forwarding by the rules they have."""
        if self._process is not None:
            end(self._process)
            self._process.stdin.close()
            self._log.close()
            self._process = None
        super(Controller, self).stop(*args, **kwargs)

    @property
    def _description(self) -> Path:
        return TEMPORARY / f"{self.name}-network.json"

    @property
    def _socket(self) -> Path:
        return TEMPORARY / f"{self.name}.sock"

    def _steering_options(self) -> list[str]:
        if self.policy is None:
            return []
        policy = ["--policy", self.policy] if self.policy else ["--policy"]
        return [*policy, "--probe-period", self._probe_period, "--rest", f"unix:{self._socket}"]

    def _wait_for(self, beginning: str, what: str) -> None:
        wait_until(
            lambda: any(line.startswith(beginning) for line in self._said),
            what,
            _START_LIMIT_S,
            check=self.check,
            poll_s=0.001,  # the start of a network waits for it
        )

    def _listen(self, process: subprocess.Popen[str]) -> None:
        with process.stdout as lines:
            self._said.extend(iter(lines.readline, ""))


class SteeringController(FlightpathController):
    """The same, steering: `--controller steering,policy=widest`."""

    def __init__(self, name: str = "c0", *, policy: str = "", **params: Any) -> None:
        super().__init__(name, policy=policy, **params)


def describe(network: Mininet) -> network_description.Network:
    """A built network as the controller knows it: switches, hosts with addresses, links between switches."""
    switches = set(network.switches)
    interfaces: dict[str, list[network_description.Interface]] = {host.name: [] for host in network.hosts}
    links = []
    for link in network.links:
        a, b = link.intf1, link.intf2
        if a.node in switches and b.node in switches:
            links.append(network_description.Link(_port(a), _port(b), *_properties(link)))
        elif b.node in switches and a.node.name in interfaces:
            interfaces[a.node.name].append(_host_interface(a, b))
        elif a.node in switches and b.node.name in interfaces:
            interfaces[b.node.name].append(_host_interface(b, a))
    return network_description.Network(
        switches=tuple(network_description.Switch(switch.name, int(switch.dpid, 16)) for switch in network.switches),
        hosts=tuple(network_description.Host(name, tuple(found)) for name, found in interfaces.items()),
        links=tuple(links),
    )


def _properties(link: Link) -> tuple[int | None, int | None]:
    """Capacity (bits per second) and delay (us) of a link, as far as they are known."""
    if not isinstance(link, EmulatedLink):
        return None, None
    rates = [spec.bandwidth_bps for spec in (link.a_to_b, link.b_to_a) if spec.bandwidth_bps is not None]
    return min(rates, default=None), round(max(link.a_to_b.delay_s, link.b_to_a.delay_s) * 1e6)


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
