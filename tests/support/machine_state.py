"""Things that a program may leave behind on a machine: processes, interfaces, files, kernel settings."""

import os
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from flightpath.errors import FlightpathError
from flightpath.processes import Process, all_processes
from flightpath.waiting import wait_until

MARK = "FLIGHTPATH_CAMPAIGN"
"""A variable in the environment of all that the campaign or a test starts, with a value for each time."""

_KERNEL = ("net/ipv4/tcp_available_congestion_control", "net/ipv4/tcp_congestion_control", "net/core/bpf_jit_enable")
_FOLDERS = ("/sys/class/net", "/run", "/run/netns", "/run/openvswitch", "/dev/shm", "/sys/fs/bpf")


def interfaces() -> set[str]:
    """The names of this namespace's network interfaces."""
    return {path.name for path in Path("/sys/class/net").iterdir()}


def marked_environment() -> tuple[str, dict[str, str]]:
    """A new mark, and this process's environment with it."""
    mark = uuid.uuid4().hex
    return mark, {**os.environ, MARK: mark}


def marked(mark: str) -> list[Process]:
    """The processes that were started with this mark, wherever they are in the tree by now."""
    return [each for each in all_processes() if f"{MARK}={mark}".encode() in _read(f"/proc/{each.pid}/environ")]


@dataclass(frozen=True)
class MachineState:
    """Names in folders where networks, services and programs leave theirs, mounts, and settings of the kernel."""

    names: frozenset[str]

    @classmethod
    def read(cls) -> Self:
        folders = (Path(name) for name in _FOLDERS)
        entries = (str(path) for folder in folders if folder.is_dir() for path in folder.iterdir())
        mounts = (line.split()[1] for line in Path("/proc/self/mounts").read_text().splitlines())
        settings = (f"{name} = {_read(f'/proc/sys/{name}').decode().strip()}" for name in _KERNEL)
        return cls(frozenset((*entries, *(f"mounted {at}" for at in mounts), *settings)))

    def faults(self, mark: str, seen: list[Process], limit_s: float = 30) -> list[str]:
        """Differences from this state, and who still runs of those marked or seen, once that does not get less."""

        def left() -> list[str]:
            alive = {each.pid: each for each in (*marked(mark), *seen) if each.is_alive()}
            running = [f"still runs: {each.command_line[:80]}" for each in alive.values()]
            return running + [f"left behind or lost: {name}" for name in sorted(self.names ^ self.read().names)]

        try:
            wait_until(lambda: not left(), "nothing left", limit_s, poll_s=0.05)
        except FlightpathError:
            return left()
        return []


def _read(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError:
        return b""
