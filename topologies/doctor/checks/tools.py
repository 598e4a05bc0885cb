"""Checks of programs and Python packages, with their versions."""

import importlib.util
import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from functools import partial
from importlib import import_module, metadata

import native
from flightpath.commands import postgresql_programs, require
from flightpath.errors import MissingCapability
from flightpath.project import IS_CHECKOUT, build_folder
from topologies.doctor.check import COMMAND_TIMEOUT_S, Area, Finding, missing, ok, register

_VERSION = re.compile(r"\d+(?:\.\d+)+(?:[-+~]?\w+)*|\b\d{8}\b")
_NO_VERSION = "installed; it does not report a version"
_JAVA_OPTION = "-XX:-UsePerfData"  # or Java leaves a folder in /tmp
_DISTRIBUTION_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")

_MAKE_ENVIRONMENT = "make environment" if IS_CHECKOUT else "install the wheel again, with its dependencies"
_MAKE_JMETER = "make jmeter" if IS_CHECKOUT else f"{sys.executable} -m probes.jmeter.install"
_tool_check = partial(register, Area.TOOLS)


def version_in(text: str) -> str | None:
    """Finds the first version number in a program's output, for example `3.1.0`, or a date (iputils: `20221126`)."""
    match = _VERSION.search(text)
    return match[0] if match else None


@_tool_check("native relay", costs="There are no emulated links.", remedy=native.BUILD_COMMAND, required=True)
def _probe_relay_binary() -> Finding:
    native.binary("relay")
    return ok("built")


@_tool_check(
    "Python packages", costs="Controller, store and figures do not start.", remedy=_MAKE_ENVIRONMENT, required=True
)
def _probe_python_packages() -> Finding:
    try:
        requirements = metadata.requires("flightpath") or []
    except metadata.PackageNotFoundError as error:
        raise MissingCapability(f"Flightpath is not installed for {sys.executable}", _MAKE_ENVIRONMENT) from error
    matches = [_DISTRIBUTION_NAME.match(line) for line in requirements if "extra ==" not in line]
    names = [match[0] for match in matches if match]
    absent = [name for name in names if not any(metadata.Distribution.discover(name=name))]
    if absent:
        return missing(f"{', '.join(absent)}: not installed for {sys.executable}")
    return ok(f"{len(names)} packages, Python {sys.version.split()[0]}")


@_tool_check("Mininet", costs="There are no hosts.", remedy="sudo apt-get install mininet", required=True)
def _probe_mininet() -> Finding:
    if importlib.util.find_spec("mininet") is None:
        return missing(f"{sys.executable} cannot import it", _MAKE_ENVIRONMENT)
    return _probe_program(("mn", "--version"), also=("mnexec",))


@_tool_check(
    "PostgreSQL",
    costs="There is no database for the web service under load.",
    remedy="sudo apt-get install postgresql",
    required=True,
)
def _probe_postgresql() -> Finding:
    try:
        program = postgresql_programs() / "postgres"
    except MissingCapability as error:
        return missing(error.args[0])
    return _probe_program((str(program), "--version"))


@_tool_check("JMeter", costs="There is no load generator.", remedy=_MAKE_JMETER, required=True)
def _probe_jmeter() -> Finding:
    home = build_folder() / "jmeter"
    program = home / "bin" / "ApacheJMeter.jar"
    if not program.is_file():
        return missing(f"it is not installed in {home}")
    with zipfile.ZipFile(program) as jar:
        manifest = jar.read("META-INF/MANIFEST.MF").decode()
    version = re.search(r"^Implementation-Version: (\S+)", manifest, re.MULTILINE)
    return ok(version[1] if version else _NO_VERSION)


@_tool_check("QUIC", costs="transport_league has no QUIC.", remedy="make quic")
def _probe_quic() -> Finding:
    known = import_module("services.quic.implementations").IMPLEMENTATIONS  # named as text: no network knows services
    for implementation in known.values():
        implementation.require()
    return ok(", ".join(f"{each.name} {each.version}" for each in known.values()))


def _probe_program(argv: Sequence[str], also: Sequence[str] = ()) -> Finding:
    """Asks a program for its version; some print it on stderr, or return an exit code other than 0."""
    for program in also:
        require(program)
    done = subprocess.run(
        [require(argv[0]), *argv[1:]],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        timeout=COMMAND_TIMEOUT_S,
        check=False,
        env={**os.environ, "LC_ALL": "C", "MAVEN_OPTS": _JAVA_OPTION},
    )
    version = version_in(done.stdout)
    if version is not None:
        return ok(version)
    if done.returncode != 0:
        return missing(f"it does not run: exit code {done.returncode}: {done.stdout}")
    return ok(_NO_VERSION)


def _program(name: str, command: str, package: str, costs: str, *, required: bool = False, also: str = "") -> None:
    """Registers a check of a Debian package's program; `command` prints its version, `also` must exist too."""
    _tool_check(name, costs=costs, remedy=f"sudo apt-get install {package}", required=required)(
        partial(_probe_program, command.split(), also.split())
    )


_program(
    "Open vSwitch",
    "ovs-vswitchd --version",
    "openvswitch-switch",
    "There are no switches.",
    required=True,
    also="ovsdb-server ovsdb-tool ovs-vsctl ovs-appctl",
)
_program(
    "iproute2", "ip -V", "iproute2", "Hosts have no addresses, routes or MPTCP endpoints.", required=True, also="ss tc"
)
_program("util-linux", "nsenter --version", "util-linux", "No program starts in a host.", required=True, also="setpriv")
_program("procps", "sysctl --version", "procps", "Hosts keep the kernel's default settings.", required=True)
_program("iputils", "ping -V", "iputils-ping", "Paths cannot be calibrated before a run.", required=True)
_program("nginx", "nginx -v", "nginx", "There is no web server to put under load.", required=True)
_program("mptcpize", "mptcpize --version", "mptcpize", "Unmodified programs speak only plain TCP.", required=True)
_program("Java", f"java {_JAVA_OPTION} -version", "default-jre-headless", "JMeter does not start.", required=True)
_program("Maven", "mvn --version", "maven", "JMeter cannot be installed; once installed, it works without.")
_program("iperf3", "iperf3 --version", "iperf3", "Some scenarios, tests and benchmarks cannot run.")
_program("vsftpd", "vsftpd -v", "vsftpd", "There are no downloads by FTP: two scenarios cannot run.")
_program("wget", "wget --version", "wget", "There are no downloads by FTP: two scenarios cannot run.")
_program("tcpdump", "tcpdump --version", "tcpdump", "The option --capture does not work.")
_program("ethtool", "ethtool --version", "ethtool", "Offloads of interfaces cannot be shown or switched.")
_program("gcc", "gcc --version", "gcc libc6-dev linux-libc-dev", "native/ cannot be built again.")
_program("clang", "clang --version", "clang", "BPF programs cannot be compiled, and parsers cannot be fuzzed.")
