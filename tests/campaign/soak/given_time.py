"""A clock that counts only what this machine gave: it goes slower while the sandbox waits for the work of others.

Limits in its seconds judge what runs in the sandbox, whatever else the machine has to do. While programs want no
processor, because they wait for each other or hang, it goes at full speed.
"""

import contextlib
import os
import threading
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from tests.bench.processes import sandbox_cpu_s

_PERIOD_S = 0.5


@dataclass(frozen=True)
class ProcessorTime:
    """Seconds of all processors since the start of the machine, and of the sandbox.

    Attributes:
        spent: by all programs of the machine, and by its hypervisor; not for interrupts, which belong to nobody.
        ours: by the processes of this sandbox, those that have ended too.
        ran, waited: how long each thread of this sandbox that lives has run, and waited for a processor, in ns.
    """

    spent: float
    ours: float
    ran: Counter[Path]
    waited: Counter[Path]

    @classmethod
    def read(cls) -> Self:
        """The times now; in a sandbox `/proc` has its processes only, and those that ended count for their parents."""
        user, nice, system, _idle, _iowait, _irq, _softirq, steal = map(
            int, Path("/proc/stat").read_text(encoding="ascii").split(maxsplit=9)[1:9]
        )
        ran, waited = Counter[Path](), Counter[Path]()
        for process in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):  # it, or a thread of it, has ended meanwhile
                for thread in (process / "task").iterdir():
                    ran[thread], waited[thread], _ = map(int, (thread / "schedstat").read_text().split())
        return cls((user + nice + system + steal) / os.sysconf("SC_CLK_TCK"), sandbox_cpu_s(), ran, waited)

    def given_since(self, before: Self) -> float:
        """The share of what the sandbox wanted since then that others left to it: 0 to 1.

        Of its threads' waiting for a processor, others have caused as much as they had of the processors; the sandbox's
        own threads wait for each other too.
        """
        spent = self.spent - before.spent
        others = spent - (self.ours - before.ours)
        ran, waited = (self.ran - before.ran).total(), (self.waited - before.waited).total()
        if others <= 0 or waited <= 0:
            return 1.0
        return 1 - min(1.0, others / spent) * waited / (ran + waited)


class GivenTime:
    """The clock; it runs from its creation on, in a thread."""

    def __init__(self) -> None:
        self._given_s, self._began_s = 0.0, time.monotonic()
        threading.Thread(target=self._run, daemon=True).start()

    def now_s(self) -> float:
        return self._given_s

    @property
    def share(self) -> float:
        """Share of the time since the start: 0 to 1."""
        return min(1.0, max(_PERIOD_S, self._given_s) / max(_PERIOD_S, time.monotonic() - self._began_s))

    def _run(self) -> None:
        at_s, before = time.monotonic(), ProcessorTime.read()
        while True:
            time.sleep(_PERIOD_S)
            now_s, after = time.monotonic(), ProcessorTime.read()
            self._given_s += (now_s - at_s) * after.given_since(before)
            at_s, before = now_s, after
