"""An emulated network for notebooks and scripts. It lives in a process of its own; the user's stays as it is."""

import contextlib
import dataclasses
import signal
import subprocess
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Self

import pandas as pd

from flightpath.clock import Clock
from flightpath.commands import CommandFailed, how_ended
from flightpath.errors import FlightpathError, UsageError
from flightpath.launcher import require_mininet
from flightpath.overrides import override
from flightpath.suggestions import did_you_mean
from flightpath.units import parse_duration
from probes.preflight import TransferSpec
from probes.transfers.iperf3 import Iperf3
from python_api.channels import GuestChannel, ProcessChannel
from python_api.connection import NetworkProcess, Setup
from python_api.frames import links_frame
from results.records import Certificate, Measurement

if TYPE_CHECKING:
    from mininet.topo import Topo


class Network:
    """A network of hosts, switches and links, which exists inside the block, or from `start` to `stop`.

        with flightpath.Network("dtn_pair", link="bw=50 delay=5ms loss=0.1%") as net:
            print(net.ping("dtn1", "dtn2").metrics["rtt"])
            print(net.run("dtn1", ["ip", "route"]).stdout)

    It needs root, or a user who may create namespaces. Whatever ends the block or this process, even `kill -9` or the
    death of a notebook's kernel, ends the network with all that runs in it. Ctrl-C during a call ends the network too.
    Calls of several threads wait for each other.

    Args:
        topology: a network's name (`flightpath mn --help` lists them), a topology of Mininet's (`mininet.topo.Topo`),
            or its class. Hosts of other classes than ours get an address as in Mininet; links understand
            the options of Mininet's `TCLink` and those of docs/links.md.
        emulator: emulator of the links: `relay`, `netem`, or `auto`, the first of them that works here.
        datapath: datapath of the switches: `auto`, `kernel` or `user`.
        policy: the controller's policy for paths of TCP and MPTCP (docs/steering.md); None: the shortest.
        congestion_control: algorithm of all hosts for which the topology names none; programs cannot choose another.
            None leaves the choice to the programs and this machine.
        clock: `virtual`: the network lives in a virtual-time kernel, whose clock stands still while programs compute
            and between two calls. Figures then do not depend on this machine; nobody needs to be root.
        seed: seed of all random numbers in virtual time: the same calls then give the same figures, to the last bit.
        **options: options of the topology, if it is a name or a class.

    Raises:
        UsageError: there is no such network or option, or a value is invalid.
        MissingCapability: Mininet is not installed.
    """

    def __init__(
        self,
        topology: "str | Topo | type[Topo]",
        *,
        emulator: Literal["auto", "relay", "netem"] = "auto",
        datapath: Literal["auto", "kernel", "user"] = "auto",
        policy: str | None = None,
        congestion_control: str | None = "cubic",
        clock: Literal["real", "virtual"] = "real",
        seed: int = 1,
        **options: Any,
    ) -> None:
        if clock not in list(Clock):
            raise UsageError(f"clock: {clock!r} is no clock", f"choose {' or '.join(map(repr, map(str, Clock)))}")
        require_mininet()
        from topologies.mininet.user_topology import prepared  # with Mininet

        self._setup = Setup(prepared(topology, options, congestion_control), emulator, datapath, policy)
        self._clock, self._seed = Clock(clock), seed
        self._process: NetworkProcess | None = None
        self._addresses: Mapping[str, Sequence[str]] = {}

    # --- start and stop ---

    def start(self) -> Self:
        """Starts the network; `stop` must follow, which a `with` block does by itself.

        Raises:
            MissingCapability: this machine lacks something; the message says what.
            UsageError: an option is invalid.
        """
        if self._running():
            raise UsageError("the network has been started already")
        channel = ProcessChannel() if self._clock is Clock.REAL else GuestChannel(self._seed)
        self._process = NetworkProcess(self._setup, channel)
        self._addresses = self._process.addresses
        return self

    def stop(self) -> None:
        """Ends the network and all that runs in it; does nothing if it has ended already."""
        if process := self._running():
            process.stop()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    @override
    def __repr__(self) -> str:
        if not self._running():
            return "<Network: not running>"
        info = self._setup.topology.nodeInfo
        algorithms = {info(host)["congestion_control"] or "this machine's own" for host in self.hosts}
        return f"<Network: hosts {', '.join(self.hosts)}; congestion control {', '.join(sorted(algorithms))}>"

    # --- hosts and links ---

    @property
    def hosts(self) -> list[str]:
        """Names of the hosts."""
        return self._setup.topology.hosts()

    def address(self, host: str, family: Literal[4, 6] = 4, port: int = 0) -> str:
        """Returns a host's address, without its prefix length; `port` counts its interfaces with one, from 0."""
        self._require_host(host)
        addresses = [text for text in self._addresses.get(host, ()) if (":" in text) == (family == 6)]
        if port >= len(addresses):
            raise UsageError(
                f"{host} has no such address", f"its addresses: {', '.join(self._addresses.get(host, ()))}"
            )
        return addresses[port]

    @property
    def links(self) -> pd.DataFrame:
        """A row for each direction of each link, as it is now: see `python_api.frames.links_frame`."""
        return links_frame(self._call("links"))

    # --- programs ---

    def run(
        self,
        host: str,
        argv: Sequence[str],
        *,
        input: str | None = None,
        timeout: float = 60,
        check: bool = False,
    ) -> subprocess.CompletedProcess[str]:
        """Runs a program in a host to its end, as `subprocess.run` does.

        Args:
            host: name of the host.
            argv: program and arguments, as a list.
            input: text for the program's standard input.
            timeout: time limit in seconds, after which it is killed.
            check: whether another exit code than 0 is an error.

        Raises:
            UsageError: there is no such host.
            MeasurementFailed: it had to be killed.
            CommandFailed: `check`, and its exit code is not 0.
        """
        words = _words(argv)
        done = _completed(words, self._call("run", host=host, argv=words, stdin=input, timeout=timeout))
        if check and done.returncode:
            problem = (done.stderr.strip() or done.stdout.strip())[-2000:]
            raise CommandFailed(f"{host}: {' '.join(words)} {how_ended(done.returncode)}: {problem}")
        return done

    def popen(self, host: str, argv: Sequence[str]) -> "Program":
        """Starts a program in a host, which runs until it ends, is stopped, or the network ends."""
        words = _words(argv)
        return Program(self, self._call("start", host=host, argv=words), words)

    def step(self, time: str) -> None:
        """Lets the clock of a network in virtual time go on, and with it the programs that `popen` has started.

        Args:
            time: how long, for example `10ms`.

        Raises:
            UsageError: the network is on the real clock, which goes on by itself.
        """
        self._require_virtual("step")
        parse_duration(time, "step")
        self._call("step", time=time)

    def stop_at(self, when: str, *, limit: str = "60s") -> float:
        """Lets the clock of a network in virtual time go on to a moment or an event, and stops it there.

        Args:
            when: a moment, as `3.2s` after the links were calibrated for the first program, or the next event:
                `retransmission`, `subflow joined`, `link down`, `link up`, `queue h1-s1 > 90%` (`h1->s1` for one
                direction). The clock stands still at most 0.1 ms after it, for a queue 1 ms.
            limit: how long to wait for an event, in virtual time.

        Returns:
            Seconds after the links were calibrated.

        Raises:
            UsageError: there is no such event, the moment is over, or the network is on the real clock.
            MeasurementFailed: the event has not happened within the limit.
        """
        self._require_virtual("stop_at")
        return float(self._call("stop_at", when=when, limit=parse_duration(limit, "limit")))

    # --- measurements ---

    def ping(self, source: str, target: str, *, count: int = 5, interval: float = 0.2, port: int = 0) -> Measurement:
        """Pings one host from another.

        Args:
            source, target: hosts.
            count: number of requests.
            interval: seconds between two requests.
            port: port of the target's interface.

        Returns:
            Metrics `rtt` and `rtt_min` (ms) and `lost` (%); series `rtt` (ms).

        Raises:
            MeasurementFailed: none was answered.
        """
        return self._call("ping", source=source, target=target, count=count, interval=interval, port=port)

    def iperf(self, source: str, target: str, *, seconds: float = 2, port: int = 0, **options: Any) -> Measurement:
        """Fills the path from one host to another for some seconds with iperf3, after a warm-up of a second.

        Args:
            source, target: hosts.
            seconds: measured time.
            port: port of the target's interface.
            **options: fields of `probes.transfers.iperf3.Iperf3`: `streams=4`, `mptcp=True`, `udp_bps=10_000_000`, …

        Returns:
            Metrics `goodput` (bit/s), `retransmissions` (1), `rtt` (ms) and more; series `goodput` (bit/s).

        Raises:
            UsageError: there is no such option.
            MeasurementFailed: nothing got through.
        """
        given = {"seconds": seconds, **options}
        _check_options("iperf", given, Iperf3)
        return self._call("iperf", source=source, target=target, port=port, options=given)

    def transfer(self, source: str, target: str, *, size: str = "50MB", port: int = 0, **options: Any) -> Measurement:
        """Transfers a file from one host to another by SFTP, with a real server.

        Args:
            source, target: hosts.
            size: size of the file, for example `50MB` or `1GiB`.
            port: port of the source's interface.
            **options: fields of `probes.preflight.TransferSpec`: `streams=4`, `mptcp=True`, …

        Returns:
            Metrics `goodput` (bit/s), `download` (s), `connect`, `first_byte` and `rtt` (ms), `cpu_client` (% of a
            core); series `goodput` (bit/s).

        Raises:
            UsageError: the size is invalid, or there is no such option.
            MeasurementFailed: the transfer failed.
        """
        _check_options("transfer", options, TransferSpec)
        return self._call("transfer", source=source, target=target, size=size, port=port, options=options)

    def certificate(self) -> Certificate:
        """Certifies links and machine since the last certificate or the start: a verdict, its reasons, and the facts.

        The next measurement calibrates the links again; no program should send anything meanwhile.
        """
        return self._call("certificate")

    # --- internals ---

    def _require_virtual(self, call: str) -> None:
        if self._clock is Clock.REAL:
            raise UsageError(f"{call}: the real clock cannot be stopped", 'use Network(…, clock="virtual")')

    def _require_host(self, host: str) -> None:
        if host not in self.hosts:
            raise UsageError(f"there is no host {host!r} in this network", did_you_mean(host, self.hosts))

    def _call(self, name: str, **arguments: Any) -> Any:
        for key in ("host", "source", "target"):
            if key in arguments:
                self._require_host(arguments[key])
        process = self._running()
        if process is None:
            raise UsageError("the network does not run", "use it in its `with` block, or after start()")
        return process.call(name, arguments)

    def _running(self) -> NetworkProcess | None:
        return self._process if self._process is not None and self._process.is_running else None


