"""The congestion control of a Mininet network: a stated default, whatever this machine's own is.

The kernel refuses a network namespace a default that the machine does not allow to all users. Then a preloaded library
(`native/hosts/sockets.c`) sets it on each socket that would have the machine's own. What a program chooses by itself,
and what `sysctl -w net.ipv4.tcp_congestion_control` sets in a host, take precedence in both cases.
"""

import os
import shutil
from pathlib import Path

from mininet.node import Node

import congestion
import native
from congestion.provision import unknown
from flightpath.errors import MissingCapability
from topologies.sandbox import kernel_settings
from topologies.sandbox.sandbox import TEMPORARY

DEFAULT = "cubic"

PROGRAMS = TEMPORARY / "bin"
"""Folder of programs that are found before the machine's own."""

_KERNEL_DEFAULT = Path("/proc/sys/net/ipv4/tcp_congestion_control")
_PRELOADED = "SOCKETS_CONGESTION_CONTROL"
_MACHINES_OWN = "SOCKETS_INSTEAD_OF"
_CHOSEN = f"{TEMPORARY}/own-congestion-control-"
"""Beginning of the path of a file for each network namespace in which sysctl(8) has set a congestion control."""

_SYSCTL = """\
#!/bin/sh
# Notes that a host has a congestion control of its own, which may be the machine's.
case "$*" in *tcp_congestion_control*=*) : > {chosen}$(stat -Lc %i /proc/self/ns/net) ;; esac
exec {sysctl} "$@"
"""
_MPTCPIZE = """\
#!/bin/sh
# mptcpize replaces LD_PRELOAD; this puts the library that was in it before mptcpize's own.
[ "$1" = run ] || exec {mptcpize} "$@"
shift
[ "$1" != -d ] || {{ debug=-d; shift; }}
exec {mptcpize} run $debug sh -c 'LD_PRELOAD={library}:$LD_PRELOAD exec "$@"' sh "$@"
"""


def provide(requested: str | None) -> None:
    """Makes a congestion control available, outside the sandbox; None is the default, which a kernel may lack."""
    try:
        congestion.ensure(requested or DEFAULT)
    except MissingCapability:
        if requested is not None:
            raise


def choose(requested: str | None) -> None:
    """Sets the congestion control of this sandbox; None is the default, or the machine's own if the kernel lacks it."""
    algorithm, own = congestion.name_of(requested or DEFAULT), _KERNEL_DEFAULT.read_text().strip()
    if algorithm not in congestion.available():
        if requested is not None:
            raise unknown(requested)
    elif algorithm != own:
        try:
            _KERNEL_DEFAULT.write_text(algorithm)
        except PermissionError:
            _preload(algorithm, own)


def in_force(node: Node | None = None) -> str:
    """Returns the congestion control of a node's connections, or the sandbox's, unless a program chooses another."""
    with kernel_settings.inside(node):
        own = _KERNEL_DEFAULT.read_text().strip()
        is_replaced = own == os.environ.get(_MACHINES_OWN) and not _mark().exists()
    return os.environ[_PRELOADED] if is_replaced else own


def pass_on(node: Node) -> None:
    """Gives a node the sandbox's own default, as hosts of Mininet have the machine's."""
    default, is_chosen = _KERNEL_DEFAULT.read_text(), _mark().exists()
    with kernel_settings.inside(node):
        if _KERNEL_DEFAULT.read_text() != default:
            _KERNEL_DEFAULT.write_text(default)
        if is_chosen:
            _mark().touch()


def _mark() -> Path:
    return Path(f"{_CHOSEN}{Path('/proc/thread-self/ns/net').stat().st_ino}")


def _preload(algorithm: str, own: str) -> None:
    library = TEMPORARY / "sockets.so"  # a path without spaces, which LD_PRELOAD needs
    library.symlink_to(native.binary("sockets.so"))
    before = os.environ.get("LD_PRELOAD")
    os.environ |= {"LD_PRELOAD": f"{library}:{before}" if before else str(library)}
    os.environ |= {_PRELOADED: algorithm, _MACHINES_OWN: own, "SOCKETS_UNLESS": _CHOSEN}
    for name, text in (("mptcpize", _MPTCPIZE), ("sysctl", _SYSCTL)):
        if path := shutil.which(name):
            offer_program(name, text.format(**{name: path}, library=library, chosen=_CHOSEN))


def offer_program(name: str, text: str) -> None:
    """Puts a script on PATH, before the machine's own program of this name."""
    PROGRAMS.mkdir(exist_ok=True)
    (PROGRAMS / name).write_text(text)
    (PROGRAMS / name).chmod(0o755)
    if str(PROGRAMS) not in os.environ["PATH"].split(os.pathsep):
        os.environ["PATH"] = f"{PROGRAMS}:{os.environ['PATH']}"
