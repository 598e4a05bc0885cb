"""A private Open vSwitch for each sandbox, its bridges, and the choice of a datapath."""

import contextlib
import os
import socket
import subprocess
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, Self

from mininet.node import Controller, OVSSwitch
from mininet.util import errRun

from flightpath.commands import how_ended, require, run
from flightpath.errors import FlightpathError, MeasurementFailed, MissingCapability, UsageError
from flightpath.overrides import override
from flightpath.waiting import wait_until
from topologies.hosts.nodes import LazyShellNode

DATAPATHS = ("auto", "kernel", "user")
_TOO_LONG = "Message too long"
_START_TIMEOUT_S = 30.0
_STOP_TIMEOUT_S = 3
_ANSWER_BYTES = 4096


class PrivateOpenVSwitch:
    """ovsdb-server and ovs-vswitchd in the sandbox's /run/openvswitch, separate from the machine's own.

    A context manager; inside it `ovs-vsctl` and Mininet's switches use this instance. Its user datapath has checksums
    and GSO packets enabled (`userspace-tso-enable`), because otherwise TCP stalls on links that leave the checksum to
    the network card.
    """

    def __init__(self) -> None:
        self._folder = Path(os.environ.get("OVS_RUNDIR", "/run/openvswitch"))
        self._daemons: dict[str, subprocess.Popen[bytes]] = {}
        self._starter = ThreadPoolExecutor(1)
        self._start_up: Future[None] | None = None

    def __enter__(self) -> Self:
        with contextlib.ExitStack() as stack:
            stack.callback(self.stop)
            self.start()
            self.wait_ready()
            stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Starts the daemons in the background; the caller must call `stop` in any case."""
        self._start_up = self._starter.submit(self._run_daemons)

    def wait_ready(self) -> None:
        """Waits until the daemons answer, if they were started; raises MissingCapability or MeasurementFailed."""
        if self._start_up is not None:
            self._start_up.result()

    def stop(self) -> None:
        """Kills both daemons, which have nothing to save; their folder vanishes with the sandbox.

        On SIGTERM, each of their threads wakes up repeatedly until the last one has finished. In virtual time, where
        others wait for timers of half a second, that took up to a minute of processor time after storms of packets.
        """
        self._starter.shutdown()
        while self._daemons:
            _, daemon = self._daemons.popitem()
            daemon.kill()
            daemon.wait()
        for socket_file in self._folder.glob("*.ctl"):  # the sandbox's next daemons make new ones
            socket_file.unlink()

    def check(self) -> None:
        """Raises MeasurementFailed if a daemon has ended, or has dropped packets that exceed the MTU."""
        for program, daemon in self._daemons.items():
            if daemon.poll() is not None:
                raise MeasurementFailed(f"Open vSwitch: {program} {how_ended(daemon.returncode)}")
        log = self._folder / "ovs-vswitchd.log"
        if log.exists() and _TOO_LONG in log.read_text(errors="replace"):
            raise MeasurementFailed(
                "Open vSwitch dropped packets as too long: its user datapath cuts GSO packets as if TCP had no options",
                "give the hosts segment_early=True, or use the kernel's datapath",
            )

    def _run_daemons(self) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        database = self._folder / "conf.db"
        database.unlink(missing_ok=True)
        require("ovs-vswitchd")  # its package has the schema of the database
        run([require("ovsdb-tool"), "create", str(database)])
        database_socket = self._folder / "db.sock"
        self._start_daemon("ovsdb-server", str(database), f"--remote=punix:{database_socket}")
        wait_until(lambda: _listens(database_socket), "ovsdb-server to listen", _START_TIMEOUT_S, check=self.check)
        settings = ["--", "set", "Open_vSwitch", ".", "other_config:userspace-tso-enable=true"]
        run([require("ovs-vsctl"), "--no-wait", "--", "init", *settings])
        self._start_daemon("ovs-vswitchd", f"unix:{database_socket}")
        wait_until(self._answers, "ovs-vswitchd to answer", _START_TIMEOUT_S, check=self.check)

    def _start_daemon(self, program: str, *arguments: str) -> None:
        log = [f"--log-file={self._folder / program}.log", "-vconsole:off", "-vsyslog:off", "-vfile:warn"]
        argv = [require(program), *arguments, "--no-chdir", "--pidfile", *log]
        null = subprocess.DEVNULL
        self._daemons[program] = subprocess.Popen(argv, stdin=null, stdout=null, stderr=null, start_new_session=True)

    def _answers(self) -> bool:
        """Returns whether ovs-vswitchd answers a request for its version, as `ovs-appctl version` sends it."""
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as control:
            control.settimeout(2)
            for path in self._folder.glob("ovs-vswitchd.*.ctl"):
                control.connect(str(path))
                control.sendall(b'{"id": 0, "method": "version", "params": []}')
                return b'"result"' in control.recv(_ANSWER_BYTES)
        return False


def _listens(path: Path) -> bool:
    """Returns whether a server accepts connections; its socket's file exists a moment earlier."""
    with socket.socket(socket.AF_UNIX) as client:
        return client.connect_ex(str(path)) == 0


