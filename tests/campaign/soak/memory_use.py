"""The resident memory of processes over time: at the start, when they are warm, and at the end."""

from dataclasses import dataclass, field

from tests.bench.processes import memory_bytes

MEGABYTE = 1_000_000


@dataclass
class MemoryUse:
    """The memory of one process.

    Attributes:
        name, pid: of the process.
        max_growth: from `warm` to the end, in bytes; more is a fault.
        samples: so far, in bytes.
    """

    name: str
    pid: int
    max_growth: int
    samples: list[int] = field(default_factory=list)
    warm_at: int = 0

    def __post_init__(self) -> None:
        self.sample()

    def sample(self) -> None:
        self.samples.append(memory_bytes(self.pid))

    def warm(self) -> None:
        """Begins the time in which it may grow by `max_growth`."""
        self.sample()
        self.warm_at = len(self.samples) - 1

    def __str__(self) -> str:
        start, warm, end = (self.samples[place] / MEGABYTE for place in (0, self.warm_at, -1))
        return f"{self.name} {start:.1f}, {warm:.1f}, {end:.1f} MB (start, warm, end)"

    def faults(self) -> list[str]:
        """Whether it grew too much, in a sentence."""
        growth, allowed = self.samples[-1] - self.samples[self.warm_at], self.max_growth / MEGABYTE
        if growth <= self.max_growth:
            return []
        return [f"memory of {self.name} grew by {growth / MEGABYTE:.1f} MB since it was warm; {allowed:g} are allowed"]
