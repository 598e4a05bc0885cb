"""The doctor on this machine: its report is correct, and it leaves nothing behind, however it ends."""

import fcntl
import json
import os
import signal
import socket
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import congestion
from flightpath.project import PROJECT
from flightpath.waiting import wait_until
from tests.support.finished import finished
from tests.support.machine_state import interfaces, marked, marked_environment
from tests.support.ordinary_user import dropped, require_ordinary_user
from topologies.doctor.check import examine
from topologies.doctor.examination import CHECKS

pytestmark = pytest.mark.alone

DOCTOR = [sys.executable, "-B", "-m", "topologies", "doctor"]
LIMIT_S = 60

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to try the same in a namespace of its own")


@pytest.fixture(scope="module")
def examined(tmp_path_factory):
    """Runs the doctor once; returns its JSON object, exit code, mark, and the folders where it could leave files."""
    folders = [tmp_path_factory.mktemp(name) for name in ("home", "temporary")]
    (mark, environment), before = marked_environment(), (interfaces(), Path("/proc/self/mounts").read_text())
    own = {"HOME": str(folders[0]), "TMPDIR": str(folders[1])}
    done = finished([*DOCTOR, "--json"], env={**environment, **own}, timeout=LIMIT_S)
    after = (interfaces(), Path("/proc/self/mounts").read_text())
    assert done.stderr == ""
    return json.loads(done.stdout), done.returncode, mark, folders, before, after


@pytest.fixture(scope="module")
def states(examined):
    return {check["name"]: check["state"] for check in examined[0]["checks"]}


def test_nothing_is_left_and_nothing_outside_has_changed(examined):
    _, _, mark, folders, before, after = examined

    assert marked(mark) == []
    assert [list(folder.iterdir()) for folder in folders] == [[], []]
    assert after == before
    assert not Path("/run/flightpath").exists()


@pytest.mark.in_sandbox
def test_a_probe_leaves_nothing_to_the_next_one():
    def network() -> str:
        links = finished(["ip", "-oneline", "link", "show"], check=True).stdout
        names = sorted(line.split(": ")[1] for line in links.splitlines())
        queues = finished(["tc", "qdisc", "show"], check=True).stdout
        return f"{names} {queues}"

    subprocess.run(["ip", "link", "set", "dev", "lo", "up"], check=True)  # as probes of MPTCP do
    untouched = network()
    for check in CHECKS:
        if check.sandboxed:
            first = examine(check)
            assert network() == untouched, check.name
            assert examine(check).state is first.state, check.name


INTERFACES = {
    "veth": "ip link add test0 type veth peer name peer0",
    "GRE": "ip link add test0 type gre local 127.0.0.1 remote 127.0.0.2",
    "IFB": "ip link add test0 type ifb",
}


@needs_root
@pytest.mark.parametrize("name", ["netem", "htb", "fq", "fq_codel", "codel", *INTERFACES])
def test_disciplines_and_interfaces_are_told_as_tc_and_ip_find_them(states, name):
    if name in INTERFACES and Path("/proc/modules").exists():
        pytest.skip("to try it could load a module that adds interfaces to this machine")
    command = INTERFACES.get(name, f"tc qdisc add dev lo root {name}")
    tried = subprocess.run(["unshare", "--net", "--", *command.split()], capture_output=True, timeout=LIMIT_S)

    assert states[name] == ("missing" if tried.returncode else "ok")


def test_offloads_are_told_as_the_kernel_takes_them(states, sandboxed):
    if not os.access("/dev/net/tun", os.R_OK | os.W_OK):
        pytest.skip("this user may not open /dev/net/tun")

    def takes(handle: int, flags: int) -> bool:
        try:
            fcntl.ioctl(handle, 0x400454D0, flags)  # TUNSETOFFLOAD
        except OSError:
            return False
        return True

    def body() -> None:
        handle = os.open("/dev/net/tun", os.O_RDWR)
        fcntl.ioctl(handle, 0x400454CA, struct.pack("16sH22x", b"test0", 0x0002 | 0x1000 | 0x4000))  # TUNSETIFF
        assert states["TAP offload TSO"] == ("ok" if takes(handle, 0x01 | 0x02 | 0x04) else "missing")
        assert states["TAP offload USO"] == ("ok" if takes(handle, 0x01 | 0x02 | 0x04 | 0x20 | 0x40) else "missing")

    sandboxed(body)


