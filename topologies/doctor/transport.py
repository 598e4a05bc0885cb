"""Which transports run here: without it a comparison of protocols could be one of TCP with itself."""

import ctypes
import dataclasses
import errno
import os
import platform
import socket
import struct
from functools import partial
from pathlib import Path

import congestion
from flightpath import libc
from flightpath.commands import CommandFailed, require, run
from topologies.doctor import modules
from topologies.doctor.check import (
    COMMAND_LIMIT_S,
    Check,
    Finding,
    State,
    is_machine_root,
    limited,
    missing,
    ok,
    refused,
    refused_call,
    try_commands,
    unknown,
)

MPTCP, CONGESTION_CONTROL, BPF = "MPTCP", "congestion control", "BPF"
PAPERS = (
    *("reno", "cubic", "bbr"),
    *("bic", "htcp", "vegas", "veno", "illinois", "scalable", "highspeed", "westwood", "elastic"),
)
"""The congestion controls that the reproduced papers compare, or wish for."""
_REQUIRED = ("cubic",)  # the main experiment's own
_LACKING = "this kernel does not have it"
_TURN_ON = "sudo sysctl -w net.mptcp.enabled=1"
_NO_PROTOCOL = (errno.ENOPROTOOPT, errno.EPROTONOSUPPORT, errno.EAFNOSUPPORT)
_PEER_ANSWERED = "MPCapableSYNACKRX"
_BTF = Path("/sys/kernel/btf/vmlinux")
_STRUCT_OPS = b"\0bpf_struct_ops_tcp_congestion_ops\0"
_BPF_CALL = {"x86_64": 321, "aarch64": 280}
_BPF_PROG_LOAD, _BPF_PROG_TYPE_SCHED_CLS = 5, 3
_RETURN_0 = struct.pack("<BBhi", 0xB7, 0, 0, 0) + struct.pack("<BBhi", 0x95, 0, 0, 0)
_ATTRIBUTE_BYTES = 128


def counter(name: str, table: str) -> int:
    """One of the kernel's MPTCP counters, from the text of /proc/net/netstat; 0 where it has none of that name."""
    # Two lines, of names and of values; none without MPTCP.
    lines = [line.split()[1:] for line in table.splitlines() if line.startswith("MPTcpExt:")]
    return int(dict(zip(*lines, strict=True)).get(name, 0))


def _probe_mptcp(family: socket.AddressFamily, address: str) -> Finding:
    """A connection over the sandbox's loopback interface; the kernel's counter proves that it is one of MPTCP v1."""
    run([require("ip"), "link", "set", "dev", "lo", "up"], timeout_s=COMMAND_LIMIT_S)
    before = _answered()
    try:
        _connect(family, address)
    except OSError as error:
        finding = refused_call(error, "socket" if error.errno in _NO_PROTOCOL else "connection")
        return dataclasses.replace(finding, remedy=_TURN_ON) if error.errno == errno.ENOPROTOOPT else finding
    if _answered() == before:
        return missing("connections fall back to TCP", _TURN_ON)
    return ok("a connection is made without falling back to TCP")


def _connect(family: socket.AddressFamily, address: str) -> None:
    with (
        socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_MPTCP) as listener,
        socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_MPTCP) as client,
    ):
        listener.bind((address, 0))
        listener.listen()
        for end in (listener, client):
            end.settimeout(COMMAND_LIMIT_S)
        client.connect(listener.getsockname())
        with listener.accept()[0] as server:
            server.sendall(b"1")
            client.recv(1)


def _answered() -> int:
    return counter(_PEER_ANSWERED, Path("/proc/net/netstat").read_text(encoding="ascii"))


def _probe_path_manager() -> Finding:
    limits = ("ip", "mptcp", "limits", "set", "subflow", "3", "add_addr_accepted", "3")
    endpoint = ("ip", "mptcp", "endpoint", "add", "192.0.2.1", "signal")
    flush = ("ip", "mptcp", "endpoint", "flush")
    return try_commands(limits, endpoint, flush, found="limits and endpoints can be set")


def _probe_congestion_control(name: str) -> Finding:
    """A name that the kernel does not list is not tried: as root, asking for it would load its module."""
    if name not in congestion.available():
        return _not_listed(name)
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        try:
            probe.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, name.encode())
        except OSError as error:
            return refused_call(error, "TCP_CONGESTION")
    return ok("a socket can use it")


