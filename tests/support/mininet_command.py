"""Mininet's `mn` with Flightpath's file, started for a test, and what a network of Mininet's would leave behind."""

import os
import subprocess
import sys
from pathlib import Path

from flightpath.project import PROJECT

CUSTOM = ["--custom", "topologies/mn.py"]


def mn(*arguments: str, script: str = "", timeout_s: float = 100) -> subprocess.CompletedProcess[str]:
    """Runs mn with a script on stdin; stderr, where Mininet's log goes, is mixed into stdout in order."""
    return subprocess.run(
        ["mn", *CUSTOM, *arguments],
        cwd=PROJECT,
        input=script,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=timeout_s,
        check=False,
    )


MN_RUN = [sys.executable, "-m", "topologies.mininet.scripts.program"]


def mn_run(script: Path, *arguments: str, typed: str = "", timeout_s: float = 100) -> subprocess.CompletedProcess[str]:
    """Runs a script as `flightpath mn-run` does; stderr is mixed into stdout in order."""
    return subprocess.run(
        [*MN_RUN, str(script), *arguments],
        cwd=PROJECT,
        input=typed,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=timeout_s,
        check=False,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )


def in_namespaces(script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs a shell script as root of mount, network and PID namespaces of its own; stderr is mixed into stdout."""
    contained = ["unshare", "--mount", "--net", "--pid", "--fork", "--kill-child", "--mount-proc"]
    return subprocess.run(
        [*contained, "sh", "-c", script, "sh", *arguments],
        cwd=PROJECT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=60,
        check=False,
    )


def machine() -> tuple[set[str], set[str]]:
    """What a network of Mininet's would leave: interfaces, and files of an Open vSwitch."""
    return {path.name for path in Path("/sys/class/net").iterdir()}, set(map(str, Path("/run").glob("openvswitch/*")))
