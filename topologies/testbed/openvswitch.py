"""A private Open vSwitch for one sandbox: the user's own is never asked, restarted or changed."""

import contextlib
import os
import socket
import subprocess
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Any

from mininet.node import Controller, OVSSwitch
from mininet.util import errRun

from flightpath.commands import SETUP_HINT, CommandFailed, end, require, run
from flightpath.errors import FlightpathError, MeasurementFailed, MissingCapability, UsageError
from flightpath.waiting import wait_until
from topologies.hosts.nodes import QuietNode

DATAPATHS = ("auto", "kernel", "user")
_SCHEMA_FOLDERS = ("/usr/share/openvswitch", "/usr/local/share/openvswitch")
_TOO_LONG = "Message too long"
_START_LIMIT_S = 30.0
_STOP_LIMIT_S = 3
_ANSWER_BYTES = 4096


class PrivateOpenVSwitch:
    """ovsdb-server and ovs-vswitchd of our own, in the sandbox's /run/openvswitch.

    A context manager; inside it `ovs-vsctl` and Mininet's switches talk to this instance. Checksums and super-frames
    of the user datapath are on (`userspace-tso-enable`): without them TCP hangs behind links that leave the
    checksum to the device.
    """

    def __init__(self) -> None:
        self._folder = Path(os.environ.get("OVS_RUNDIR", "/run/openvswitch"))
        self._daemons: list[subprocess.Popen[bytes]] = []
        self._starter = ThreadPoolExecutor(1)
        self._started: Future[None] | None = None

    def __enter__(self) -> "PrivateOpenVSwitch":
        try:
            self.begin()
            self.wait()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def begin(self) -> None:
        """Starts it beside what the caller does meanwhile; `stop` must follow, whatever happens."""
        self._started = self._starter.submit(self._start)

    def wait(self) -> None:
        """Returns when it answers; without `begin` before, at once.

        Raises:
            MissingCapability: it is not installed.
            MeasurementFailed: it does not start.
        """
        if self._started is not None:
            self._started.result()

    def stop(self) -> None:
        """Ends both daemons; the folder goes with the sandbox."""
        self._starter.shutdown()
        while self._daemons:
            end(self._daemons.pop())

    def check(self) -> None:
        """Raises MeasurementFailed if a daemon has ended, or dropped what nobody would see dropped."""
        for daemon in self._daemons:
            if daemon.poll() is not None:
                raise MeasurementFailed(f"Open vSwitch: {daemon.args[0]} ended with exit code {daemon.returncode}")
        if _TOO_LONG in self._log_of("ovs-vswitchd"):
            raise MeasurementFailed(
                "Open vSwitch dropped packets as too long: its user datapath cut super-frames as if TCP had no options",
                "give the hosts segment_early=True, or use the kernel's datapath",
            )

    def _start(self) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        database = self._folder / "conf.db"
        database.unlink(missing_ok=True)
        run([require("ovsdb-tool"), "create", str(database), str(_schema())])
        database_socket = self._folder / "db.sock"
        self._daemons.append(
            self._daemon("ovsdb-server", str(database), f"--remote=punix:{database_socket}", "--no-chdir", "--pidfile")
        )
        wait_until(database_socket.exists, "ovsdb-server to listen", _START_LIMIT_S, check=self.check)
        settings = ["--", "set", "Open_vSwitch", ".", "other_config:userspace-tso-enable=true"]
        run([require("ovs-vsctl"), "--no-wait", "--", "init", *settings])
        self._daemons.append(self._daemon("ovs-vswitchd", f"unix:{database_socket}", "--no-chdir", "--pidfile"))
        wait_until(self._answers, "ovs-vswitchd to answer", _START_LIMIT_S, check=self.check)

    def _daemon(self, program: str, *arguments: str) -> subprocess.Popen[bytes]:
        log = self._folder / f"{program}.log"
        return subprocess.Popen(
            [require(program), *arguments, "-vconsole:off", "-vsyslog:off", "-vfile:warn", f"--log-file={log}"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def _log_of(self, program: str) -> str:
        log = self._folder / f"{program}.log"
        return log.read_text(errors="replace") if log.exists() else ""

    def _answers(self) -> bool:
        """Whether it answers what `ovs-appctl version` would ask."""
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as control:
            control.settimeout(2)
            for path in self._folder.glob("ovs-vswitchd.*.ctl"):
                control.connect(str(path))
                control.sendall(b'{"id": 0, "method": "version", "params": []}')
                return b'"result"' in control.recv(_ANSWER_BYTES)
        return False


class EmulatedSwitch(QuietNode, OVSSwitch):
    """An Open vSwitch bridge that forwards only what a controller has installed (fail mode secure, OpenFlow 1.3)."""

    def __init__(self, name: str, datapath: str = "user", **params: object) -> None:
        params.setdefault("protocols", "OpenFlow13")
        super().__init__(name, failMode="secure", datapath=datapath, **params)
        self._controllers: Sequence[Controller] | None = None

    @classmethod
    def isOldOVS(cls) -> bool:  # noqa: N802 - Mininet's hook
        """Not older than 1.10, of 2013; Mininet would start two programs to know."""
        return False

    def cmd(self, *args: Any, **kwargs: Any) -> str | None:
        """As Mininet's, which sets the loopback interface up for each switch: a sandbox's is up."""
        return "" if args == ("ifconfig", "lo", "up") else super().cmd(*args, **kwargs)

    def start(self, controllers: Sequence[Controller]) -> None:
        """As Mininet's; of a network's many, `batchStartup` makes all bridges at once."""
        self._controllers = controllers
        if not self.batch:
            self.batchStartup([self])

    @classmethod
    def batchStartup(  # noqa: N802 - Mininet's hook
        cls, switches: Sequence["EmulatedSwitch"], run: Callable[[str], object] = errRun
    ) -> Sequence["EmulatedSwitch"]:
        """Makes all bridges with their ports in one transaction; names the controllers in another, once they listen.

        A switch that calls a controller before anybody listens waits a second or more before it calls again.

        Raises:
            CommandFailed: Open vSwitch refuses.
        """
        due = [switch for switch in switches if switch._controllers is not None]
        _transaction(word for switch in due for word in switch._bridge())
        for controller in {controller for switch in due for controller in switch._controllers}:
            if hasattr(controller, "wait_listening"):
                controller.wait_listening()
        _transaction((word for switch in due for word in switch._called()), "--no-wait")
        for switch in due:
            switch._controllers, switch.batch = None, False
            for interface in switch.intfList():
                switch.TCReapply(interface)  # Open vSwitch has removed what Mininet's own shaped links had set
        return switches

    @classmethod
    def batchShutdown(  # noqa: N802 - Mininet's hook
        cls, switches: Sequence["EmulatedSwitch"], run: Callable[[str], object] = errRun
    ) -> Sequence["EmulatedSwitch"]:
        """Deletes the bridges, and does not wait for ever for an Open vSwitch that has ended."""
        run(
            f"ovs-vsctl --timeout={_STOP_LIMIT_S} " + " ".join(f"-- --if-exists del-br {switch}" for switch in switches)
        )
        for switch in switches:
            switch.terminate()
        return switches

    def _bridge(self) -> Iterator[str]:
        yield from ("--", "--if-exists", "del-br", self.name, "--", "add-br", self.name)
        yield from ("--", "set", "bridge", self.name, *self.bridgeOpts().split())
        for interface in self.intfList():
            if self.ports[interface] and not interface.IP():
                yield from ("--", "add-port", self.name, interface.name, *self.intfOpts(interface).split())

    def _called(self) -> Iterator[str]:
        """Names whom the bridge is to call."""
        targets = {it.name: f"{it.protocol}:{it.IP()}:{it.port}" for it in self._controllers}
        if self.listenPort:
            targets["listen"] = f"ptcp:{self.listenPort}"
        references = {f"@{self.name}{name}": f'"{target}"' for name, target in targets.items()}
        for reference, target in references.items():
            backoff = [f"max_backoff={self.reconnectms}"] if self.reconnectms else []
            yield from ("--", f"--id={reference}", "create", "Controller", f"target={target}", *backoff)
        yield from ("--", "set", "bridge", self.name, f"controller=[{','.join(references)}]")


def _transaction(words: Iterable[str], *options: str) -> None:
    if arguments := list(words):
        run(["ovs-vsctl", f"--timeout={_START_LIMIT_S:g}", *options, *arguments], timeout_s=_START_LIMIT_S + 10)


def choose_datapath(asked: str = "auto") -> str:
    """`kernel` or `user`: what was asked for, or the kernel's where this machine has it.

    Raises:
        UsageError: no such datapath.
        MissingCapability: the kernel's was asked for and is not here.
    """
    if asked not in DATAPATHS:
        raise UsageError(f"datapath: {asked!r} is unknown", f"choose one of {', '.join(DATAPATHS)}")
    if asked == "user":
        return asked
    if has_kernel_datapath():
        return "kernel"
    if asked == "kernel":
        raise MissingCapability(
            "this kernel has no openvswitch datapath", "load it with `modprobe openvswitch`, or use --datapath user"
        )
    return "user"


def has_kernel_datapath() -> bool:
    """Whether the kernel switches for Open vSwitch here: tried by making a datapath, not by looking at versions."""
    with contextlib.suppress(CommandFailed, FlightpathError), _probe_datapath("fp-probe"):
        return True
    return False


@contextlib.contextmanager
def _probe_datapath(name: str) -> Iterator[None]:
    run(["ovs-dpctl", "add-dp", name], timeout_s=10)
    try:
        yield
    finally:
        run(["ovs-dpctl", "del-dp", name], timeout_s=10)


def _schema() -> Path:
    for folder in _SCHEMA_FOLDERS:
        if (schema := Path(folder) / "vswitch.ovsschema").exists():
            return schema
    raise MissingCapability("Open vSwitch's database schema is not installed", SETUP_HINT)
