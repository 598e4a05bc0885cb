"""Checks of the parts of links: TUN/TAP devices and their offloads, other kinds of interfaces, queues."""

import contextlib
import fcntl
import json
import os
import select
import struct
from collections.abc import Iterator, Sequence
from functools import partial

import native
from flightpath.commands import CommandFailed, end_and_close, require, run
from flightpath.errors import MissingCapability
from topologies.doctor import kernel_modules
from topologies.doctor.check import (
    COMMAND_TIMEOUT_S,
    Area,
    Finding,
    State,
    failed_call,
    missing,
    ok,
    register,
    try_commands,
    unknown,
)
from topologies.doctor.checks.privileges import TUN
from topologies.links import native_program
from topologies.sandbox.sandbox import TEMPORARY

# From linux/if_tun.h.
TUNSETIFF, TUNSETOFFLOAD, TUNSETCARRIER = 0x400454CA, 0x400454D0, 0x400454E2
IFF_TUN, IFF_TAP, IFF_NO_PI, IFF_VNET_HDR, IFF_TUN_EXCL = 0x0001, 0x0002, 0x1000, 0x4000, 0x8000
TUN_F_CSUM, TUN_F_TSO4, TUN_F_TSO6, TUN_F_USO4, TUN_F_USO6 = 0x01, 0x02, 0x04, 0x20, 0x40
TSO = TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6
USO = TSO | TUN_F_USO4 | TUN_F_USO6
_GSO_BYTES = 30_000
_MODULES_THAT_ADD_INTERFACES = frozenset({"ifb", "ip_gre"})
_link_check = partial(register, Area.LINKS, sandboxed=True)


@contextlib.contextmanager
def tun_device(name: str, kind: int = IFF_TAP) -> Iterator[int]:
    """Makes a TUN or TAP device as links and tunnels do; yields its file descriptor, and removes it afterwards.

    Raises:
        MissingCapability: the kernel has no TUN driver.
        PermissionError: this user may not open it.
    """
    handle = _open_tun()
    try:
        request = struct.pack("16sH22x", name.encode(), kind | IFF_NO_PI | IFF_VNET_HDR | IFF_TUN_EXCL)
        fcntl.ioctl(handle, TUNSETIFF, request)
        yield handle
    finally:
        os.close(handle)


def require_tun() -> None:
    """Raises the errors of `tun_device`, which are clearer than those of programs that open the device."""
    os.close(_open_tun())


def _open_tun() -> int:
    try:
        return os.open(TUN, os.O_RDWR | os.O_CLOEXEC)
    except PermissionError:
        raise
    except OSError as error:
        raise MissingCapability(f"{TUN}: {error.strerror}", "sudo modprobe tun") from error


@_link_check(
    "TUN/TAP devices",
    costs="There are no links: each is made of two TAP devices.",
    remedy="sudo modprobe tun",
    required=True,
)
def _probe_devices() -> Finding:
    with tun_device("fp-tap"), tun_device("fp-tun", IFF_TUN):
        return ok("TUN and TAP, with headers for offloads")


def _try_ioctl(name: str, request: int, argument: int | bytes, *, found: str) -> Finding:
    """Tries an ioctl of the TUN driver on a new TAP device."""
    with tun_device("fp-ioctl") as handle:
        try:
            fcntl.ioctl(handle, request, argument)
        except OSError as error:
            return failed_call(error, name)
    return ok(found)


_link_check(
    "TAP offload TSO",
    costs="Links pass only single segments, which takes several times the processor time at high rates.",
    remedy=kernel_modules.STOCK_KERNEL,
)(partial(_try_ioctl, "TUNSETOFFLOAD", TUNSETOFFLOAD, TSO, found="checksum, TSO for IPv4 and IPv6"))
_link_check(
    "TAP offload USO",
    costs="UDP, and with it tunnels and QUIC, passes links in single datagrams, which takes more processor time.",
    remedy="boot a kernel of version 6.2 or newer (Debian 13, Ubuntu 24.04, or linux-image-amd64 of "
    "bookworm-backports)",
)(partial(_try_ioctl, "TUNSETOFFLOAD", TUNSETOFFLOAD, USO, found="USO for IPv4 and IPv6"))


@_link_check(
    "gso_max_size",
    costs="Slow links pass only single segments, because the size of GSO packets cannot be limited.",
    remedy="sudo apt-get install iproute2",
)
def _probe_gso_max_size() -> Finding:
    ip, name = require("ip"), "fp-gso"
    with tun_device(name):
        run([ip, "link", "set", "dev", name, "gso_max_size", str(_GSO_BYTES)], timeout_s=COMMAND_TIMEOUT_S)
        [link] = json.loads(run([ip, "-json", "-details", "link", "show", "dev", name], timeout_s=COMMAND_TIMEOUT_S))
    size = link.get("gso_max_size")
    return ok("can be set per device") if size == _GSO_BYTES else missing(f"set to {_GSO_BYTES}, but it is {size}")


