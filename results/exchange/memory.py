"""How much memory the contents of a file take once they are parsed, judged before that happens."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from flightpath.processes import memory_bytes

_SIGNS = (b",", b":", b"[", b"{", b"\n")
"""Each value of JSON or CSV comes with at least one of these."""

_PER_SIGN = 128
"""Bytes. Measured at the peak of an import: 90 for each number of a series in JSON, and 125 for each field of a table.
An empty list takes 64, and objects have more signs."""

_OWN_GROUPS = Path("/proc/self/cgroup")
_GROUP_FILES = Path("/sys/fs/cgroup")
_FILES = (
    ("memory.max", "memory.current", "inactive_file"),
    ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
)
"""Of a control group of version 2, and of 1: its limit, what it has taken, and how much of that can go at once."""


class TooMuchMemory(ValueError):
    """The contents would take more memory than there is."""


class Budget:
    """The memory that may be taken for what a file contains: as much as is available when it is made."""

    def __init__(self) -> None:
        self._left = available_bytes()

    @property
    def left(self) -> int:
        """What may still be taken, in bytes."""
        return self._left

    def spend(self, content: bytes) -> None:
        """Takes what a text needs that is about to be parsed.

        Raises:
            TooMuchMemory: there is not as much left.
        """
        self.spend_on(sum(map(content.count, _SIGNS)), len(content))

    def spend_on(self, values: int, size_bytes: int) -> None:
        """Takes what so many values need, and their texts of this size.

        Raises:
            TooMuchMemory: there is not as much left.
        """
        needed = size_bytes + _PER_SIGN * values
        if needed > self._left:
            raise TooMuchMemory(
                f"its contents would take {needed / 2**20:.0f} MiB of memory, and {self._left / 2**20:.0f} MiB are left"
            )
        self._left -= needed


def available_bytes() -> int:
    """The memory that this process may still take, on this machine and in its control groups."""
    available = memory_bytes()["MemAvailable"]
    with suppress(OSError):
        available = min([available, *(left for group in _groups() if (left := _left_in(group)) is not None)])
    return available


def _groups() -> Iterator[Path]:
    """This process's control groups for memory, of version 1 or 2 (cgroups(7)), and those that they are part of."""
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
    """What a control group may still take, the cache of files that can go among it; None if it has no limit."""
    for limit_file, used_file, cache in _FILES:
        with suppress(OSError, ValueError):  # the other version's, no limit (`max`), or the first group, which has none
            limit, used = (int((group / name).read_text()) for name in (limit_file, used_file))
            figures = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())
            return max(0, limit - used + int(figures.get(cache, 0)))
    return None
