"""Memory budget for parsing a file, estimated beforehand."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from flightpath.processes import memory_bytes

_SIGNS = (b",", b":", b"[", b"{", b"\n")
"""Separators: each value of JSON or CSV comes with at least one."""

_PER_SIGN = 128
"""Bytes per separator. Measured at the peak of an import: 90 for each number of a series in JSON, and 125 for each
field of a table. An empty list takes 64, and objects have more separators."""

_OWN_GROUPS = Path("/proc/self/cgroup")
_GROUP_FILES = Path("/sys/fs/cgroup")
_FILES = (
    ("memory.max", "memory.current", "inactive_file"),
    ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
)
"""Files and field of a control group, of version 2 and 1: limit, usage, and the part of it that can be reclaimed."""


class TooMuchMemory(ValueError):
    """The contents would take more memory than is available."""


class Budget:
    """A budget for a file's contents: the memory that is available when it is made."""

    def __init__(self) -> None:
        self.left = available_bytes()

    def spend(self, content: bytes) -> None:
        """Takes the memory for parsing a text.

        Raises:
            TooMuchMemory: not enough is left.
        """
        self.spend_on(sum(map(content.count, _SIGNS)), len(content))

    def spend_on(self, values: int, size_bytes: int) -> None:
        """Takes the memory for a number of values, and for text of a size.

        Raises:
            TooMuchMemory: not enough is left.
        """
        needed = size_bytes + _PER_SIGN * values
        if needed > self.left:
            raise TooMuchMemory(
                f"its contents would take {needed / 2**20:.0f} MiB of memory, and {self.left / 2**20:.0f} MiB are left"
            )
        self.left -= needed


def available_bytes() -> int:
    """Returns the memory available to this process, on this machine and in its control groups."""
    available = memory_bytes()["MemAvailable"]
    with suppress(OSError):
        available = min([available, *(left for group in _groups() if (left := _left_in(group)) is not None)])
    return available


def _groups() -> Iterator[Path]:
    """Yields this process's control groups for memory, of version 1 or 2 (cgroups(7)), and their parents."""
    for line in _OWN_GROUPS.read_text(encoding="utf-8").splitlines():
        _, controllers, own = line.split(":", 2)
        if not controllers:
            roots = [_GROUP_FILES, _GROUP_FILES / "unified"]
        elif "memory" in controllers.split(","):
            roots = [_GROUP_FILES / "memory"]
        else:
            continue
        for root in roots:
            group = root / own.removeprefix("/")
            yield from (each for each in (group, *group.parents) if each.is_relative_to(root))


def _left_in(group: Path) -> int | None:
    """Returns the memory available in a control group, with reclaimable file cache; None if it has no limit."""
    for limit_file, used_file, cache in _FILES:
        with suppress(OSError, ValueError):  # the other version's files, no limit (`max`), or the root group
            limit, used = (int((group / name).read_text()) for name in (limit_file, used_file))
            figures = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())
            return max(0, limit - used + int(figures.get(cache, 0)))
    return None
