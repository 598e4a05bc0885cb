"""The resident memory of processes over time: at the start, when they are warm, and at the end."""

from tests.bench.processes import memory_bytes

MEGABYTE = 1_000_000


class MemoryUse:
    """The memory of one process; it is a fault if it grows by more than so many bytes when it is warm."""

    def __init__(self, name: str, pid: int, max_growth: int) -> None:
        self._name, self._pid, self._max_growth = name, pid, max_growth
        self._start = self._warm = self._end = memory_bytes(pid)

    def sample(self, *, is_warming: bool) -> None:
        self._end = memory_bytes(self._pid)
        if is_warming:
            self._warm = self._end

    def __str__(self) -> str:
        start, warm, end = (size / MEGABYTE for size in (self._start, self._warm, self._end))
        return f"{self._name} {start:.1f}, {warm:.1f}, {end:.1f} MB (start, warm, end)"

    def faults(self) -> list[str]:
        growth, allowed = (self._end - self._warm) / MEGABYTE, self._max_growth / MEGABYTE
        if growth <= allowed:
            return []
        return [f"memory of {self._name} grew by {growth:.1f} MB since it was warm; {allowed:g} are allowed"]
