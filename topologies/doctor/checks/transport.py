"""Checks of transports: MPTCP, TCP congestion controls, and BPF programs that add such algorithms."""

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
from congestion.loader import KERNEL_TYPES
from flightpath import libc
from flightpath.commands import require, run
from flightpath.processes import is_machine_root
from flightpath.tcp_info import counters
from topologies.doctor import kernel_modules
from topologies.doctor.check import (
    COMMAND_TIMEOUT_S,
    Area,
    Finding,
    State,
    failed_call,
    limited,
    missing,
    ok,
    register,
    try_commands,
    unknown,
)

ALGORITHMS = (
    *("reno", "cubic", "bbr"),
    *("bic", "htcp", "vegas", "veno", "illinois", "scalable", "highspeed", "westwood", "elastic"),
)
"""Congestion controls in the reproduced papers."""

_REQUIRED = ("cubic",)  # in the main experiment
_NOT_IN_KERNEL = "this kernel does not have it"
_ENABLE_MPTCP = "sudo sysctl -w net.mptcp.enabled=1"
_NO_PROTOCOL = (errno.ENOPROTOOPT, errno.EPROTONOSUPPORT, errno.EAFNOSUPPORT)
_PEER_ANSWERED = "MPCapableSYNACKRX"
_STRUCT_OPS = b"\0bpf_struct_ops_tcp_congestion_ops\0"
_BPF_CALL = {"x86_64": 321, "aarch64": 280}
_BPF_PROG_LOAD, _BPF_PROG_TYPE_SCHED_CLS = 5, 3
_RETURN_0 = struct.pack("<BBhi", 0xB7, 0, 0, 0) + struct.pack("<BBhi", 0x95, 0, 0, 0)
_ATTRIBUTE_BYTES = 128


def _probe_mptcp(family: socket.AddressFamily, address: str) -> Finding:
    """Connects over the sandbox's loopback interface; a kernel counter proves that MPTCP version 1 is used."""
    run([require("ip"), "link", "set", "dev", "lo", "up"], timeout_s=COMMAND_TIMEOUT_S)
    before = _answered_handshakes()
    try:
        _connect(family, address)
    except OSError as error:
        finding = failed_call(error, "socket" if error.errno in _NO_PROTOCOL else "connection")
        return dataclasses.replace(finding, remedy=_ENABLE_MPTCP) if error.errno == errno.ENOPROTOOPT else finding
    if _answered_handshakes() == before:
        return missing("connections fall back to TCP", _ENABLE_MPTCP)
    return ok("a connection is made without falling back to TCP")


def _connect(family: socket.AddressFamily, address: str) -> None:
    with (
        socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_MPTCP) as listener,
        socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_MPTCP) as client,
    ):
        listener.bind((address, 0))
        listener.listen()
        for end in (listener, client):
            end.settimeout(COMMAND_TIMEOUT_S)
        client.connect(listener.getsockname())
        with listener.accept()[0] as server:
            server.sendall(b"1")
            client.recv(1)


def _answered_handshakes() -> int:
    return counters(Path("/proc/net/netstat").read_text(encoding="ascii"), "MPTcpExt").get(_PEER_ANSWERED, 0)


for _version, _family, _address in ((4, socket.AF_INET, "127.0.0.1"), (6, socket.AF_INET6, "::1")):
    register(
        Area.MPTCP,
        f"MPTCP over IPv{_version}",
        costs="Nothing can be measured over several paths, except with the other IP version.",
        remedy=kernel_modules.STOCK_KERNEL,
        required=_version == 4,
        sandboxed=True,
    )(partial(_probe_mptcp, _family, _address))


@register(
    Area.MPTCP,
    "path manager",
    costs="MPTCP uses only one path, because it does not learn of the others.",
    remedy="sudo apt-get install iproute2",
    required=True,
    sandboxed=True,
)
def _probe_path_manager() -> Finding:
    limits = ("ip", "mptcp", "limits", "set", "subflow", "3", "add_addr_accepted", "3")
    endpoint = ("ip", "mptcp", "endpoint", "add", "192.0.2.1", "signal")
    flush = ("ip", "mptcp", "endpoint", "flush")
    return try_commands(limits, endpoint, flush, found="limits and endpoints can be set")


