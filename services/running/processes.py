"""A daemon's workers, as /proc knows them: without this a killed nginx would leave its worker serving."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Self

_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Process:
    """One process at one moment. `pid` and `started` together are never used twice."""

    pid: int
    parent: int
    session: int
    started: int
    cpu_seconds: float

    @classmethod
    def read(cls, pid: int) -> Self | None:
        """The process with this PID, or None if there is none (a zombie is none)."""
        try:
            text = Path(f"/proc/{pid}/stat").read_text()
        except (FileNotFoundError, ProcessLookupError):
            return None
        fields = text.rpartition(")")[2].split()  # the name before it may hold anything
        if fields[0] in "ZX":
            return None
        ticks = sum(int(field) for field in fields[11:15])  # its own and its ended children's, user and system
        return cls(pid, int(fields[1]), int(fields[3]), int(fields[19]), ticks / _TICKS_PER_SECOND)

    def is_alive(self) -> bool:
        """Whether this very process still runs, not another that got its PID."""
        now = Process.read(self.pid)
        return now is not None and now.started == self.started


def family(leader: int) -> list[Process]:
    """The processes of the leader's session, and all that descend from them (PostgreSQL's leave the session)."""
    pids = (int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit())
    everyone = [found for pid in pids if (found := Process.read(pid))]
    members = {process.pid: process for process in everyone if leader in (process.pid, process.session)}
    size = 0
    while len(members) > size:
        size = len(members)
        members |= {process.pid: process for process in everyone if process.parent in members}
    return list(members.values())
