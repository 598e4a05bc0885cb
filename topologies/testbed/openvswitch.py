"""A private Open vSwitch for each sandbox, its bridges, and the choice of a datapath."""

import contextlib
import os
import socket
import subprocess
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any, Self

from mininet.node import Controller, OVSSwitch
from mininet.util import errRun

from flightpath.commands import how_ended, require, run
from flightpath.errors import FlightpathError, MeasurementFailed, MissingCapability, UsageError
from flightpath.overrides import override
from flightpath.waiting import wait_until
from topologies.hosts.nodes import LazyShellNode
from topologies.testbed.killing import kill_closing_at_once
from topologies.testbed.ovsdb import Database, Operation

DATAPATH_INTERFACE = "ovs-netdev"
"""Interface that Open vSwitch makes for its user datapath, besides one for each bridge."""

DATAPATHS = ("auto", "kernel", "user")
_TOO_LONG = "Message too long"
_START_TIMEOUT_S = 30.0
_STOP_TIMEOUT_S = 3
_ANSWER_BYTES = 4096
_BRIDGES_AT_ONCE = 32
"""Number of bridges in a transaction: each transaction has its own timeout, so the limit is for progress."""

_BEFORE_OPTIONS = len(["--", "set", "Interface", "NAME"])
"""Number of words before the options in what Mininet's hook `intfOpts` returns."""


class PrivateOpenVSwitch:
    """ovsdb-server and ovs-vswitchd in the sandbox's /run/openvswitch, separate from the machine's own.

    A context manager; inside it `ovs-vsctl` and Mininet's switches use this instance. Its user datapath has checksums
    and GSO packets enabled (`userspace-tso-enable`), because otherwise TCP stalls on links that leave the checksum to
    the network card.
    """

    is_own = True
    """Whether it belongs to one network, with which it ends."""

    def __init__(self) -> None:
        self._folder = _folder()
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
            kill_closing_at_once(daemon)
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
    def connected(self) -> bool:
        """Returns whether the switch has a connection to a controller, or needs none."""
        with Database(_database_socket()) as database:
            own = {"where": [["name", "==", self.name]], "columns": ["controller"]}
            rows = database.transact({"op": "select", "table": "Bridge", **own})[0]["rows"]
            controllers = database.select("Controller", "_uuid", "is_connected")
        references = [reference for row in rows for reference in _members(row["controller"])]
        is_connected = any(it["is_connected"] for it in controllers if it["_uuid"] in references)
        return is_connected or self.failMode == "standalone"

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
        """Makes all bridges with their ports, and sets their controllers once these listen.

        A switch that connects to a controller too early retries only after a second or more.
        """
        starting = [switch for switch in switches if switch._is_starting]
        with Database(_database_socket()) as database:
            for first in range(0, len(starting), _BRIDGES_AT_ONCE):
                some = starting[first : first + _BRIDGES_AT_ONCE]
                replaced = _deletion(database, {switch.name for switch in some})
                made = [operation for switch in some for operation in switch._bridge(database)]
                _apply(database, [*replaced, *made], _START_TIMEOUT_S)
            for controller in {controller for switch in starting for controller in switch.controlled_by}:
                if hasattr(controller, "wait_listening"):
                    controller.wait_listening()
            database.transact(*(operation for switch in starting for operation in switch._controllers()))
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
        with contextlib.suppress(FlightpathError), Database(_database_socket()) as database:
            names = {switch.name for switch in switches}
            _apply(database, _deletion(database, names), _STOP_TIMEOUT_S)
        for switch in switches:
            switch.terminate()
        return switches

    def _bridge(self, database: Database) -> Iterator[Operation]:
        """Yields the operations that make the bridge and its ports."""
        ports = {self.name: {"type": "internal"}}
        for interface in self.intfList():
            if self.ports[interface] and not interface.IP():
                options = self.intfOpts(interface).split()[_BEFORE_OPTIONS:]
                ports[interface.name] = database.row("Interface", options)
        for number, (name, settings) in enumerate(ports.items()):
            uuid = _uuid_name(self.name, number)
            yield _insert("Interface", f"i{uuid}", {"name": name, **settings})
            yield _insert("Port", f"p{uuid}", {"name": name, "interfaces": ["named-uuid", f"i{uuid}"]})
        row = database.row("Bridge", self.bridgeOpts().split())
        references = [["named-uuid", f"p{_uuid_name(self.name, number)}"] for number in range(len(ports))]
        bridge = f"b{_uuid_name(self.name, 0)}"
        yield _insert("Bridge", bridge, {"name": self.name, "ports": ["set", references], **row})
        yield _change_bridges("insert", [["named-uuid", bridge]])

    def _controllers(self) -> Iterator[Operation]:
        """Yields the operations that set the bridge's controllers."""
        targets = [f"{it.protocol}:{it.IP()}:{it.port}" for it in self.controlled_by]
        if self.listenPort:
            targets.append(f"ptcp:{self.listenPort}")
        backoff = {"max_backoff": int(self.reconnectms)} if self.reconnectms else {}
        names = [f"c{_uuid_name(self.name, number)}" for number in range(len(targets))]
        for name, target in zip(names, targets, strict=True):
            yield _insert("Controller", name, {"target": target, **backoff})
        row = {"controller": ["set", [["named-uuid", name] for name in names]]}
        yield {"op": "update", "table": "Bridge", "where": [["name", "==", self.name]], "row": row}


