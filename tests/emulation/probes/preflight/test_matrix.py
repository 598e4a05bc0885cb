"""`preflight --from … --to …` over emulated links: real SSH starts the probes, and each path gets its own figure."""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from flightpath.commands import require
from flightpath.hosts import running
from flightpath.processes import all_processes
from flightpath.project import PROJECT
from flightpath.waiting import wait_until
from services.sshd import Sshd
from topologies.fabric import Fabric
from topologies.links.spec import LinkSpec
from topologies.sandbox.sandbox import TEMPORARY
from topologies.testbed.testbed import Testbed

NEAR_BPS, FAR_BPS = 50_000_000, 20_000_000
LINKS = {
    "access": LinkSpec(bandwidth_bps=NEAR_BPS, delay_s=0.001),
    "links": LinkSpec(bandwidth_bps=FAR_BPS, delay_s=0.002),
}
_LOGIN_PORT = 2200
_LOGIN = """\
Port {port}
ListenAddress {address}
HostKey {server}/host_key
AuthorizedKeysFile {server}/authorized_keys
PidFile none
StrictModes no
UsePAM no
"""
_REACH = """\
Host {name}
    HostName {address}
    Port {port}
    User root
    IdentityFile {client}/id_ed25519
    StrictHostKeyChecking no
    UserKnownHostsFile /dev/null
    LogLevel ERROR
"""

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="sshd lets only root start programs as root"),
    pytest.mark.timeout(180),
]


class Sites:
    """Hosts with two servers each: one for files, and one that starts programs."""

    def __init__(self, testbed: Testbed, stack: ExitStack) -> None:
        self.hosts, folder = testbed.net.hosts, TEMPORARY
        self._sftp, self._login = folder / "sftp", folder / "login"
        for path in (self._sftp, self._login):
            path.write_text("")
        Path("/run/sshd").mkdir(exist_ok=True)
        for host in self.hosts:
            sshd = stack.enter_context(Sshd(host, host.address(), folder / host.name))
            self._add(self._sftp, sshd.client_configuration.read_text().replace("Host dtn", f"Host {host.name}"))
            server, client = sshd.client_configuration.parents[1] / "server", sshd.client_configuration.parent
            configuration = folder / f"{host.name}.sshd"
            configuration.write_text(_LOGIN.format(port=_LOGIN_PORT, address=host.address(), server=server))
            stack.enter_context(running(host, [require("sshd"), "-D", "-e", "-f", str(configuration)]))
            words = {"name": host.name, "address": host.address(), "port": _LOGIN_PORT, "client": client}
            self._add(self._login, _REACH.format(**words))

    def start(self, *words: str) -> subprocess.Popen:
        """Starts the command on the first host."""
        probe = f"cd {PROJECT} && exec {sys.executable} -m probes.preflight -F {self._sftp}"
        script = TEMPORARY / "probe"
        script.write_text(f'#!/bin/sh\n{probe} "$@"\n')
        script.chmod(0o755)
        options = [
            "-F",
            str(self._login),
            "--command",
            str(script),
            "--no-route",
            "--results",
            str(TEMPORARY / "memory"),
        ]
        argv = [sys.executable, "-m", "probes.preflight", *words, *options]
        return self.hosts[0].popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=PROJECT)

    @staticmethod
    def _add(file: Path, text: str) -> None:
        file.write_text(file.read_text() + text)


def probes() -> list[int]:
    lines = {each.pid: each.command_line for each in all_processes()}
    return [
        pid
        for pid, line in lines.items()
        if "probes.preflight" in line and "--spec" in line and line.startswith(sys.executable)
    ]


def test_each_path_has_its_own_figure_and_its_own_history(sandboxed):
    def body() -> None:
        fabric = Fabric(edges=2, hosts=2, cores=1, multihomed=False, congestion_control="cubic", **LINKS)
        with Testbed(fabric) as testbed, ExitStack() as stack:
            sites, drawn = Sites(testbed, stack), TEMPORARY / "paths.png"
            for times, sources, more in ((1, "h1,h2,h3,h4", ()), (2, "h1,h3", ("--at-once", "1"))):
                words = ("--from", sources, "--to", "h1,h2,h3,h4", "--time", "1s", "--json", "--output", str(drawn))
                process = sites.start(*words, *more)
                printed, said = process.communicate(timeout=120)
                assert process.returncode == 0, said
                found = {(each["from"], each["to"]): each for each in json.loads(printed)["pairs"]}
                assert len(found) == said.count(" to ") == {1: 12, 2: 6}[times]
                for (a, b), each in found.items():
                    is_near = {a, b} in ({"h1", "h2"}, {"h3", "h4"})
                    expected, is_shared = (NEAR_BPS, False) if is_near else (FAR_BPS, not more)
                    least = 0.1 if is_shared else 0.75
                    # What waited in the receiver when its first byte was read comes on top, beside other tests.
                    assert least * expected < each["goodput_bps"] < 1.1 * expected, (a, b, each)
                    assert each["standing"] == "unknown" and (each["usual_bps"] is not None) is (times == 2)
            assert drawn.read_bytes().startswith(b"\x89PNG")
            history = sites.start("--from", "h3", "--to", "nowhere", "--json")
            printed, said = history.communicate(timeout=60)
            assert history.returncode == 1 and "nowhere" in json.loads(printed)["pairs"][0]["error"]

    sandboxed(body)


def test_an_interrupted_matrix_leaves_no_probe_running(sandboxed):
    def body() -> None:
        with Testbed(Fabric(edges=2, hosts=2, cores=1, multihomed=False, **LINKS)) as testbed, ExitStack() as stack:
            sites = Sites(testbed, stack)
            process = sites.start("--from", "h1,h2,h3,h4", "--time", "60s")
            wait_until(lambda: len(probes()) >= 2, "two probes at the same time", 30)
            time.sleep(3)
            process.send_signal(signal.SIGINT)
            _, said = process.communicate(timeout=60)
            assert process.returncode == 130 and "Traceback" not in said, said
            wait_until(lambda: not probes(), "the end of all probes", 30)

    sandboxed(body)
