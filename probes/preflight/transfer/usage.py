"""How a stream process spends its time: computing, waiting for a processor, the disk, or the network."""

import contextlib
import os
import resource
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from probes.preflight.records import ClientLoad
from probes.preflight.ssh.packetizer import BulkPacketizer
from probes.preflight.transfer.sinks import Sink


@dataclass(frozen=True)
class Usage:
    """What this process has used up to a moment, in seconds."""

    wall_s: float
    cpu_s: float
    queued_s: float
    cipher_s: float
    disk_s: float

    @classmethod
    def now(cls, packetizer: BulkPacketizer, sinks: Sequence[Sink]) -> Self:
        """The usage up to now."""
        used = resource.getrusage(resource.RUSAGE_SELF)
        disk_ns = sum(sink.disk_ns for sink in sinks)
        cpu_s = used.ru_utime + used.ru_stime
        return cls(time.monotonic(), cpu_s, _queued_s(), packetizer.cipher_ns / 1e9, disk_ns / 1e9)

    def since(self, before: Self) -> ClientLoad:
        """The difference to an earlier moment; what is left of the time was spent waiting for the network."""
        cpu, queued, disk = self.cpu_s - before.cpu_s, self.queued_s - before.queued_s, self.disk_s - before.disk_s
        network = self.wall_s - before.wall_s - cpu - queued - disk
        return ClientLoad(cpu, queued, self.cipher_s - before.cipher_s, disk, max(0.0, network))


def _queued_s() -> float:
    """How long the threads of this process were ready to run without a processor (/proc/PID/task/TID/schedstat)."""
    total_ns = 0
    for thread in Path(f"/proc/{os.getpid()}/task").iterdir():
        with contextlib.suppress(OSError, IndexError):
            total_ns += int((thread / "schedstat").read_text().split()[1])
    return total_ns / 1e9
