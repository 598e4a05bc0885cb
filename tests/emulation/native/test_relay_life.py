"""How the relay starts and ends, and what it leaves behind."""

import json
import os
import signal
import subprocess
from contextlib import ExitStack
from pathlib import Path

import pytest

import native
from tests.support.finished import finished
from tests.support.orphans import orphaned
from tests.support.relay_link import Host, relay_argv, until

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0 or not Path("/dev/net/tun").exists(), reason="needs root and /dev/net/tun"),
    pytest.mark.usefixtures("built"),
]


def test_devices_are_made_where_they_belong(tmp_path):
    with ExitStack() as stack:
        hosts = [Host(stack, number) for number in (1, 2)]
        ends = [f"--{side}=eth0@{host.pid}" for side, host in zip("ab", hosts, strict=True)]
        argv = [native.binary("relay"), "--name", "link", *ends, "--control", tmp_path / "control", "--mtu", "4000"]
        relay = subprocess.Popen([*argv, "--b-mac", "02:00:00:00:00:99"], stdout=subprocess.PIPE, text=True)
        stack.callback(relay.communicate)
        stack.callback(relay.kill)
        assert relay.stdout.readline() == "ready\n"
        shown = [json.loads(host.run("ip", "-j", "link", "show", "eth0"))[0] for host in hosts]
        assert [link["mtu"] for link in shown] == [4000, 4000] and shown[1]["address"] == "02:00:00:00:00:99"
        assert shown[0]["txqlen"] == 10_000
        own = json.loads(subprocess.run(["ip", "-j", "link"], check=True, capture_output=True).stdout)
        assert not {"t1", "t2"} & {link["ifname"] for link in own}


def test_the_namespace_of_no_process_is_refused(tmp_path):
    argv = relay_argv(tmp_path / "control")
    argv[argv.index("t1")] = "t1@2147483647"
    done = finished(argv, timeout=20)
    assert done.returncode == 3 and "process that exists" in done.stderr
    assert not (tmp_path / "control").exists()


@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_and_both_devices(make_link, stop):
    link = make_link()
    assert link.a.has_interface() and link.b.has_interface()
    link.process.send_signal(stop)
    assert link.process.wait(20) == 0
    assert not link.control.exists()
    until("both devices to go", lambda: not link.a.has_interface() and not link.b.has_interface())


def test_a_deleted_device_ends_it_with_a_reason(make_link):
    link = make_link()
    link.a.run("ip", "link", "delete", link.a.interface)
    assert link.process.wait(20) == 1
    assert "t1" in link.process.stderr.read()


def test_it_and_its_devices_end_with_its_parent(tmp_path):
    with ExitStack() as stack:
        a, b = Host(stack, 1), Host(stack, 2)
        with orphaned(relay_argv(tmp_path / "control")) as pid:
            a.take(pid, b)
            b.take(pid, a)
        until("both devices to go", lambda: not a.has_interface() and not b.has_interface())


def test_name_in_use_is_refused_and_nothing_is_left(make_link, tmp_path):
    link = make_link()
    inside = ["nsenter", "-t", str(link.process.pid), "-n"]
    subprocess.run([*inside, "ip", "link", "add", "t2", "type", "veth"], check=True)
    second = [*inside, *relay_argv(tmp_path / "second")[2:]]
    done = finished(second, timeout=20)
    assert done.returncode == 3
    assert "t2" in done.stderr and not (tmp_path / "second").exists()
