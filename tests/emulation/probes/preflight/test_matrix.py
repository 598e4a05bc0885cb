"""`preflight --from … --to …` over emulated links: real SSH starts the probes, and each path gets its own figure."""

import json
import os
import signal
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from flightpath.commands import require
from flightpath.hosts import running
from flightpath.processes import all_processes
from flightpath.project import PROJECT
from flightpath.waiting import wait_until
from probes.preflight.ssh.remote_folder import PREFIX
from services.sshd import Sshd
from topologies.fabric import Fabric
from topologies.links.spec import LinkSpec
from topologies.sandbox.sandbox import TEMPORARY
from topologies.testbed.testbed import Testbed

ACCESS = LinkSpec(bandwidth_bps=50_000_000, delay_s=0.001)
LINKS = LinkSpec(bandwidth_bps=20_000_000, delay_s=0.002)
_LOGIN = """\
Port 2200
User root
StrictHostKeyChecking no
UserKnownHostsFile /dev/null
LogLevel ERROR
"""
"""Settings of the client for the servers that start programs, which otherwise are those for files."""

pytestmark = [
    pytest.mark.in_sandbox,
    pytest.mark.skipif(os.geteuid() != 0, reason="sshd lets only root start programs as root"),
    pytest.mark.timeout(400),  # half a minute of processor time, which takes minutes beside busy loops and other tests
]


class Sites:
    """Hosts with two servers each: one for files, and one that starts programs."""

    def __init__(self, testbed: Testbed, stack: ExitStack) -> None:
        self.hosts = testbed.net.hosts
        self.files: list[Path] = []
        self._sftp, self._login = TEMPORARY / "sftp", TEMPORARY / "login"
        Path("/run/sshd").mkdir(exist_ok=True)
        reached = ""
        for host in self.hosts:
            sshd = stack.enter_context(Sshd(host, host.address(), TEMPORARY / host.name))
            self.files.append(sshd.files)
            reached += sshd.client_configuration.read_text().replace("Host dtn", f"Host {host.name}")
            configuration = str(sshd.folder / "server" / "sshd_config")
            stack.enter_context(running(host, [require("sshd"), "-D", "-e", "-f", configuration, "-p", "2200"]))
        self._sftp.write_text(reached)
        self._login.write_text(_LOGIN + reached)  # ssh takes the first value of each setting

    def start(self, *words: str) -> subprocess.Popen:
        """Starts the command on the first host."""
        probe = f"cd {PROJECT} && exec {sys.executable} -m probes.preflight -F {self._sftp}"
        script = TEMPORARY / "probe"
        script.write_text(f'#!/bin/sh\n{probe} "$@"\n')
        script.chmod(0o755)
        ways = ["-F", str(self._login), "--command", str(script), "--no-route"]
        argv = [sys.executable, "-m", "probes.preflight", *words, *ways, "--results", str(TEMPORARY / "memory")]
        return self.hosts[0].popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=PROJECT)


def probes() -> list[str]:
    started = [line for each in all_processes() if (line := each.command_line).startswith(sys.executable)]
    return [line for line in started if "probes.preflight" in line and "--spec" in line]


def _figures_and_history(sites: Sites) -> None:
    """Each path has its own figure and its own history."""
    drawn = TEMPORARY / "paths.png"
    # The second time all paths share the link between the edges, in one direction, but one has it at a time.
    for times, ends, more in (
        (1, ("--from", "h1,h2,h3", "--to", "h1,h2,h3"), ()),
        (2, ("--from", "h1,h2", "--to", "h3"), ("--at-once", "1")),
    ):
        words = (*ends, "--time", "1s", "--json", "--output", str(drawn))
        process = sites.start(*words, *more)
        printed, said = process.communicate(timeout=120)
        assert process.returncode in (0, 4), said  # 4: this machine is too busy for exact figures
        found = {(each["from"], each["to"]): each for each in json.loads(printed)["pairs"]}
        assert len(found) == said.count(" to ") == {1: 6, 2: 2}[times]
        for each in found.values():
            assert each["goodput_bps"] > 0
            assert each["standing"] == "unknown" and (each["usual_bps"] is not None) is (times == 2)
    assert drawn.read_bytes().startswith(b"\x89PNG")
    history = sites.start("--from", "h3", "--to", "nowhere", "--json")
    printed, said = history.communicate(timeout=60)
    assert history.returncode == 1 and "nowhere" in json.loads(printed)["pairs"][0]["error"]


def _interruption(sites: Sites) -> None:
    """An interrupted matrix leaves no probe running."""
    process = sites.start("--from", "h1,h2,h3,h4", "--time", "60s")
    wait_until(lambda: sum(any(files.glob(f"{PREFIX}*")) for files in sites.files) >= 2, "two at the same time", 30)
    assert len(probes()) >= 2
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130 and "Traceback" not in said, said
    wait_until(lambda: not probes(), "the end of all probes", 30)


def test_paths_between_four_sites_are_measured_until_somebody_interrupts():
    fabric = Fabric(hosts=2, cores=1, multihomed=False, access=ACCESS, links=LINKS, congestion_control="cubic")
    with Testbed(fabric) as testbed, ExitStack() as stack:
        sites = Sites(testbed, stack)
        _figures_and_history(sites)
        _interruption(sites)
