"""The testbed: a network with its switches and controller, started, checked and stopped as a unit."""

import contextlib
import math
import os
import re
import resource
import statistics
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Self

from mininet.node import Host, Node
from mininet.topo import Topo

from controllers.network.description import Network
from controllers.openflow.rules import output_ports
from controllers.subflows.policies import policy_named
from flightpath.clock import Clock, clock_here, ticks_hz
from flightpath.commands import CommandFailed
from flightpath.errors import FlightpathError, MeasurementFailed, UsageError
from topologies.calibration.links import calibrate
from topologies.calibration.records import JITTERS, Calibration, PathCalibration
from topologies.hosts.multihomed import MultihomedHost
from topologies.links.emulated_link import EmulatedLink
from topologies.links.emulators import EMULATORS, LinkFactory, choose_emulator, link_class, specs_of
from topologies.links.spec import LinkSpec
from topologies.testbed.controller import FlightpathController, describe
from topologies.testbed.network import EmulatedNetwork
from topologies.testbed.openvswitch import EmulatedSwitch, choose_datapath

_PING_BYTES = 98  # as ping(8) makes it, with all headers
_CALIBRATION_PINGS, _PING_LIMIT_S = 10, 5
# ping waits for up to 10 ms in a busy loop, which would stop a virtual clock.
_PING_PAUSE_S = {Clock.REAL: "0.01", Clock.VIRTUAL: "0.4"}
_PING_RTTS = re.compile(r"time=([0-9.]+) ms")


