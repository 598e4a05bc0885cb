"""Inspection of a virtual-time kernel through its memory: its programs cannot answer while its clock stands still."""

import errno
import os
import re
import signal
import struct
import time
from bisect import bisect
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple, Self

from flightpath.errors import MeasurementFailed
from flightpath.processes import descendants

STANDSTILL_S = 55.0
"""Default limit for a program that busy-waits while virtual time cannot advance, in seconds of processor time."""

_NAME_BYTES = 16  # TASK_COMM_LEN of the kernel
_TASK_BYTES = 1 << 14  # more than a task_struct
_POINTER = struct.Struct("<Q")
_MOVING = 0.15
"""Virtual seconds per second of processor time. Up to 32 readings of the clock take 512 ns of virtual time
(`kernel.patch`), so even a loop that only reads it moves the clock by 10 to 64 ms per second, by the processor."""
_ALWAYS = 0.9
"""Share of the samples in which one task computes; in a network that is slow to emulate, many tasks take turns."""
_STUB = 0x7FFFFFFFC000  # where each program has the code by which it calls its kernel, and waits for the answer
_STOPPING_S, _CODE_BYTES, _STACK_BYTES, _FUNCTIONS = 0.1, 24, 2048, 8
_LOOK_EVERY_S = 1.0
"""Period in which the kernel's processor time is read while its clock stands still, in real seconds."""


class Task(NamedTuple):
    """A thread of a program in the guest: where its kernel keeps it, and both names as `ps` shows them."""

    address: int
    thread: str
    program: str
    is_idle: bool


class ClockStoodStill(MeasurementFailed):
    """A program computed for too long without waiting, so that virtual time could not advance.

    Attributes:
        program: its name, as `ps` shows it.
    """

    def __init__(self, task: Task, seconds: float, where: str) -> None:
        super().__init__(
            f"virtual time stood still because the program {task.program!r} computed for {seconds:.0f} s "
            f"(thread {task.thread!r}, {where})",
            "a program that waits in a loop, by reading the clock or by poll(2), cannot run here: use --clock real",
        )
        self.program = task.program


class KernelMemory:
    """The memory of a running virtual-time kernel, as a context manager.

    Args:
        pid: of the kernel's process, which the caller started.
        symbols: the kernel's System.map.

    Raises:
        OSError: the process has ended, or cannot be read; its methods raise it too.
    """

    def __init__(self, pid: int, symbols: Path) -> None:
        self._addresses = _addresses(symbols, ("time_travel_time", "cpu_tasks", "init_task"))
        self._pid = pid
        self._memory = Path(f"/proc/{pid}/mem").open("rb", buffering=0)  # noqa: SIM115 (closed by __exit__)
        self._symbols = symbols
        first = self._read(self._addresses["init_task"], _TASK_BYTES)
        self._name_offset = first.index(b"swapper")
        # The first task's relatives (task_struct): itself as parents, empty lists of children and siblings, its leader.
        itself = re.escape(_POINTER.pack(self._addresses["init_task"]))
        relatives = re.search(itself + itself + b".{32}(?=" + itself + b")", first, re.DOTALL)
        assert relatives is not None, "Linux has kept them in this order since 2008"
        self._leader_offset = relatives.end()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._memory.close()

    def virtual_ns(self) -> int:
        """Returns the virtual time since the kernel started."""
        return self._number(self._addresses["time_travel_time"])

    def running_task(self) -> Task:
        """Returns the task on the processor; the kernel's idle task if there is none."""
        address = self._number(self._addresses["cpu_tasks"])
        leader = self._number(address + self._leader_offset)
        return Task(address, self._name(address), self._name(leader), address == self._addresses["init_task"])

    def processor_s(self) -> Mapping[int, float]:
        """Returns the processor time of each process of the kernel in seconds; a busy machine gives less than passes.

        A program in the guest computes in a process of its own, and the kernel computes for it in the first one.
        """
        return {process.pid: process.cpu_seconds for process in descendants(self._pid)}

    def position(self, pid: int) -> str:
        """Stops one of the kernel's processes for ever, and returns where in the guest's kernel or program it was."""
        for each in {self._pid, pid}:
            os.kill(each, signal.SIGSTOP)
        time.sleep(_STOPPING_S)
        *_, stack, counter = Path(f"/proc/{pid}/syscall").read_text(encoding="ascii").split()
        with Path(f"/proc/{pid}/mem").open("rb", buffering=0) as memory:
            if pid != self._pid:
                if int(counter, 16) >= _STUB:
                    return "in system calls that return at once"
                memory.seek(int(counter, 16))
                return f"in its own code at {counter}: {memory.read(_CODE_BYTES).hex(' ')}"
            memory.seek(int(stack, 16))
            words = memory.read(_STACK_BYTES)
        addresses = [int(counter, 16), *(address for (address,) in _POINTER.iter_unpack(words))]
        return f"in the kernel, in {', '.join(_functions_at(self._symbols, addresses)[:_FUNCTIONS])}"

    def _name(self, task: int) -> str:
        return self._read(task + self._name_offset, _NAME_BYTES).split(b"\0")[0].decode(errors="replace")

    def _number(self, address: int) -> int:
        (number,) = _POINTER.unpack(self._read(address, _POINTER.size))
        return number

    def _read(self, address: int, count: int) -> bytes:
        self._memory.seek(address)
        content = self._memory.read(count)
        if len(content) < count:  # a process that ends gives up its memory first
            raise ProcessLookupError(errno.ESRCH, "the virtual-time kernel has ended")
        return content


