"""Packet capture in one host with tcpdump."""

import re
import subprocess
from pathlib import Path
from typing import Self

from flightpath.commands import end, require
from topologies.hosts.multihomed import MultihomedHost

_SNAPSHOT_BYTES = 128


class PacketCapture:
    """tcpdump on all interfaces of a host, while the context lasts; it keeps the first 128 bytes of each packet.

    Args:
        folder: receives `LABEL-HOST.pcap`.
        label: names the file; other characters than letters and digits become dashes.
    """

    def __init__(self, host: MultihomedHost, folder: Path, label: str) -> None:
        self._host = host
        self.path = folder / f"{re.sub(r'[^A-Za-z0-9]+', '-', label)}-{host.name}.pcap"

    def __enter__(self) -> Self:
        command = [require("tcpdump"), "-i", "any", "-s", str(_SNAPSHOT_BYTES), "-U", "-w", str(self.path)]
        # Without -Z it would give up root, and could not write to the results folder.
        self._process = self._host.popen([*command, "-Z", "root"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return self

    def __exit__(self, *_: object) -> None:
        end(self._process)