def _probe_congestion_control(name: str) -> Finding:
    """Tries an algorithm if the kernel lists it: otherwise, as root, an attempt would load its module."""
    if name not in congestion.available():
        return _not_listed(name)
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        try:
            probe.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, name.encode())
        except OSError as error:
            return failed_call(error, "TCP_CONGESTION")
    return ok("a socket can use it")


def _not_listed(name: str) -> Finding:
    module = f"tcp_{name}"
    if not kernel_modules.is_loadable(module):
        is_shipped = name in congestion.shipped()
        return _as_bpf_program(name) if is_shipped else missing(_NOT_IN_KERNEL, kernel_modules.remedy(module))
    if is_machine_root():
        return ok(f"module {module}, not loaded yet: a run loads it")
    return limited(f"module {module} is not loaded, and only root may load it", f"sudo modprobe {module}")


def _as_bpf_program(name: str) -> Finding:
    support = _probe_struct_ops()
    if support.state is State.OK and is_machine_root():
        return ok("as a BPF program, not loaded yet: a run loads it")
    if support.state in (State.OK, State.UNKNOWN):
        return limited("as a BPF program, which only root may load", f"sudo flightpath congestion load {name}")
    return missing(f"{_NOT_IN_KERNEL}, and as a BPF program: {support.found}", kernel_modules.remedy(f"tcp_{name}"))


for _name in ALGORITHMS:
    register(
        Area.CONGESTION_CONTROL,
        _name,
        costs="No experiment can use it.",
        remedy=f"sudo modprobe tcp_{_name}",
        required=_name in _REQUIRED,
        sandboxed=True,
    )(partial(_probe_congestion_control, _name))


@register(
    Area.BPF,
    "struct_ops",
    costs="A congestion control that the kernel lacks cannot be added without a module.",
    remedy=kernel_modules.STOCK_KERNEL,
)
def _probe_struct_ops() -> Finding:
    if not KERNEL_TYPES.exists():
        return missing(f"this kernel has no type information in {KERNEL_TYPES}")
    if _STRUCT_OPS not in KERNEL_TYPES.read_bytes():
        return missing("this kernel does not accept TCP congestion controls as BPF programs")
    call = _BPF_CALL.get(platform.machine())
    if call is None:
        return unknown(f"the doctor does not know the number of the bpf system call on {platform.machine()}")
    # Loads a program that returns 0, and releases it at once.
    program, licence = ctypes.create_string_buffer(_RETURN_0), ctypes.create_string_buffer(b"GPL")
    attribute = struct.pack(
        "IIQQ", _BPF_PROG_TYPE_SCHED_CLS, len(_RETURN_0) // 8, ctypes.addressof(program), ctypes.addressof(licence)
    ).ljust(_ATTRIBUTE_BYTES, b"\0")
    try:
        os.close(libc.call("syscall", call, _BPF_PROG_LOAD, attribute, len(attribute)))
    except OSError as error:
        if isinstance(error, PermissionError) and not is_machine_root():
            return unknown("the kernel accepts TCP congestion controls, but only from root", "run it as root (sudo)")
        return missing(f"bpf(BPF_PROG_LOAD): {error.strerror}")
    return ok("the kernel accepts TCP congestion controls, and this user may load programs")


@register(
    Area.BPF,
    "compiler",
    costs="A congestion control that the kernel lacks cannot be compiled.",
    remedy="sudo apt-get install clang libbpf-dev",
)
def _probe_compiler() -> Finding:
    """Compiles a function for BPF, which not every build of clang can."""
    clang = require("clang")
    run([clang, "-target", "bpf", "-O2", "-S", "-o", "-", "-x", "c", "-"], stdin="int f(void) { return 0; }\n")
    return ok("clang compiles for BPF")
