"""An emulated network for notebooks and scripts. It lives in a process of its own; the user's stays as it is."""

import contextlib
import dataclasses
import signal
import socket
import subprocess
import tempfile
import threading
from collections.abc import Mapping, Sequence
from multiprocessing.connection import Connection
from typing import Any, Literal, NoReturn, Self

import pandas as pd
from mininet.topo import Topo

from flightpath.commands import CommandFailed, how_ended
from flightpath.errors import FlightpathError, MeasurementFailed, UsageError
from flightpath.overrides import override
from flightpath.suggestions import did_you_mean
from probes.preflight import TransferSpec
from probes.transfers.iperf3 import Iperf3
from python_api.calls import STOP, Answer, Call, Setup
from python_api.frames import links_frame
from python_api.processes import environment, python_module
from python_api.topology import prepared
from results.records import Certificate, Measurement

_ENDING_LIMIT_S = 15.0


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
            or its class. Hosts that name no class of ours get an address as in Mininet; links understand
            the options of Mininet's `TCLink` and those of docs/links.md.
        emulator: of the links: `relay`, `netem`, or `auto`, the first of them that works here.
        datapath: of the switches: `auto`, `kernel` or `user`.
        policy: how the controller chooses paths for TCP and MPTCP (docs/steering.md); None: the shortest.
        clock: only `real`; what this machine is too slow for, `flightpath.run(…, clock="virtual")` measures.
        **options: of the topology, if it is a name or a class.

    Raises:
        UsageError: there is no such network or option, or a value makes no sense.
    """

    def __init__(
        self,
        topology: str | Topo | type[Topo],
        *,
        emulator: Literal["auto", "relay", "netem"] = "auto",
        datapath: Literal["auto", "kernel", "user"] = "auto",
        policy: str | None = None,
        clock: Literal["real"] = "real",
        **options: Any,
    ) -> None:
        if clock != "real":
            raise UsageError(
                f"clock: {clock!r} is not possible for a network that waits for its user",
                'measure a scenario: flightpath.run("mptcp_load", clock="virtual")',
            )
        self._setup = Setup(prepared(topology, options), emulator, datapath, policy)
        self._lock = threading.Lock()
        self._connection: Connection | None = None
        self._addresses: Mapping[str, Sequence[str]] = {}

    # --- its life ---

    def start(self) -> Self:
        """Starts the network; `stop` must follow, which a `with` block does by itself.

        Raises:
            MissingCapability: this machine lacks something; the message says what.
            UsageError: an option makes no sense.
        """
        if self._connection is not None:
            raise UsageError("the network has been started already")
        ours, theirs = socket.socketpair()
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the network
        with theirs:
            self._process = subprocess.Popen(
                python_module("python_api.network_process", str(theirs.fileno())),
                stdin=subprocess.DEVNULL,
                stdout=self._log,
                stderr=self._log,
                env=environment(),
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )
        self._connection = Connection(ours.detach())
        try:
            self._send(self._setup)
            self._addresses = self._received()
        except BaseException:
            self._abandon()
            raise
        return self

    def stop(self) -> None:
        """Ends the network and all that runs in it; does nothing if it has ended already."""
        if self._connection is None:
            return
        with contextlib.suppress(FlightpathError):
            self._call(STOP)
        self._abandon()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    @override
    def __repr__(self) -> str:
        state = f"hosts {', '.join(self._addresses)}" if self._connection is not None else "not running"
        return f"<Network: {state}>"

    # --- what it consists of ---

    @property
    def hosts(self) -> list[str]:
        """The names of the hosts."""
        return self._setup.topology.hosts()

    def address(self, host: str, family: Literal[4, 6] = 4, port: int = 0) -> str:
        """An address of a host, without its prefix length; of its interfaces with one, `port` counts from 0."""
        self._require_host(host)
        found = [text for text in self._addresses.get(host, ()) if (":" in text) == (family == 6)]
        if port >= len(found):
            raise UsageError(
                f"{host} has no such address", f"its addresses: {', '.join(self._addresses.get(host, ()))}"
            )
        return found[port]

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
            host: its name.
            argv: the program and its arguments, as a list.
            input: text for its standard input.
            timeout: it is killed after so many seconds.
            check: another exit code than 0 is an error.

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

    # --- measurements ---

    def ping(self, source: str, target: str, *, count: int = 5, interval: float = 0.2, port: int = 0) -> Measurement:
        """Pings one host from another.

        Args:
            source, target: hosts.
            count: of the requests.
            interval: seconds between two of them.
            port: of the target's interface.

        Returns:
            Metrics `rtt` and `rtt_min` (ms) and `lost` (%); series `rtt` (ms).

        Raises:
            MeasurementFailed: none was answered.
        """
        return self._call("ping", source=source, target=target, count=count, interval=interval, port=port)

    def iperf(self, source: str, target: str, *, seconds: float = 2, port: int = 0, **options: Any) -> Measurement:
        """Fills the path from one host to another for some seconds with iperf3, after a second that is not counted.

        Args:
            source, target: hosts.
            seconds: that are counted.
            port: of the target's interface.
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
            size: of the file, for example `50MB` or `1GiB`.
            port: of the source's interface.
            **options: fields of `probes.preflight.TransferSpec`: `streams=4`, `mptcp=True`, …

        Returns:
            Metrics `goodput` (bit/s), `download` (s), `connect`, `first_byte` and `rtt` (ms), `cpu_client` (% of a
            core); series `goodput` (bit/s).

        Raises:
            UsageError: the size makes no sense, or there is no such option.
            MeasurementFailed: the transfer failed.
        """
        _check_options("transfer", options, TransferSpec)
        return self._call("transfer", source=source, target=target, size=size, port=port, options=options)

    def certificate(self) -> Certificate:
        """What links and machine did since the last certificate, or the start: a verdict, its reasons, and the facts.

        The next measurement calibrates the links again; no program should send anything meanwhile.
        """
        return self._call("certificate")

    # --- inside ---

    def _require_host(self, host: str) -> None:
        if host not in self.hosts:
            raise UsageError(f"there is no host {host!r} in this network", did_you_mean(host, self.hosts))

    def _call(self, name: str, **arguments: Any) -> Any:
        for key in ("host", "source", "target"):
            if key in arguments:
                self._require_host(arguments[key])
        with self._lock:
            if self._connection is None:
                raise UsageError("the network does not run", "use it in its `with` block, or after start()")
            try:
                self._send(Call(name, arguments))
                return self._received()
            except KeyboardInterrupt:
                self._abandon()
                raise

    def _send(self, message: Setup | Call) -> None:
        try:
            self._connection.send(message)
        except OSError:
            self._raise_ended()
        except Exception as error:  # pickle says so in several ways
            raise UsageError(f"the network has parts that cannot be sent to another process: {error}") from error

    def _received(self) -> Any:
        try:
            answer: Answer = self._connection.recv()
        except (EOFError, OSError):
            self._raise_ended()
        if answer.error is not None:
            raise answer.error
        return answer.value

    def _raise_ended(self) -> NoReturn:
        code = self._process.wait()
        self._log.seek(0)
        log = self._log.read().decode(errors="replace").strip()[-2000:]
        self._abandon()
        raise MeasurementFailed(f"the network's process {how_ended(code)}: {log or 'it printed nothing'}")

    def _abandon(self) -> None:
        """Ends the network's process, which ends everything in it."""
        if self._connection is None:
            return
        self._connection.close()
        self._connection = None
        try:
            self._process.wait(_ENDING_LIMIT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._log.close()


class Program:
    """A program in a host, which `Network.popen` has started; at the end of a `with` block it is stopped."""

    def __init__(self, network: Network, number: int, argv: Sequence[str]) -> None:
        self._network, self._number, self._argv = network, number, argv
        self._done: subprocess.CompletedProcess[str] | None = None

    def wait(self, timeout: float = 60) -> subprocess.CompletedProcess[str]:
        """Waits for its end, and returns its exit code and what it printed.

        Raises:
            MeasurementFailed: it has not ended after so many seconds, and goes on.
        """
        if self._done is None:
            self._done = _completed(self._argv, self._network._call("wait", number=self._number, timeout=timeout))
        return self._done

    def stop(self, timeout: float = 5) -> subprocess.CompletedProcess[str]:
        """Ends it, by SIGTERM and after so many seconds by SIGKILL, and returns what it printed."""
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
