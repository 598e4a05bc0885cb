"""What links and queues can be made of here: without it the choice of an emulator would be a guess."""

import contextlib
import fcntl
import json
import os
import select
import struct
import subprocess
from collections.abc import Iterator, Sequence
from functools import partial

import native
from flightpath.commands import CommandFailed, end_and_close, require, run
from flightpath.errors import MissingCapability
from topologies.doctor import modules
from topologies.doctor.check import (
    COMMAND_LIMIT_S,
    Check,
    Finding,
    State,
    missing,
    ok,
    refused,
    refused_call,
    try_commands,
    unknown,
)
from topologies.doctor.privileges import TUN
from topologies.sandbox.sandbox import TEMPORARY

AREA, QUEUES, TUNNELS = "links", "queues", "tunnels"
TUNSETIFF, TUNSETOFFLOAD, TUNSETCARRIER = 0x400454CA, 0x400454D0, 0x400454E2
IFF_TUN, IFF_TAP, IFF_NO_PI, IFF_VNET_HDR, IFF_TUN_EXCL = 0x0001, 0x0002, 0x1000, 0x4000, 0x8000
TUN_F_CSUM, TUN_F_TSO4, TUN_F_TSO6, TUN_F_USO4, TUN_F_USO6 = 0x01, 0x02, 0x04, 0x20, 0x40
TSO = TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6
USO = TSO | TUN_F_USO4 | TUN_F_USO6
_GSO_BYTES = 30_000
_MODULES_THAT_ADD_INTERFACES = frozenset({"ifb", "ip_gre"})


@contextlib.contextmanager
def tun_device(name: str, kind: int = IFF_TAP) -> Iterator[int]:
    """A TUN or TAP device as links and tunnels make it, for as long as the context lasts; yields its descriptor.

    Raises:
        MissingCapability: the machine has no TUN driver.
        PermissionError: this user may not.
    """
    handle = _open_tun()
    try:
        request = struct.pack("16sH22x", name.encode(), kind | IFF_NO_PI | IFF_VNET_HDR | IFF_TUN_EXCL)
        fcntl.ioctl(handle, TUNSETIFF, request)
        yield handle
    finally:
        os.close(handle)


def require_tun() -> None:
    """Raises what `tun_device` does, for probes of programs that say less well why they cannot make one."""
    os.close(_open_tun())


def _open_tun() -> int:
    try:
        return os.open(TUN, os.O_RDWR | os.O_CLOEXEC)
    except PermissionError:
        raise
    except OSError as error:
        raise MissingCapability(f"{TUN}: {error.strerror}", "sudo modprobe tun") from error


def _probe_devices() -> Finding:
    with tun_device("fp-tap"), tun_device("fp-tun", IFF_TUN):
        return ok("TUN and TAP, with headers for offloads")


def _probe_offloads(flags: int, words: str) -> Finding:
    with tun_device("fp-offload") as handle:
        try:
            fcntl.ioctl(handle, TUNSETOFFLOAD, flags)
        except OSError as error:
            return refused_call(error, "TUNSETOFFLOAD")
    return ok(words)


def _probe_gso_max_size() -> Finding:
    ip, name = require("ip"), "fp-gso"
    with tun_device(name):
        try:
            run([ip, "link", "set", "dev", name, "gso_max_size", str(_GSO_BYTES)], timeout_s=COMMAND_LIMIT_S)
        except CommandFailed as error:
            return refused(error)
        told = json.loads(run([ip, "-json", "-details", "link", "show", "dev", name], timeout_s=COMMAND_LIMIT_S))
    size = told[0].get("gso_max_size")
    return ok("can be set per device") if size == _GSO_BYTES else missing(f"set to {_GSO_BYTES}, and is {size}")


def _probe_carrier() -> Finding:
    with tun_device("fp-carrier") as handle:
        try:
            fcntl.ioctl(handle, TUNSETCARRIER, struct.pack("i", 0))
        except OSError as error:
            return refused_call(error, "TUNSETCARRIER")
    return ok("can be cut and mended")


