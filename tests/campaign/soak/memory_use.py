"""The resident memory of processes over time: at the start, when they are warm, and at the end."""

from dataclasses import dataclass, field
from pathlib import Path

MEGABYTE = 1_000_000


def resident_bytes(pid: int) -> int:
    """What a process has in memory now."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace")
    return 1024 * int(status.partition("VmRSS:")[2].split()[0])


@dataclass
class MemoryUse:
    """The memory of one process.

    Attributes:
        name, pid: of the process.
        most_growth: from `warm` to the end, in bytes; more is a fault.
        samples: so far, in bytes.
    """

    name: str
    pid: int
    most_growth: int
    samples: list[int] = field(default_factory=list)
    warm_at: int = 0

    def __post_init__(self) -> None:
        self.sample()

    def sample(self) -> None:
        """Looks now."""
        self.samples.append(resident_bytes(self.pid))

    def warm(self) -> None:
        """From now on it may grow no more than `most_growth`."""
        self.sample()
        self.warm_at = len(self.samples) - 1

    @property
    def growth(self) -> int:
        """From when it was warm to the end."""
        return self.samples[-1] - self.samples[self.warm_at]

    def __str__(self) -> str:
        start, warm, end = (self.samples[place] / MEGABYTE for place in (0, self.warm_at, -1))
        return f"{self.name} {start:.1f}, {warm:.1f}, {end:.1f} MB (start, warm, end)"

    def faults(self) -> list[str]:
        """Whether it grew too much, in a sentence."""
        if self.growth <= self.most_growth:
            return []
        most = self.most_growth / MEGABYTE
        return [
            f"memory of {self.name} grew by {self.growth / MEGABYTE:.1f} MB since it was warm; {most:g} are allowed"
        ]
