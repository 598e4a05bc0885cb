"""The OpenFlow controller as a Mininet node: a process that reads the network's description and installs rules."""

import contextlib
import subprocess
import threading
from typing import IO, Any

from mininet.link import Intf
from mininet.net import Mininet
from mininet.node import Controller

from controllers.network import description as network_description
from controllers.view.client import View
from flightpath.commands import end, how_ended, run
from flightpath.errors import FlightpathError, MeasurementFailed, UsageError
from flightpath.launcher import python_module
from flightpath.overrides import override
from flightpath.waiting import wait_until
from topologies.hosts.multihomed import MultihomedHost
from topologies.hosts.nodes import LazyShellNode
from topologies.links.emulated_link import EmulatedLink
from topologies.sandbox.sandbox import TEMPORARY

_START_TIMEOUT_S = 30.0


class FlightpathController(LazyShellNode, Controller):
    """`flightpath controller` as a separate process, on the sandbox's loopback interface.

    Args:
        policy: policy that chooses paths for TCP and MPTCP (`controllers.subflows.policies`); empty is the default
            policy. None turns steering off: all traffic is forwarded over shortest paths.
        probe_period: time between two probes of a link, for example `100ms`; `0s` turns probing off.
    """

    def __init__(
        self, name: str = "c0", *, policy: str | None = None, probe_period: str = "100ms", **params: Any
    ) -> None:
        self.policy = policy
        self._probe_period = probe_period
        self._process: subprocess.Popen[str] | None = None
        self._output: list[str] = []
        self._log_path = TEMPORARY / f"{name}.log"
        self._description = TEMPORARY / f"{name}-network.json"
        self._socket = TEMPORARY / f"{name}.sock"
        self._network: Mininet | None = None
        super().__init__(name, **params)

    @override
    def checkListening(self) -> None:
        """Does nothing: in a sandbox, no other program can have taken the port."""

    def launch(self, network: Mininet) -> subprocess.Popen[str]:
        """Starts the process early, so that it loads its libraries while the network is built; returns it."""
        self._network = network
        self._log = self._log_path.open("w")
        self._output.clear()  # from an earlier process
        self._process = subprocess.Popen(
            [
                *python_module("controllers", "--network", str(self._description), "--when-told"),
                *("--listen", f"{self.ip}:{self.port}", *self._steering_options()),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
            start_new_session=True,
        )
        threading.Thread(target=self._collect_output, args=(self._process.stdout,), daemon=True).start()
        return self._process

    @override
    def start(self) -> None:
        """Passes the network's description to the process, which installs rules when switches connect."""
        network = self._launched_network
        process = self._process or self.launch(network)
        self._description.write_text(describe(network).to_json())
        assert process.stdin is not None, "launch() makes a pipe"
        with contextlib.suppress(BrokenPipeError):  # it has ended; `wait_listening` reports why
            process.stdin.close()

    def wait_listening(self) -> None:
        """Waits until switches may connect: one that tries too early retries only after a second or more."""
        self._wait_for("listening on", "the controller to listen")

    def show(self, *options: str) -> str:
        """Returns the output of `flightpath controller show`; raises the errors of `flightpath.commands.run`."""
        url = self.view.where
        return run(python_module("controllers", "show", "--url", url, *options))

    @property
    def view(self) -> View:
        """View of connections, paths and links; raises UsageError if the controller does not steer."""
        if self.policy is None:
            raise UsageError(f"the controller {self.name} does not steer", "give it a policy, for example disjoint")
        return View(f"unix:{self._socket}")

    def wait_ready(self) -> None:
        """Waits until all its switches have confirmed their rules.

        Raises:
            MeasurementFailed: for half a minute no further switch has confirmed its rules.
        """
        for switch in self._launched_network.switches:
            if self in getattr(switch, "controlled_by", [self]):
                self._wait_for(f"switch {switch.name} ready", f"rules on {switch.name}")

    def check(self) -> None:
        """Checks that the process still runs."""
        if self._process is None or self._process.poll() is not None:
            log = self._log_path.read_text()[-2000:].strip()
            if self._process is not None and self._process.returncode == UsageError.exit_code:
                raise UsageError(log.removeprefix("controllers: "))
            how = how_ended(self._process.returncode) if self._process is not None else "does not run"
            raise MeasurementFailed(f"the controller {self.name} {how}; its log ends:\n{log or '(empty)'}")

    @override
    def stop(self, *args: Any, **kwargs: Any) -> None:
        """Ends the process; the switches keep their rules and forward by them."""
        if self._process is not None:
            end(self._process)
            if self._process.stdin is not None:
                self._process.stdin.close()
            self._log.close()
            self._process = None
        super(Controller, self).stop(*args, **kwargs)

    @property
    def _launched_network(self) -> Mininet:
        if self._network is None:
            raise FlightpathError("the controller has no network: call launch() first")
        return self._network

    def _steering_options(self) -> list[str]:
        if self.policy is None:
            return []
        policy = ["--policy", self.policy] if self.policy else ["--policy"]
        return [*policy, "--probe-period", self._probe_period, "--rest", f"unix:{self._socket}"]

    def _wait_for(self, beginning: str, what: str) -> None:
        """Waits until the process prints a line with this beginning; each other line is progress."""

        def is_printed() -> bool:
            return any(line.startswith(beginning) for line in self._output)

        # A short period, because the start of a network waits for it.
        lines = self._output
        wait_until(is_printed, what, _START_TIMEOUT_S, check=self.check, poll_s=0.001, progress=lambda: len(lines))

    def _collect_output(self, stream: IO[str]) -> None:
        with stream:
            self._output.extend(stream)


class SteeringController(FlightpathController):
    """Controller that steers TCP connections and MPTCP subflows: `--controller steering,policy=widest`."""

    def __init__(self, name: str = "c0", *, policy: str = "", **params: Any) -> None:
        super().__init__(name, policy=policy, **params)


def describe(network: Mininet) -> network_description.Network:
    """Describes a built network for the controller: switches, hosts with addresses, links between switches."""
    switches = set(network.switches)
    interfaces: dict[str, list[network_description.Interface]] = {host.name: [] for host in network.hosts}
    links = []
    for link in network.links:
        a, b = link.intf1, link.intf2
        if a.node in switches and b.node in switches:
            rate_bps = delay_us = None  # unknown
            if isinstance(link, EmulatedLink):
                specs = (link.a_to_b, link.b_to_a)
                rate_bps = min((spec.bandwidth_bps for spec in specs if spec.bandwidth_bps is not None), default=None)
                delay_us = round(max(spec.delay_s for spec in specs) * 1e6)
            links.append(network_description.Link(_port(a), _port(b), rate_bps, delay_us))
        elif b.node in switches and a.node.name in interfaces:
            interfaces[a.node.name].append(_host_interface(a, b))
        elif a.node in switches and b.node.name in interfaces:
            interfaces[b.node.name].append(_host_interface(b, a))
    return network_description.Network(
        switches=tuple(network_description.Switch(switch.name, int(switch.dpid, 16)) for switch in network.switches),
        hosts=tuple(network_description.Host(name, tuple(of_host)) for name, of_host in interfaces.items()),
        links=tuple(links),
    )


def _port(interface: Intf) -> network_description.SwitchPort:
    return network_description.SwitchPort(interface.node.name, interface.node.ports[interface])


def _host_interface(interface: Intf, far_end: Intf) -> network_description.Interface:
    host, switch_port = interface.node, _port(far_end)
    if isinstance(host, MultihomedHost):
        addresses = tuple(str(address.ip) for address in host.addresses.get(host.ports[interface], ()))
    else:
        addresses = (interface.IP(),) if interface.IP() else ()
    return network_description.Interface(
        interface.name, interface.MAC(), addresses, switch_port.switch, switch_port.port
    )