def _not_listed(name: str) -> Finding:
    module = f"tcp_{name}"
    if not modules.waiting(module):
        return _as_program(name) if name in congestion.shipped() else missing(_LACKING, modules.remedy(module))
    if is_machine_root():
        return ok(f"module {module}, not loaded yet: a run loads it")
    return limited(f"module {module} is not loaded, and only root may load it", f"sudo modprobe {module}")


def _as_program(name: str) -> Finding:
    """What would happen to an algorithm that Flightpath brings along as a BPF program."""
    takes = _probe_struct_ops()
    if takes.state is State.OK and is_machine_root():
        return ok("as a BPF program, not loaded yet: a run loads it")
    if takes.state in (State.OK, State.UNKNOWN):
        return limited("as a BPF program, which only root may load", f"sudo python3 -m congestion load {name}")
    return missing(f"{_LACKING}, and as a BPF program: {takes.found}", modules.remedy(f"tcp_{name}"))


def _probe_struct_ops() -> Finding:
    if not _BTF.exists():
        return missing(f"this kernel has no type information in {_BTF}")
    if _STRUCT_OPS not in _BTF.read_bytes():
        return missing("this kernel takes no TCP congestion control from a BPF program")
    call = _BPF_CALL.get(platform.machine())
    if call is None:
        return unknown(f"the number of the bpf system call on {platform.machine()} is not known to the doctor")
    number = _load_nothing(call)
    if number == 0:
        return ok("the kernel takes TCP congestion controls, and this user may load programs")
    if number in (errno.EPERM, errno.EACCES) and not is_machine_root():
        return unknown("the kernel takes TCP congestion controls, but only root may load them", "run it as root (sudo)")
    return missing(f"bpf(BPF_PROG_LOAD): {os.strerror(number)}")


def _load_nothing(call: int) -> int:
    """Loads a program that returns 0, and lets go of it at once; returns the error's number, 0 for none."""
    program, licence = ctypes.create_string_buffer(_RETURN_0), ctypes.create_string_buffer(b"GPL")
    attribute = struct.pack(
        "IIQQ", _BPF_PROG_TYPE_SCHED_CLS, len(_RETURN_0) // 8, ctypes.addressof(program), ctypes.addressof(licence)
    ).ljust(_ATTRIBUTE_BYTES, b"\0")
    try:
        os.close(libc.call("syscall", call, _BPF_PROG_LOAD, attribute, len(attribute)))
    except OSError as error:
        return error.errno
    return 0


def _probe_clang() -> Finding:
    """Compiles for the BPF machine, which not every build of clang can."""
    clang = require("clang")
    try:
        run([clang, "-target", "bpf", "-O2", "-S", "-o", "-", "-x", "c", "-"], stdin="int f(void) { return 0; }\n")
    except CommandFailed as error:
        return refused(error)
    return ok("clang compiles for BPF")


def _congestion_control(name: str) -> Check:
    return Check(
        CONGESTION_CONTROL,
        name,
        partial(_probe_congestion_control, name),
        "No experiment can use it.",
        f"sudo modprobe tcp_{name}",
        required=name in _REQUIRED,
        sandboxed=True,
    )


def _mptcp(name: str, family: socket.AddressFamily, address: str, *, required: bool) -> Check:
    return Check(
        MPTCP,
        name,
        partial(_probe_mptcp, family, address),
        "Nothing can be measured over several paths, unless they are of the other IP version.",
        "boot the distribution's own kernel (Debian: sudo apt-get install linux-image-amd64)",
        required=required,
        sandboxed=True,
    )


CHECKS = (
    _mptcp("MPTCP over IPv4", socket.AF_INET, "127.0.0.1", required=True),
    _mptcp("MPTCP over IPv6", socket.AF_INET6, "::1", required=False),
    Check(
        MPTCP,
        "path manager",
        _probe_path_manager,
        "MPTCP uses one path only: nobody tells it of the others.",
        "sudo apt-get install iproute2",
        required=True,
        sandboxed=True,
    ),
    *(_congestion_control(name) for name in PAPERS),
    Check(
        BPF,
        "struct_ops",
        _probe_struct_ops,
        "A congestion control that the kernel lacks cannot be added without a module.",
        "boot the distribution's own kernel (Debian: sudo apt-get install linux-image-amd64)",
    ),
    Check(
        BPF,
        "compiler",
        _probe_clang,
        "A congestion control that the kernel lacks cannot be compiled.",
        "sudo apt-get install clang libbpf-dev",
    ),
)