class Program:
    """A program in a host, which `Network.popen` has started; at the end of a `with` block it is stopped."""

    def __init__(self, network: Network, number: int, argv: Sequence[str]) -> None:
        self._network, self._number, self._argv = network, number, argv
        self._done: subprocess.CompletedProcess[str] | None = None

    def wait(self, timeout: float = 60) -> subprocess.CompletedProcess[str]:
        """Waits for its end, and returns its exit code and output.

        Raises:
            MeasurementFailed: it has not ended after `timeout` seconds, and goes on.
        """
        if self._done is None:
            self._done = _completed(self._argv, self._network._call("wait", number=self._number, timeout=timeout))
        return self._done

    def stop(self, timeout: float = 5) -> subprocess.CompletedProcess[str]:
        """Ends it by SIGTERM, and after `timeout` seconds by SIGKILL, and returns its exit code and output."""
        if self._done is None:
            ended = self._network._call("end", number=self._number, sent=int(signal.SIGTERM), timeout=timeout)
            self._done = _completed(self._argv, ended)
        return self._done

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(FlightpathError):  # the network has ended, and the program with it
            self.stop()


def _words(argv: Sequence[str]) -> list[str]:
    if isinstance(argv, str):
        raise UsageError(f"argv: {argv!r} is one text", f"give program and arguments as a list: {argv.split()}")
    return [str(word) for word in argv]


def _completed(argv: Sequence[str], ended: tuple[int, str, str]) -> subprocess.CompletedProcess[str]:
    code, stdout, stderr = ended
    return subprocess.CompletedProcess(list(argv), code, stdout, stderr)


def _check_options(call: str, given: Mapping[str, Any], probe: type) -> None:
    known = [field.name for field in dataclasses.fields(probe)]
    for option in given:
        if option not in known:
            raise UsageError(f"{call} has no option {option!r}", did_you_mean(option, known))