_link_check("TAP carrier", costs="Hosts do not notice when a link is cut.", remedy=kernel_modules.STOCK_KERNEL)(
    partial(_try_ioctl, "TUNSETCARRIER", TUNSETCARRIER, struct.pack("i", 0), found="can be turned off and on")
)


@_link_check("relay", costs="There are no emulated links.", remedy=native.BUILD_COMMAND, required=True)
def _probe_relay() -> Finding:
    """Starts a link and waits until it is ready."""
    require_tun()
    arguments = ["--name", "doctor", "--a", "fp-a", "--b", "fp-b", "--control", str(TEMPORARY / "doctor.sock")]
    process = native_program.start([str(native.binary("relay")), *arguments])
    assert process.stdout is not None, "start() makes a pipe"
    try:
        if not select.select([process.stdout], [], [], COMMAND_TIMEOUT_S)[0]:
            return unknown(f"the relay is not ready after {COMMAND_TIMEOUT_S:g} s")
        if native_program.read_line(process) == "ready\n":
            return ok("a link starts")
        return missing(process.communicate(timeout=COMMAND_TIMEOUT_S)[1] or f"exit code {process.returncode}")
    finally:
        end_and_close(process)


def _probe_device(module: str, arguments: Sequence[str]) -> Finding:
    if module in _MODULES_THAT_ADD_INTERFACES and kernel_modules.is_loadable(module):
        return ok(f"module {module}, not loaded; not tried, because loading it adds interfaces to this machine")
    name = "fp-link"
    finding = try_commands(("ip", "link", "add", name, *arguments), found="an interface can be made")
    if finding.state is State.OK:
        run([require("ip"), "link", "del", "dev", name], timeout_s=COMMAND_TIMEOUT_S)
    return _with_kernel_remedy(finding, module)


for _area, _name, _module, _arguments, _costs in (
    (
        Area.LINKS,
        "veth",
        "veth",
        "type veth peer name fp-peer",
        "Links of the kernel (netem, plain Mininet) cannot be made; the relay works without.",
    ),
    (Area.LINKS, "IFB", "ifb", "type ifb", "The kernel cannot shape incoming packets; the relay can."),
    (
        Area.TUNNELS,
        "GRE",
        "ip_gre",
        "type gre local 127.0.0.1 remote 127.0.0.2",
        "There is no GRE tunnel of the kernel to compare with.",
    ),
):
    register(_area, _name, costs=_costs, remedy=f"sudo modprobe {_module}", sandboxed=True)(
        partial(_probe_device, _module, _arguments.split())
    )


def _probe_qdisc(kind: str, arguments: Sequence[str], class_arguments: Sequence[str]) -> Finding:
    """Adds a queueing discipline, and a class if it has any, to the sandbox's loopback interface, and removes it."""
    commands = [["tc", "qdisc", "add", "dev", "lo", "root", "handle", "1:", kind, *arguments]]
    if class_arguments:
        commands.append(["tc", "class", "add", "dev", "lo", "parent", "1:", "classid", "1:1", kind, *class_arguments])
    try:
        return _with_kernel_remedy(try_commands(*commands, found="works"), f"sch_{kind}")
    finally:
        with contextlib.suppress(CommandFailed, MissingCapability):  # if it failed, there is none to remove
            run([require("tc"), "qdisc", "del", "dev", "lo", "root"], timeout_s=COMMAND_TIMEOUT_S)


for _kind, _costs, _arguments, _class_arguments in (
    ("netem", "Only the relay can emulate delay and loss, not the kernel.", "delay 1ms loss 1%", ""),
    ("htb", "The kernel cannot limit the rate of netem links; the relay can.", "", "rate 1mbit"),
    ("fq", "bbr paces with timers of its own instead of in the queue, which takes more processor time.", "", ""),
    ("fq_codel", "It cannot be the queue of a link that the kernel shapes.", "", ""),
    ("codel", "It cannot be the queue of a link that the kernel shapes.", "", ""),
):
    register(Area.QUEUES, _kind, costs=_costs, remedy=f"sudo modprobe sch_{_kind}", sandboxed=True)(
        partial(_probe_qdisc, _kind, _arguments.split(), _class_arguments.split())
    )


@register(
    Area.TUNNELS,
    "FOU",
    costs="There is no GRE in UDP of the kernel to compare with.",
    remedy="sudo modprobe fou",
    sandboxed=True,
)
def _probe_fou() -> Finding:
    port = ["port", "4754", "ipproto", "47"]
    add, remove = ("ip", "fou", "add", *port), ("ip", "fou", "del", *port[:2])
    return _with_kernel_remedy(try_commands(add, remove, found="a port can be opened"), "fou")


def _with_kernel_remedy(finding: Finding, module: str) -> Finding:
    """Replaces the remedy for a missing feature by one for this kernel, since `tc` and `ip` are installed."""
    return missing(finding.found, kernel_modules.remedy(module)) if finding.state is State.MISSING else finding
