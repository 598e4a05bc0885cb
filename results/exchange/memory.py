"""How much memory the contents of a file take once they are parsed, judged before that happens."""

from contextlib import suppress
from pathlib import Path

from flightpath.processes import memory_bytes

_SIGNS = (b",", b":", b"[", b"{", b"\n")
"""Each value of JSON or CSV comes with at least one of these."""

_PER_SIGN = 128
"""Bytes. Measured at the peak of an import: 90 for each number of a series in JSON, and 125 for each field of a table.
An empty list takes 64, and objects have more signs."""

_GROUP_FILES = Path("/sys/fs/cgroup")


class TooMuchMemory(ValueError):
    """The contents would take more memory than there is."""


class Budget:
    """The memory that may be taken for what a file contains: as much as is available when it is made."""

    def __init__(self) -> None:
        self._left = available_bytes()

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
                f"its contents would take {needed / 2**30:.1f} GiB of memory, and {self._left / 2**30:.1f} are left"
            )
        self._left -= needed


def available_bytes() -> int:
    """The memory that this process may still take, on this machine and in its control groups."""
    available = memory_bytes()["MemAvailable"]
    with suppress(OSError, StopIteration):
        lines = Path("/proc/self/cgroup").read_text(encoding="ascii").splitlines()
        own = next(line.removeprefix("0::/") for line in lines if line.startswith("0::/"))
        for group in (_GROUP_FILES / own, *(_GROUP_FILES / own).parents):
            if group.is_relative_to(_GROUP_FILES):
                available = min(available, _left_in(group))
    return available


def _left_in(group: Path) -> float:
    """What a control group may still take; infinite if it has no limit."""
    try:
        limit = (group / "memory.max").read_text().strip()
        return float("inf") if limit == "max" else max(0, int(limit) - int((group / "memory.current").read_text()))
    except OSError:  # the first group has no limit, and other kernels have no such files
        return float("inf")
