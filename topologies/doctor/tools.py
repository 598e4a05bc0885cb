"""Which programs are here, in which versions: without it a missing package would show only in the middle of a run."""

import importlib.util
import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from functools import partial
from importlib import metadata
from pathlib import Path

import native
from flightpath.commands import require
from flightpath.errors import MissingCapability
from flightpath.project import PROJECT
from topologies.doctor.check import COMMAND_LIMIT_S, Check, Finding, missing, ok

AREA = "tools"
_JMETER = PROJECT / "build" / "jmeter" / "bin" / "ApacheJMeter.jar"
_POSTGRESQL = Path("/usr/lib/postgresql")
_VERSION = re.compile(r"\d+(?:\.\d+)+(?:[-+~]?\w+)*|\b\d{8}\b")
_NO_CRUMBS = "-XX:-UsePerfData"  # else Java leaves a folder in /tmp
_DISTRIBUTION_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def version_in(text: str) -> str | None:
    """The first version in what a program says of itself, for example `3.1.0`, or a date as iputils has it."""
    match = _VERSION.search(text)
    return match[0] if match else None


def _probe_program(argv: Sequence[str], also: Sequence[str] = ()) -> Finding:
    """Asks a program for its version; some say it on stderr, or end with another exit code than 0."""
    for program in also:
        require(program)
    said = subprocess.run(
        [require(argv[0]), *argv[1:]],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        timeout=COMMAND_LIMIT_S,
        check=False,
        env={**os.environ, "LC_ALL": "C", "MAVEN_OPTS": _NO_CRUMBS},
    )
    version = version_in(said.stdout)
    if version is not None:
        return ok(version)
    if said.returncode != 0:
        return missing(f"it does not run: exit code {said.returncode}: {said.stdout}")
    return ok("of no version that it tells")


def _probe_mininet() -> Finding:
    if importlib.util.find_spec("mininet") is None:
        return missing(f"{sys.executable} cannot import it", "make environment")
    return _probe_program(("mn", "--version"), also=("mnexec",))


def _probe_postgresql() -> Finding:
    newest = max(
        (folder for folder in _POSTGRESQL.glob("*/bin") if os.access(folder / "initdb", os.X_OK)),
        key=lambda folder: [int(part) for part in folder.parent.name.split(".") if part.isdigit()],
        default=None,
    )
    if newest is None:
        return missing(f"no server in {_POSTGRESQL}")
    return _probe_program((str(newest / "postgres"), "--version"))


def _probe_jmeter() -> Finding:
    if not _JMETER.is_file():
        return missing(f"it is not assembled in {_JMETER.parents[1]}")
    with zipfile.ZipFile(_JMETER) as jar:
        manifest = jar.read("META-INF/MANIFEST.MF").decode()
    said = re.search(r"^Implementation-Version: (\S+)", manifest, re.MULTILINE)
    return ok(said[1] if said else "of no version that it tells")


def _probe_relay_binary() -> Finding:
    native.binary("relay")
    return ok("built")


def _probe_python_packages() -> Finding:
    try:
        wanted = metadata.requires("flightpath") or []
    except metadata.PackageNotFoundError as error:
        raise MissingCapability(f"Flightpath is not installed for {sys.executable}", "make environment") from error
    names = [_DISTRIBUTION_NAME.match(line)[0] for line in wanted if "extra ==" not in line]
    absent = [name for name in names if not _is_installed(name)]
    if absent:
        return missing(f"{', '.join(absent)}: not installed for {sys.executable}")
    return ok(f"{len(names)} packages, Python {sys.version.split()[0]}")


def _is_installed(name: str) -> bool:
    try:
        metadata.version(name)
    except metadata.PackageNotFoundError:
        return False
    return True


def _program(
    name: str, argv: Sequence[str], package: str, costs: str, *, required: bool = False, also: Sequence[str] = ()
) -> Check:
    remedy = f"sudo apt-get install {package}"
    return Check(AREA, name, partial(_probe_program, argv, also), costs, remedy, required=required)


CHECKS = (
    Check(
        AREA,
        "native relay",
        _probe_relay_binary,
        "There are no emulated links.",
        "make native",
        required=True,
    ),
    Check(
        AREA,
        "Python packages",
        _probe_python_packages,
        "Controller, store and figures do not start.",
        "make environment",
        required=True,
    ),
    Check(
        AREA,
        "Mininet",
        _probe_mininet,
        "There are no hosts.",
        "sudo apt-get install mininet",
        required=True,
    ),
    _program(
        "Open vSwitch",
        ("ovs-vswitchd", "--version"),
        "openvswitch-switch",
        "There are no switches.",
        required=True,
        also=("ovsdb-server", "ovsdb-tool", "ovs-vsctl", "ovs-appctl"),
    ),
    _program(
        "iproute2",
        ("ip", "-V"),
        "iproute2",
        "Hosts have no addresses, routes or MPTCP endpoints.",
        required=True,
        also=("ss", "tc"),
    ),
    _program(
        "util-linux",
        ("nsenter", "--version"),
        "util-linux",
        "Nothing starts in a host.",
        required=True,
        also=("setpriv",),
    ),
    _program("procps", ("sysctl", "--version"), "procps", "Hosts keep the kernel's defaults.", required=True),
    _program("iputils", ("ping", "-V"), "iputils-ping", "Paths cannot be calibrated before a run.", required=True),
    _program("nginx", ("nginx", "-v"), "nginx", "There is no web server to put under load.", required=True),
    Check(
        AREA,
        "PostgreSQL",
        _probe_postgresql,
        "There is no database to put under load.",
        "sudo apt-get install postgresql",
        required=True,
    ),
    _program(
        "mptcpize", ("mptcpize", "--version"), "mptcpize", "Unmodified programs speak plain TCP only.", required=True
    ),
    _program("Java", ("java", _NO_CRUMBS, "-version"), "default-jre-headless", "JMeter does not start.", required=True),
    Check(AREA, "JMeter", _probe_jmeter, "There is nobody to make load.", "make jmeter", required=True),
    _program("Maven", ("mvn", "--version"), "maven", "JMeter cannot be assembled; an assembled one does without."),
    _program("iperf3", ("iperf3", "--version"), "iperf3", "Some tests and benchmarks cannot run."),
    _program("vsftpd", ("vsftpd", "-v"), "vsftpd", "There are no downloads by FTP: two scenarios cannot run."),
    _program("wget", ("wget", "--version"), "wget", "There are no downloads by FTP: two scenarios cannot run."),
    _program("tcpdump", ("tcpdump", "--version"), "tcpdump", "The option --capture does not work."),
    _program("ethtool", ("ethtool", "--version"), "ethtool", "Offloads of interfaces cannot be told or switched."),
    _program("gcc", ("gcc", "--version"), "gcc libc6-dev linux-libc-dev", "native/ cannot be built again."),
    _program("clang", ("clang", "--version"), "clang", "BPF programs cannot be compiled, and parsers not fuzzed."),
)