class Testbed:
    """A context manager over `mininet.net.Mininet`, inside a sandbox.

    Args:
        topology: topology of MultihomedHosts; its links need no class, since the emulator determines it.
        datapath: datapath of the switches: `auto`, `kernel` or `user`.
        emulator: emulator of the links: `relay`, `netem`, or `auto`, the first of them that works here. With `auto`, a
            link that emulates nothing is a bare veth pair (`VethLink`), which cannot be changed.
        policy: policy that chooses paths for TCP and MPTCP (`controllers.subflows.policies`); None forwards all traffic
            over shortest paths.

    Attributes:
        controller: only of a network with switches. Without them neither it nor Open vSwitch is started.
    """

    __test__ = False  # pytest would collect a class named Test…

    def __init__(
        self, topology: Topo, *, datapath: str = "auto", emulator: str = "auto", policy: str | None = None
    ) -> None:
        if emulator not in EMULATORS:
            raise UsageError(f"emulator: {emulator!r} is unknown", f"choose one of {', '.join(EMULATORS)}")
        self._topology = topology
        self._requested_datapath = datapath
        self._requested_emulator = emulator
        self._policy = policy_named(policy).name if policy is not None else None
        self._stack = contextlib.ExitStack()
        self.datapath = datapath
        self.emulator = emulator
        self.net: EmulatedNetwork
        self.controller: FlightpathController

    def __enter__(self) -> Self:
        with contextlib.ExitStack() as stack:
            self._start(stack)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def host(self, name: str) -> MultihomedHost:
        """Returns a host by its name; a UsageError lists the hosts if there is none."""
        names = [host.name for host in self.net.hosts]
        if name not in names:
            raise UsageError(f"there is no host {name!r} in this network", f"hosts: {', '.join(names)}")
        return self.net[name]

    @property
    def links(self) -> list[EmulatedLink]:
        return self.net.links

    def link(self, host: str, port: int) -> EmulatedLink:
        """Returns the link at an interface of a host, which is the end `a` of a link to a switch."""
        return self.host(host).intfs[port].link

    def check(self) -> None:
        """Raises an error if a component of the testbed has ended, which makes a measurement invalid."""
        self.net.openvswitch.check()
        for controller in self.net.controllers:
            controller.check()
        for link in self.links:
            link.check()

    @contextlib.contextmanager
    def reporting_component_failure(self) -> Iterator[None]:
        """Replaces an error raised in the block by one that names the component of the testbed that has ended, if any.

        Raises:
            MeasurementFailed: a component has ended.
        """
        try:
            yield
        except FlightpathError:
            self.check()
            raise

    def calibrate(self) -> Calibration:
        """Measures each link separately and pings over paths; then resets the links' lateness statistics.

        The paths form a ring of all hosts but routers: they lead from each to the next, over every interface that both
        have. So they cross every link of every host, and there are only as many paths as interfaces.

        Raises:
            MeasurementFailed: a link or a path does not carry packets.
        """
        hosts = [host for host in self.net.hosts if not host.forwards]
        ring = zip(hosts, hosts[1:] + hosts[:1], strict=True) if len(hosts) > 2 else [tuple(hosts)]
        pairs = [pair for pair in ring if len(pair) == 2]
        description = describe(self.net)
        both = [(a, b, port) for a, b in pairs for port in a.addresses if port in b.addresses]
        paths = [self._calibrate_path(description, *path) for path in both]
        links = [direction for link in self.links for direction in calibrate(link)]
        for link in self.links:
            link.reset()
        return Calibration(tuple(links), tuple(paths))

    def round_trip_s(self, a: MultihomedHost, b: MultihomedHost, port: int) -> float:
        """Returns the delay of the path from `a` to interface `port` of `b` and back; 0 if there is no path."""
        back = port if port in a.addresses else min(a.addresses, default=port)
        if not (back in a.addresses and port in b.addresses):
            return 0.0
        description = describe(self.net)
        try:
            there_and_back = [*_specs_between(description, a, b, port), *_specs_between(description, b, a, back)]
        except FlightpathError:
            return 0.0
        return sum(spec.delay_s for spec in there_and_back)

    def description(self) -> Mapping[str, Any]:
        """Describes the testbed for the certificate: emulator, datapath, kernel, clock, links."""
        return {
            "emulator": self.emulator,
            "datapath": self.datapath,
            "kernel": os.uname().release,
            "ticks_hz": ticks_hz(),
            "machine": "here",
            "clock": str(clock_here()),
            "links": {
                link.name: {"emulator": link.emulator, "a_to_b": str(link.a_to_b), "b_to_a": str(link.b_to_a)}
                for link in self.links
            },
        }

    def _start(self, stack: contextlib.ExitStack) -> None:
        # Daemons inherit the limit on open files: thousands of connections need as many descriptors.
        _soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        has_switches = bool(self._topology.switches())
        # Open vSwitch and the controller's libraries take longest to start, so they start first, in the background.
        self.net = EmulatedNetwork(
            switch=EmulatedSwitch, host=MultihomedHost, controller=None, build=False, openvswitch=has_switches
        )
        stack.callback(self._stop)
        if has_switches:
            self.controller = self.net.addController(FlightpathController("c0", policy=self._policy))
        with ThreadPoolExecutor(1) as background:
            datapath = background.submit(choose_datapath, self._requested_datapath) if has_switches else None
            self.emulator = choose_emulator(self._requested_emulator, specs_of(self._topology))
            emulated = link_class(self.emulator)
            self.net.link = LinkFactory(emulated) if self._requested_emulator == "auto" else emulated
            self.net.topo = self._topology
            self.net.build()
            self.datapath = datapath.result() if datapath else "none"
        for switch in self.net.switches:
            switch.datapath = self.datapath
        self.net.start()

    def _stop(self) -> None:
        with contextlib.suppress(OSError):
            self.net.stop()

    def _calibrate_path(self, description: Network, a: MultihomedHost, b: MultihomedHost, port: int) -> PathCalibration:
        specs = [*_specs_between(description, a, b, port), *_specs_between(description, b, a, port)]
        rtts: list[float] = []
        delay_s = sum(spec.delay_s for spec in specs)
        limit_s = _PING_LIMIT_S + math.ceil(2 * delay_s if delay_s > 1 else 0)
        ping = ["ping", "-n", "-w", str(limit_s), "-I", a.address(port), b.address(port)]
        # ping goes on until it has so many answers, so over a long path the next request is sent after an answer only.
        count, pause_s = (_CALIBRATION_PINGS, _PING_PAUSE_S[clock_here()]) if delay_s < 1 else (1, f"{limit_s}")
        with contextlib.suppress(CommandFailed):
            if delay_s < 1:
                a.run([*ping, "-c", "1"])  # resolves the MAC addresses, so that the pings below need not wait
            output = a.run([*ping, "-c", str(count), "-i", pause_s], timeout_s=60 + limit_s)
            rtts = [float(text) for text in _PING_RTTS.findall(output)]
        if not rtts:
            raise MeasurementFailed(f"no packet passes between {a.name} and {b.name} on interface {port}")
        return PathCalibration(
            a.name,
            b.name,
            port,
            statistics.median(rtts),
            expected_rtt_ms=sum(spec.delay_s + spec.serialisation_s(_PING_BYTES) for spec in specs) * 1e3,
            rtt_uncertainty_ms=sum(JITTERS * spec.jitter_s for spec in specs) * 1e3 + _ping_rounding_ms(rtts),
            is_judged=all(spec.trace is None for spec in specs),
        )


def _ping_rounding_ms(rtts_ms: Sequence[float]) -> float:
    """Returns the largest error of times that ping(8) printed: it prints whole milliseconds from 100 ms on."""
    return 0.5 if max(rtts_ms) >= 100 else 0.05


def _specs_between(description: Network, source: Host, target: Host, port: int) -> list[LinkSpec]:
    """Returns the specifications, each in its direction, of the links between two hosts' interfaces of one number.

    The switches must follow the controller's rules, and hosts and routers their own routes.
    """
    switches = {switch.name: switch for switch in description.switches}
    owners = {address: interface for interface in description.interfaces for address in interface.addresses}
    address = target.address(port)
    specs: list[LinkSpec] = []
    hop, node = source.next_hop(address, port), source
    visited: set[Node] = set()
    while hop is not None and node not in visited:
        visited.add(node)
        out_port, gateway = hop
        interface = node.intfs[out_port]
        link = interface.link
        spec, there = (link.a_to_b, link.intf2) if interface is link.intf1 else (link.b_to_a, link.intf1)
        specs.append(spec)
        if there.node is target:
            return specs
        node = there.node
        if node.name not in switches:
            hop = node.next_hop(address)
            continue
        ports = output_ports(description, switches[node.name])
        owner = owners.get(gateway)
        hop = (ports[owner], gateway) if owner is not None and owner in ports else None
    raise FlightpathError(f"there is no path from {source.name} to {target.name} on interface {port}")
