"""A packet capture at an interface of a node, or at all of them."""

import json
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from mininet.node import Node

from flightpath.commands import end, require
from flightpath.errors import UsageError
from topologies.capture import pcapng
from topologies.sandbox.kernel_settings import entry

SNAPSHOT_BYTES = 128
"""What is kept of each packet: all headers, and the begin of the data."""

MOST_BYTES = 256 << 20
"""Of a file; a capture ends when it has so much."""

ALL_INTERFACES = "any"
_STARTED = "listening on"
_DROPPED = re.compile(r"(\d+) packets? dropped by kernel")


@dataclass(frozen=True)
class Captured:
    """What a capture has.

    Attributes:
        packets: in the file.
        dropped: packets that came too fast for tcpdump, and are not in it.
        is_full: it was ended because the file had `MOST_BYTES`.
    """

    packets: int
    dropped: int
    is_full: bool


class PacketCapture:
    """A capture while the context lasts, in a pcapng file; the first 128 bytes of each packet.

    Args:
        node: a host or a switch.
        interface: of the node, or `any`.
        file: it is replaced if it is there.
        expression: of tcpdump, for example `tcp port 80`; everything by default.
        most_bytes: of the file.
    """

    def __init__(
        self, node: Node, interface: str, file: Path, expression: str = "", *, most_bytes: int = MOST_BYTES
    ) -> None:
        self.node, self.interface, self.file = node, interface, file
        self.captured: Captured | None = None
        self._expression, self._most_bytes = expression.split(), most_bytes

    def __enter__(self) -> Self:
        """Starts it; returns when it sees packets.

        Raises:
            MissingCapability: tcpdump is not installed.
            UsageError: the file cannot be written, or tcpdump refuses; with its words.
        """
        _require_writable(self.file)
        precise = ["--time-stamp-precision=nano", "-U", "-w", "-"]
        options = ["-i", self.interface, "-s", str(SNAPSHOT_BYTES), *precise, "-Z", "root", "--immediate-mode"]
        command = [*entry(self.node), require("tcpdump"), *options, "--", *self._expression]
        pipe = subprocess.PIPE
        # In sessions of their own: a Ctrl-C at the terminal must not end them.
        start = {"text": True, "start_new_session": True}
        self._tcpdump = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe, **start)
        writer = [sys.executable, "-I", "-S", pcapng.__file__, self.interface, str(self.file), str(self._most_bytes)]
        self._writer = subprocess.Popen(writer, stdin=self._tcpdump.stdout, stdout=pipe, **start)
        self._tcpdump.stdout.close()  # the writer has it
        said = []
        while _STARTED not in (line := self._tcpdump.stderr.readline()):
            if not line:
                self._close()
                self.file.unlink(missing_ok=True)
                reason = said[-1].removeprefix("tcpdump: ") if said else "tcpdump ended"
                raise UsageError(f"capture at {self.node.name}, {self.interface}: {reason}", "see `man pcap-filter`")
            said.append(line.strip())
        return self

    def __exit__(self, *_: object) -> None:
        """Ends it; `captured` then says what it has."""
        end(self._tcpdump)
        self._close()

    @property
    def bytes_so_far(self) -> int:
        """The size of the file now."""
        return self.file.stat().st_size

    def _close(self) -> None:
        told, _ = self._writer.communicate()
        said = self._tcpdump.stderr.read()
        self._tcpdump.stderr.close()
        self._tcpdump.wait()
        found = json.loads(told) if told else {"packets": 0, "full": False}
        dropped = _DROPPED.search(said)
        self.captured = Captured(found["packets"], int(dropped[1]) if dropped else 0, found["full"])


def file_name(label: str, target: str) -> str:
    """The name of a capture's file; other characters than letters and digits become dashes."""
    return f"{re.sub(r'[^A-Za-z0-9]+', '-', f'{label}-{target}')}.pcapng"


def find_target(name: str, nodes: dict[str, Node]) -> tuple[Node, str]:
    """The node and the interface that a name means: `h1-eth0`, or `h1` for all interfaces of a host.

    Raises:
        UsageError: there is none.
    """
    if name in nodes:
        return nodes[name], ALL_INTERFACES
    for node in nodes.values():
        if name in node.nameToIntf:
            return node, name
    interfaces = [each for node in nodes.values() for each in node.nameToIntf if each != "lo"]
    raise UsageError(f"there is no interface {name!r}", f"interfaces: {', '.join(sorted(interfaces))}")


def _require_writable(file: Path) -> None:
    try:
        file.open("ab").close()
    except OSError as error:
        raise UsageError(f"cannot write {file}: {error.strerror or error}") from error