def _probe_relay() -> Finding:
    """Starts a link, and waits until it says that it is ready."""
    require_tun()
    arguments = ["--name", "doctor", "--a", "fp-a", "--b", "fp-b", "--control", str(TEMPORARY / "doctor.sock")]
    process = subprocess.Popen(
        [str(native.binary("relay")), *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        if not select.select([process.stdout], [], [], COMMAND_LIMIT_S)[0]:
            return unknown(f"the relay is not ready after {COMMAND_LIMIT_S:g} s")
        if process.stdout.readline() == "ready\n":
            return ok("a link starts")
        return missing(process.communicate(timeout=COMMAND_LIMIT_S)[1] or f"exit code {process.returncode}")
    finally:
        end_and_close(process)


def _probe_device(module: str, arguments: Sequence[str]) -> Finding:
    """Makes an interface, unless that would load a module that adds interfaces of its own outside of the sandbox."""
    if module in _MODULES_THAT_ADD_INTERFACES and modules.waiting(module):
        return ok(f"module {module}, not loaded; not tried, for it would add interfaces to this machine")
    name = "fp-link"
    finding = try_commands(("ip", "link", "add", name, *arguments), found="an interface can be made")
    if finding.state is State.OK:
        run([require("ip"), "link", "del", "dev", name], timeout_s=COMMAND_LIMIT_S)
    return _with_kernel_remedy(finding, module)


def _probe_qdisc(kind: str, arguments: Sequence[str] = (), classes: Sequence[str] = ()) -> Finding:
    """Puts a queueing discipline on the sandbox's loopback interface, and takes it off again."""
    commands = [["tc", "qdisc", "add", "dev", "lo", "root", "handle", "1:", kind, *arguments]]
    if classes:
        commands.append(["tc", "class", "add", "dev", "lo", "parent", "1:", "classid", "1:1", kind, *classes])
    try:
        return _with_kernel_remedy(try_commands(*commands, found="works"), f"sch_{kind}")
    finally:
        with contextlib.suppress(CommandFailed, MissingCapability):  # there is none to take off if it failed
            run([require("tc"), "qdisc", "del", "dev", "lo", "root"], timeout_s=COMMAND_LIMIT_S)


def _probe_fou() -> Finding:
    port = ["port", "4754", "ipproto", "47"]
    add, remove = ("ip", "fou", "add", *port), ("ip", "fou", "del", *port[:2])
    return _with_kernel_remedy(try_commands(add, remove, found="a port can be opened"), "fou")


def _with_kernel_remedy(finding: Finding, module: str) -> Finding:
    """What mends a missing kernel feature depends on the kernel; an installed `tc` or `ip` has been found already."""
    return missing(finding.found, modules.remedy(module)) if finding.state is State.MISSING else finding


def _qdisc(name: str, costs: str, arguments: Sequence[str] = (), classes: Sequence[str] = ()) -> Check:
    probe = partial(_probe_qdisc, name, arguments, classes)
    return Check(QUEUES, name, probe, costs, f"sudo modprobe sch_{name}", sandboxed=True)


def _device(area: str, name: str, module: str, costs: str, arguments: Sequence[str]) -> Check:
    probe = partial(_probe_device, module, arguments)
    return Check(area, name, probe, costs, f"sudo modprobe {module}", sandboxed=True)


CHECKS = (
    Check(
        AREA,
        "TUN/TAP devices",
        _probe_devices,
        "There are no links: each is made of two TAP devices.",
        "sudo modprobe tun",
        required=True,
        sandboxed=True,
    ),
    Check(
        AREA,
        "TAP offload TSO",
        partial(_probe_offloads, TSO, "checksum, TSO for IPv4 and IPv6"),
        "Links pass single segments only, which takes several times the processor time at high rates.",
        "boot the distribution's own kernel (Debian: sudo apt-get install linux-image-amd64)",
        sandboxed=True,
    ),
    Check(
        AREA,
        "TAP offload USO",
        partial(_probe_offloads, USO, "USO for IPv4 and IPv6"),
        "UDP, and with it tunnels and QUIC, passes links in single datagrams, which takes more processor time.",
        "boot a kernel of version 6.2 or newer (Debian 13, Ubuntu 24.04, or linux-image-amd64 of bookworm-backports)",
        sandboxed=True,
    ),
    Check(
        AREA,
        "gso_max_size",
        _probe_gso_max_size,
        "Slow links pass single segments only: the size of super-frames cannot be bounded.",
        "sudo apt-get install iproute2",
        sandboxed=True,
    ),
    Check(
        AREA,
        "TAP carrier",
        _probe_carrier,
        "A link cannot be cut so that its hosts notice.",
        "boot the distribution's own kernel (Debian: sudo apt-get install linux-image-amd64)",
        sandboxed=True,
    ),
    Check(
        AREA,
        "relay",
        _probe_relay,
        "There are no emulated links.",
        "make native",
        required=True,
        sandboxed=True,
    ),
    _device(
        AREA,
        "veth",
        "veth",
        "Links of the kernel's own (netem, plain Mininet) cannot be made; the relay does without.",
        ("type", "veth", "peer", "name", "fp-peer"),
    ),
    _device(
        AREA, "IFB", "ifb", "The kernel cannot shape what arrives at an interface; the relay can.", ("type", "ifb")
    ),
    _qdisc("netem", "Delay and loss are made by the relay only, never by the kernel.", ("delay", "1ms", "loss", "1%")),
    _qdisc("htb", "The kernel cannot shape a rate for links of netem; the relay can.", (), ("rate", "1mbit")),
    _qdisc("fq", "bbr paces by timers of its own instead of in the queue, which takes more processor time."),
    _qdisc("fq_codel", "It cannot be the queue of a link that the kernel shapes."),
    _qdisc("codel", "It cannot be the queue of a link that the kernel shapes."),
    _device(
        TUNNELS,
        "GRE",
        "ip_gre",
        "There is no tunnel of the kernel's own to compare with.",
        ("type", "gre", "local", "127.0.0.1", "remote", "127.0.0.2"),
    ),
    Check(
        TUNNELS,
        "FOU",
        _probe_fou,
        "There is no GRE in UDP of the kernel's own to compare with.",
        "sudo modprobe fou",
        sandboxed=True,
    ),
)
