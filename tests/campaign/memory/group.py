"""Memory control groups for single processes: version 2 (`memory.max`) or 1 (`memory.limit_in_bytes`)."""

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from flightpath.waiting import wait_until

_GROUPS = Path("/sys/fs/cgroup")
_PREFIX = "flightpath-campaign-"
_MEGABYTE = 1 << 20


@dataclass(frozen=True)
class MemoryGroup:
    """A group of processes that together may take so much memory; the kernel kills one that takes more.

    Attributes:
        folder: of the group.
        version: of control groups, 1 or 2.
    """

    folder: Path
    version: int

    @property
    def limit_file(self) -> Path:
        return self.folder / ("memory.max" if self.version == 2 else "memory.limit_in_bytes")

    def limit(self, megabytes: int) -> None:
        """Sets what they may take."""
        limit = str(megabytes * _MEGABYTE)
        swap, swap_limit = ("memory.swap.max", "0") if self.version == 2 else ("memory.memsw.limit_in_bytes", limit)
        # Memory and swap together (version 1) have at least as much as memory, whether that grows or shrinks.
        with contextlib.suppress(OSError):  # a kernel without swap lacks this file
            (self.folder / swap).write_text(swap_limit)
        self.limit_file.write_text(limit)
        with contextlib.suppress(OSError):
            (self.folder / swap).write_text(swap_limit)

    def take(self, pid: int) -> None:
        """Moves a process of ours into it, with all its threads; 0 is the caller."""
        (self.folder / "cgroup.procs").write_text(str(pid))

    def peak_bytes(self) -> int:
        """The most that they have had."""
        name = "memory.peak" if self.version == 2 else "memory.max_usage_in_bytes"
        try:
            return int((self.folder / name).read_text())
        except OSError:  # Linux before 5.19 has no memory.peak
            return 0


@contextlib.contextmanager
def memory_group(name: str) -> Iterator[MemoryGroup | None]:
    """A group for the time of the block, at whose end no process may be in it; None if this user cannot make one."""
    group = _make(f"{_PREFIX}{os.getpid()}-{name}")
    try:
        yield group
    finally:
        if group is not None:
            _remove(group.folder)


def _make(name: str) -> MemoryGroup | None:
    for version, parent in ((2, _GROUPS), (2, _GROUPS / "unified"), (1, _GROUPS / "memory")):
        folder, group = parent / name, MemoryGroup(parent / name, version)
        if not (parent / "cgroup.procs").exists():  # a folder for those of version 1
            continue
        _sweep(parent)
        with contextlib.suppress(OSError):
            folder.mkdir()
            if group.limit_file.exists():  # else the controller belongs to the other version
                return group
            folder.rmdir()
    return None


def _sweep(parent: Path) -> None:
    """Removes the groups of campaigns that were killed; those that still run have processes, or a PID that lives."""
    for folder in parent.glob(f"{_PREFIX}*"):
        pid = folder.name.removeprefix(_PREFIX).partition("-")[0]
        if not Path("/proc", pid).exists():
            with contextlib.suppress(OSError):
                folder.rmdir()


def _remove(folder: Path) -> None:
    """Removes a group; processes that have just ended may still count."""

    def is_removed() -> bool:
        with contextlib.suppress(OSError):
            folder.rmdir()
        return not folder.exists()

    wait_until(is_removed, f"the processes of the control group {folder} to end", 5)
