"""A packet capture of one host, for those who do not believe the counters."""

import re
import subprocess
from pathlib import Path
from types import TracebackType

from flightpath.commands import end, require
from topologies.hosts.multihomed import MultihomedHost

_SNAPSHOT_BYTES = 128


class PacketCapture:
    """tcpdump on all interfaces of a host, headers only (128 bytes a packet), while the context lasts.

    Args:
        host: where to listen.
        folder: receives `LABEL-HOST.pcap`.
        label: names the file; what is no letter or digit becomes a dash.
    """

    def __init__(self, host: MultihomedHost, folder: Path, label: str) -> None:
        self._host = host
        self.path = folder / f"{re.sub(r'[^A-Za-z0-9]+', '-', label)}-{host.name}.pcap"
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> "PacketCapture":
        command = [require("tcpdump"), "-i", "any", "-s", str(_SNAPSHOT_BYTES), "-U", "-w", str(self.path)]
        # Without -Z it would give up root, and with that the right to write where the results are.
        self._process = self._host.popen([*command, "-Z", "root"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process is not None:
            end(self._process)