class EmulatedSwitch(LazyShellNode, OVSSwitch):
    """An Open vSwitch bridge that forwards only by a controller's rules (OpenFlow 1.3, fail mode secure)."""

    def __init__(self, name: str, datapath: str = "user", **params: object) -> None:
        super().__init__(name, datapath=datapath, **{"protocols": "OpenFlow13", "failMode": "secure", **params})
        self.controlled_by: Sequence[Controller] = ()
        self._is_starting = False

    @classmethod
    @override
    def isOldOVS(cls) -> bool:
        return False  # older than 1.10, of 2013; Mininet would start two programs to find out

    @override
    def cmd(self, *args: Any, **kwargs: Any) -> str | None:
        # Mininet brings the loopback interface up for each switch; in a sandbox it is up.
        return "" if args == ("ifconfig", "lo", "up") else super().cmd(*args, **kwargs)

    @override
    def start(self, controllers: Sequence[Controller]) -> None:
        """Makes the bridge, unless Mininet makes all bridges of a network with `batchStartup`."""
        self.controlled_by, self._is_starting = controllers, True
        if not self.batch:
            self.batchStartup([self])

    @classmethod
    @override
    def batchStartup(
        cls, switches: Sequence["EmulatedSwitch"], run: Callable[[str], object] = errRun
    ) -> Sequence["EmulatedSwitch"]:
        """Makes all bridges and ports in one transaction, and sets their controllers in another once these listen.

        A switch that connects to a controller too early retries only after a second or more.
        """
        starting = [switch for switch in switches if switch._is_starting]
        _transaction(word for switch in starting for word in switch._add_bridge())
        for controller in {controller for switch in starting for controller in switch.controlled_by}:
            if hasattr(controller, "wait_listening"):
                controller.wait_listening()
        _transaction((word for switch in starting for word in switch._set_controllers()), "--no-wait")
        for switch in starting:
            switch._is_starting = switch.batch = False
            for interface in switch.intfList():
                switch.TCReapply(interface)  # Open vSwitch has removed the settings of Mininet's shaped links
        return switches

    @classmethod
    @override
    def batchShutdown(
        cls, switches: Sequence["EmulatedSwitch"], run: Callable[[str], object] = errRun
    ) -> Sequence["EmulatedSwitch"]:
        """Deletes the bridges; gives up after a few seconds if Open vSwitch has ended."""
        run(
            f"ovs-vsctl --timeout={_STOP_TIMEOUT_S} "
            + " ".join(f"-- --if-exists del-br {switch}" for switch in switches)
        )
        for switch in switches:
            switch.terminate()
        return switches

    def _add_bridge(self) -> Iterator[str]:
        """Yields the arguments of `ovs-vsctl` that make the bridge and its ports."""
        yield from ("--", "--if-exists", "del-br", self.name, "--", "add-br", self.name)
        yield from ("--", "set", "bridge", self.name, *self.bridgeOpts().split())
        for interface in self.intfList():
            if self.ports[interface] and not interface.IP():
                yield from ("--", "add-port", self.name, interface.name, *self.intfOpts(interface).split())

    def _set_controllers(self) -> Iterator[str]:
        """Yields the arguments of `ovs-vsctl` that set the bridge's controllers."""
        targets = {it.name: f"{it.protocol}:{it.IP()}:{it.port}" for it in self.controlled_by}
        if self.listenPort:
            targets["listen"] = f"ptcp:{self.listenPort}"
        references = {f"@{self.name}{name}": f'"{target}"' for name, target in targets.items()}
        for reference, target in references.items():
            backoff = [f"max_backoff={self.reconnectms}"] if self.reconnectms else []
            yield from ("--", f"--id={reference}", "create", "Controller", f"target={target}", *backoff)
        yield from ("--", "set", "bridge", self.name, f"controller=[{','.join(references)}]")


def _transaction(words: Iterable[str], *options: str) -> None:
    if arguments := list(words):
        run(["ovs-vsctl", f"--timeout={_START_TIMEOUT_S:g}", *options, *arguments], timeout_s=_START_TIMEOUT_S + 10)


def choose_datapath(requested: str = "auto") -> str:
    """Returns `kernel` or `user`: the requested datapath; for `auto` the kernel's if this machine has it."""
    if requested not in DATAPATHS:
        raise UsageError(f"datapath: {requested!r} is unknown", f"choose one of {', '.join(DATAPATHS)}")
    if requested == "user":
        return requested
    if has_kernel_datapath():
        return "kernel"
    if requested == "kernel":
        raise MissingCapability(
            "this kernel has no openvswitch datapath", "load it with `modprobe openvswitch`, or use --datapath user"
        )
    return "user"


def has_kernel_datapath() -> bool:
    """Returns whether this kernel has Open vSwitch's datapath; tries to make one."""
    try:
        for action in ("add-dp", "del-dp"):
            run(["ovs-dpctl", action, "fp-probe"], timeout_s=10)
    except FlightpathError:
        return False
    return True
