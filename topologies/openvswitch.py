"""A private Open vSwitch for one sandbox: the user's own is never asked, restarted or changed."""

import contextlib
import os
import subprocess
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import TracebackType

from mininet.node import OVSSwitch
from mininet.util import errRun

from flightpath.commands import SETUP_HINT, CommandFailed, end, require, run
from flightpath.errors import FlightpathError, MeasurementFailed, MissingCapability, UsageError
from flightpath.waiting import wait_until

DATAPATHS = ("auto", "kernel", "user")
_SCHEMA_FOLDERS = ("/usr/share/openvswitch", "/usr/local/share/openvswitch")
_TOO_LONG = "Message too long"
_START_LIMIT_S = 30.0
_STOP_LIMIT_S = 3


class PrivateOpenVSwitch:
    """ovsdb-server and ovs-vswitchd of our own, in the sandbox's /run/openvswitch.

    A context manager; inside it `ovs-vsctl` and Mininet's switches talk to this instance. Checksums and super-frames
    of the user datapath are on (`userspace-tso-enable`): without them TCP hangs behind links that leave the
    checksum to the device.
    """

    def __init__(self) -> None:
        self._folder = Path(os.environ.get("OVS_RUNDIR", "/run/openvswitch"))
        self._daemons: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> "PrivateOpenVSwitch":
        try:
            self._start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def stop(self) -> None:
        """Ends both daemons; the folder goes with the sandbox."""
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
        socket = self._folder / "db.sock"
        self._daemons.append(
            self._daemon("ovsdb-server", str(database), f"--remote=punix:{socket}", "--no-chdir", "--pidfile")
        )
        wait_until(socket.exists, "ovsdb-server to listen", _START_LIMIT_S, check=self.check)
        run([require("ovs-vsctl"), "--no-wait", "init"])
        run(["ovs-vsctl", "--no-wait", "set", "Open_vSwitch", ".", "other_config:userspace-tso-enable=true"])
        self._daemons.append(self._daemon("ovs-vswitchd", f"unix:{socket}", "--no-chdir", "--pidfile"))
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
        with contextlib.suppress(CommandFailed):
            return bool(run(["ovs-appctl", "-T", "2", "version"]))
        return False


class EmulatedSwitch(OVSSwitch):
    """An Open vSwitch bridge that forwards only what a controller has installed (fail mode secure, OpenFlow 1.3)."""

    def __init__(self, name: str, datapath: str = "user", **params: object) -> None:
        params.setdefault("protocols", "OpenFlow13")
        super().__init__(name, failMode="secure", datapath=datapath, **params)

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


def choose_datapath(asked: str = "auto") -> str:
    """`kernel` or `user`: what was asked for, or the kernel's where this machine has it.

    Needs a running PrivateOpenVSwitch.

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
    with contextlib.suppress(CommandFailed, FlightpathError), _probe_datapath("flightpath-probe"):
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