def test_a_congestion_control_is_called_usable_if_the_kernel_lists_it_and_else_only_if_a_run_can_load_it(states):
    listed = Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text().split()
    assert {states.get(name, "ok") for name in listed} == {"ok"}
    for name in {"bic", "vegas", "veno", "illinois", "westwood"} - set(listed):
        with socket.socket() as probe:
            try:
                probe.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, name.encode())
            except OSError:
                if states[name] == "ok":
                    with congestion.provided(name):
                        probe.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, name.encode())


@pytest.mark.parametrize(
    ("name", "family"), [("MPTCP over IPv4", socket.AF_INET), ("MPTCP over IPv6", socket.AF_INET6)]
)
def test_mptcp_is_told_as_the_kernel_makes_sockets(states, name, family):
    try:
        socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_MPTCP).close()
    except OSError:
        assert states[name] == "missing"
    else:
        assert states[name] == "ok"


@needs_root
@pytest.mark.parametrize(
    ("number", "meanwhile", "code"), [(signal.SIGKILL, "ovs-vswitchd unix:", -9), (signal.SIGINT, "ovsdb-server", 130)]
)
def test_a_signal_in_the_middle_ends_it_and_leaves_nothing(number, meanwhile, code):
    (mark, environment), before = marked_environment(), interfaces()
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(DOCTOR, cwd=PROJECT, env=environment, text=True, **pipes) as process:
        wait_until(
            lambda: any(meanwhile in each.command_line for each in marked(mark)),
            "the doctor to start its Open vSwitch",
            LIMIT_S,
            poll_s=0.001,
        )
        process.send_signal(number)
        output, complained = process.communicate(timeout=LIMIT_S)

    assert process.returncode == code
    assert output == ""
    assert "Traceback" not in complained
    # Others notice the end of the killed one, which ends them.
    wait_until(lambda: not marked(mark), "all that the doctor has started to end", 30 if code < 0 else 0)
    assert interfaces() == before


@pytest.fixture
def as_ordinary_user() -> Callable[..., tuple[dict[str, dict], int]]:
    """Runs the doctor as a user who owns nothing."""
    require_ordinary_user()

    def run(*prefix: str) -> tuple[dict[str, dict], int]:
        done = finished(dropped([*prefix, *DOCTOR, "--json"]), timeout=LIMIT_S)
        assert done.stderr == ""
        return {check["name"]: check for check in json.loads(done.stdout)["checks"]}, done.returncode

    return run


def test_without_root_what_cannot_be_tried_is_unknown_and_not_missing(as_ordinary_user, states):
    checks, code = as_ordinary_user()

    assert code == (3 if any(c["required"] and c["state"] == "missing" for c in checks.values()) else 0)
    if states["struct_ops"] == "ok":
        assert checks["struct_ops"]["state"] == "unknown"
        assert "root" in checks["struct_ops"]["remedy"]
    if not Path("/dev/net/tun").stat().st_mode & 0o006 and checks["sandbox"]["state"] == "ok":
        assert checks["/dev/net/tun"]["state"] == "missing"
        for name in ("TUN/TAP devices", "TAP offload TSO", "relay", "OVS user datapath"):
            assert checks[name]["state"] == "unknown", name
    if checks["sandbox"]["state"] == "ok":
        for name in ("htb", "netem", "MPTCP over IPv4", "cubic"):
            assert checks[name]["state"] == states[name], name
    assert not any(check["remedy"].startswith(("apt-get", "tee", "modprobe")) for check in checks.values())


def test_where_users_may_not_make_namespaces_it_says_so(as_ordinary_user):
    """A user namespace with a limit of 0 behaves like a machine that forbids namespaces."""
    limit = 'echo 0 > /proc/sys/user/max_user_namespaces && exec setpriv --inh-caps=-all --ambient-caps=-all "$@"'
    forbid = ["unshare", "--user", "--map-current-user", "--keep-caps", "sh", "-c", limit, "sh"]
    if finished(dropped([*forbid, "true"]), timeout=LIMIT_S).returncode:
        pytest.skip("this machine forbids namespaces itself")

    checks, code = as_ordinary_user(*forbid)

    assert code == 3
    assert checks["sandbox"]["state"] == "missing"
    assert checks["sandbox"]["remedy"] == "sudo sysctl -w user.max_user_namespaces=10000"
    assert {checks[name]["state"] for name in ("htb", "relay", "MPTCP over IPv4", "cubic")} == {"unknown"}
    assert checks["iproute2"]["state"] == "ok"  # what needs no sandbox is told all the same