def _addresses(symbols: Path, names: tuple[str, ...]) -> dict[str, int]:
    found = re.findall(rf"^([0-9a-f]+) \w ({'|'.join(names)})$", symbols.read_text(encoding="ascii"), re.MULTILINE)
    return {name: int(address, 16) for address, name in found}


def _functions_at(symbols: Path, addresses: Iterable[int]) -> list[str]:
    """Returns the kernel's functions at those of the addresses that are in its code, each once.

    Of a copy that the compiler made (`name.isra.0`), it is the name in the source.
    """
    lines = (line.split() for line in symbols.read_text(encoding="ascii").splitlines())
    starts = sorted((int(start, 16), name) for start, kind, name in lines if kind in "tT")
    (first, _), (last, _) = starts[0], starts[-1]
    copies = (starts[bisect(starts, (address, "~")) - 1][1] for address in addresses if first <= address < last)
    found = (name.partition(".")[0] for name in copies)
    return list(dict.fromkeys(found))


class StandstillWatch:
    """Notices that one task computes while the virtual clock hardly moves, as if it waited by reading the clock.

    Args:
        memory: of the virtual-time kernel.
        limit_s: how long that may take, in seconds of processor time, which a busy machine gives slowly.
    """

    def __init__(self, memory: KernelMemory, limit_s: float) -> None:
        self._memory, self._limit_s = memory, limit_s
        self._began_processor_s: Mapping[int, float] | None = None
        self._look_at_s = 0.0
        self._tasks: Counter[Task] = Counter()
        self._restart(time.monotonic())

    def check(self) -> None:
        """Looks at the kernel; to be called a few times a second.

        Raises:
            ClockStoodStill: the clock has stood still for too long.
        """
        now_s = time.monotonic()
        task = self._memory.running_task()
        self._tasks[task] += 1
        moved_s = (self._memory.virtual_ns() - self._began_virtual_ns) / 1e9
        if moved_s > _MOVING * self._limit_s:
            self._restart(now_s)
        elif self._computed_s(now_s) > self._limit_s:
            task, count = self._tasks.most_common(1)[0]
            if not task.is_idle and count > _ALWAYS * self._tasks.total():
                raise ClockStoodStill(task, self._limit_s, self._where())
            self._restart(now_s)

    def _computed_s(self, now_s: float) -> float:
        """Returns for how long the kernel has computed since the clock stands still."""
        if now_s < self._look_at_s:
            return 0.0
        self._look_at_s = now_s + _LOOK_EVERY_S
        if self._began_processor_s is None:
            self._began_processor_s = self._memory.processor_s()
        return sum(self._computed_by_process().values())

    def _computed_by_process(self) -> Mapping[int, float]:
        before = self._began_processor_s or {}
        return {pid: seconds - before.get(pid, 0.0) for pid, seconds in self._memory.processor_s().items()}

    def _where(self) -> str:
        busiest = sorted(self._computed_by_process().items(), key=lambda it: -it[1])[:2]
        return ", ".join(f"{seconds:.0f} s {self._memory.position(pid)}" for pid, seconds in busiest)

    def _restart(self, now_s: float) -> None:
        self._began_s, self._began_virtual_ns = now_s, self._memory.virtual_ns()
        self._began_processor_s = None
        self._look_at_s = now_s + _LOOK_EVERY_S
        self._tasks = Counter()