def _database_socket() -> Path:
    return _folder() / "db.sock"


def _folder() -> Path:
    return Path(os.environ.get("OVS_RUNDIR", "/run/openvswitch"))


def _apply(database: Database, operations: Sequence[Operation], limit_s: float) -> None:
    """Runs a transaction, and waits until Open vSwitch has done what it says."""
    if not operations:
        return
    count = {"op": "mutate", "table": "Open_vSwitch", "where": [], "mutations": [["next_cfg", "+=", 1]]}
    database.transact(*operations, count)
    [wanted] = database.select("Open_vSwitch", "next_cfg")

    def is_done() -> bool:
        return database.select("Open_vSwitch", "cur_cfg")[0]["cur_cfg"] >= wanted["next_cfg"]

    wait_until(is_done, "Open vSwitch to change its bridges", limit_s, poll_s=0.002)


def _deletion(database: Database, names: Container[str]) -> list[Operation]:
    """Returns the operation that deletes those of these bridges that exist; their ports vanish with them."""
    existing = [row["_uuid"] for row in database.select("Bridge", "name", "_uuid") if row["name"] in names]
    return [_change_bridges("delete", existing)] if existing else []


def _change_bridges(mutator: str, uuids: Sequence[Sequence[str]]) -> Operation:
    mutations = [["bridges", mutator, ["set", uuids]]]
    return {"op": "mutate", "table": "Open_vSwitch", "where": [], "mutations": mutations}


def _members(value: Sequence[Any]) -> Sequence[Any]:
    """Returns the members of a set, which the protocol writes as the member itself if there is one."""
    return value[1] if value[0] == "set" else [value]


def _insert(table: str, name: str, row: Mapping[str, Any]) -> Operation:
    return {"op": "insert", "table": table, "uuid-name": name, "row": row}


def _uuid_name(switch: str, number: int) -> str:
    """Returns a name within a transaction, which may have no other characters than an identifier."""
    return f"_{switch.encode().hex()}_{number}"


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


@cache
def has_kernel_datapath() -> bool:
    """Returns whether this kernel has Open vSwitch's datapath; tries to make one, once."""
    try:
        for action in ("add-dp", "del-dp"):
            run(["ovs-dpctl", action, "fp-probe"], timeout_s=10)
    except FlightpathError:
        return False
    return True
