"""Processes and their descendants, user namespaces and memory, from `/proc`."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Literal, NamedTuple, Self

_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
_EVERY_ID = "0 0 4294967295"


class Process(NamedTuple):
    """One process at one moment.

    Attributes:
        pid, started: together they identify a process: PIDs are reused (`started` is in clock ticks since boot).
        parent, session: PIDs.
        own_cpu_seconds: user and system time of all its threads.
        cpu_seconds: the same, plus that of its children that have ended.
    """

    pid: int
    parent: int
    session: int
    started: int
    own_cpu_seconds: float
    cpu_seconds: float

    @classmethod
    def read(cls, pid: int) -> Self | None:
        """Reads the process with this PID; returns None if there is none, or only a zombie."""
        try:
            text = Path(f"/proc/{pid}/stat").read_text()
        except (FileNotFoundError, ProcessLookupError):
            return None
        fields = text.rpartition(")")[2].split()  # the name before it may contain anything
        if fields[0] in "ZX":
            return None
        user, system, of_children = int(fields[11]), int(fields[12]), int(fields[13]) + int(fields[14])
        own = (user + system) / _TICKS_PER_SECOND
        return cls(pid, int(fields[1]), int(fields[3]), int(fields[19]), own, own + of_children / _TICKS_PER_SECOND)

    def is_alive(self) -> bool:
        """Returns whether this process still runs; its PID may belong to another one by now."""
        now = Process.read(self.pid)
        return now is not None and now.started == self.started

    @property
    def command_line(self) -> str:
        """Program and arguments; empty if the process has ended."""
        try:
            words = Path(f"/proc/{self.pid}/cmdline").read_bytes()
        except (FileNotFoundError, ProcessLookupError):
            return ""
        return words.replace(b"\0", b" ").decode(errors="replace").strip()


def all_processes() -> list[Process]:
    """Lists the processes that are visible from here."""
    pids = (int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit())
    return [process for pid in pids if (process := Process.read(pid))]


def family(leader: int) -> list[Process]:
    """Lists the processes of a session, by its leader's PID, and their descendants (PostgreSQL's leave the session)."""
    return _with_descendants(lambda process: leader in (process.pid, process.session))


def descendants(pid: int) -> list[Process]:
    """Lists a process and all its descendants, parents first; includes those in a sandbox."""
    return _with_descendants(lambda process: process.pid == pid)


def _with_descendants(is_first: Callable[[Process], bool]) -> list[Process]:
    processes = all_processes()
    members = {process.pid: process for process in processes if is_first(process)}
    size = 0
    while len(members) > size:
        size = len(members)
        members |= {process.pid: process for process in processes if process.parent in members}
    return list(members.values())


def is_machine_root() -> bool:
    """Returns whether this process is root of the machine, and not only of a user namespace."""
    return os.geteuid() == 0 and not in_user_namespace()


def in_user_namespace() -> bool:
    """Returns whether this process is in another user namespace (user_namespaces(7)) than the initial one."""
    return read_id_map("uid").split() != _EVERY_ID.split()


def read_id_map(kind: Literal["uid", "gid"]) -> str:
    """Reads the ID map of this process's user namespace: a line `FIRST_INSIDE FIRST_OUTSIDE COUNT` per range of IDs."""
    return Path(f"/proc/self/{kind}_map").read_text(encoding="ascii")


def has_id(id_map: str, number: int) -> bool:
    """Returns whether an ID exists in the user namespace with this ID map."""
    ranges = [[int(field) for field in line.split()] for line in id_map.splitlines()]
    return any(first <= number < first + count for first, _, count in ranges)


def memory_bytes() -> dict[str, int]:
    """Reads `/proc/meminfo`: sizes by name, for example `MemAvailable`."""
    lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    return {name: int(rest.split()[0]) * 1024 for name, rest in (line.split(":") for line in lines)}


def processor() -> str:
    """Returns the processor's model, for example `AMD EPYC (family 25, model 1)`: clouds hide parts of the name."""
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").partition("\n\n")[0].splitlines()
    facts = {name.strip(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    name = facts.get("model name", os.uname().machine)
    return f"{name} (family {facts['cpu family']}, model {facts['model']})" if "cpu family" in facts else name
