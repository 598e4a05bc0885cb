"""Packet captures at one interface of a node, or at all of them."""

import fcntl
import json
import os
import re
import subprocess
import sys
import termios
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from mininet.node import Node

from flightpath import pcapng
from flightpath.commands import end, require
from flightpath.errors import UsageError
from topologies.links import native_program
from topologies.sandbox.kernel_settings import entry

SNAPSHOT_BYTES = 128
"""Bytes kept of each packet: all headers, and the beginning of the data."""

MAX_BYTES = 256 << 20
"""Size of the file at which a capture ends."""

ALL_INTERFACES = "any"
_STARTED = "listening on"
_READ_LIMIT_S = 5.0
_DROPPED = re.compile(r"(\d+) packets? dropped by kernel")


@dataclass(frozen=True)
class Captured:
    """The extent of a capture.

    Attributes:
        packets: number of packets in the file.
        dropped: packets that came too fast for tcpdump, and are not in the file.
        is_full: the capture was ended because the file reached `MAX_BYTES`.
    """

    packets: int
    dropped: int
    is_full: bool


class PacketCapture:
    """A context manager that captures the first 128 bytes of each packet in a pcapng file.

    Args:
        interface: one of the node's interfaces, or `any`.
        file: replaced if it exists.
        expression: tcpdump's filter, for example `tcp port 80`; everything by default.
        max_bytes: size of the file at which the capture ends.
    """

    def __init__(
        self, node: Node, interface: str, file: Path, expression: str = "", *, max_bytes: int = MAX_BYTES
    ) -> None:
        self.node, self.interface, self.file = node, interface, file
        self.captured: Captured | None = None
        self._expression, self._max_bytes = expression.split(), max_bytes

    def __enter__(self) -> Self:
        """Starts the capture; returns when it sees packets."""
        try:
            self.file.open("ab").close()
        except OSError as error:
            raise UsageError(f"cannot write {self.file}: {error.strerror or error}") from error
        precise = ["--time-stamp-precision=nano", "-U", "-w", "-"]
        options = ["-i", self.interface, "-s", str(SNAPSHOT_BYTES), *precise, "-Z", "root", "--immediate-mode"]
        command = [*entry(self.node), require("tcpdump"), *options, "--", *self._expression]
        self._tcpdump = native_program.start(command)
        assert self._tcpdump.stdout is not None and self._tcpdump.stderr is not None, "start() makes pipes"
        self._messages = self._tcpdump.stderr
        writer = [sys.executable, "-I", "-S", pcapng.__file__, self.interface, str(self.file), str(self._max_bytes)]
        self._writer = subprocess.Popen(
            writer, stdin=self._tcpdump.stdout, stdout=subprocess.PIPE, text=True, start_new_session=True
        )
        self._tcpdump.stdout.close()  # the writer has it
        messages: list[str] = []
        while _STARTED not in (line := self._messages.readline()):
            if not line:
                self._close()
                self.file.unlink(missing_ok=True)
                reason = messages[-1].removeprefix("tcpdump: ") if messages else "tcpdump ended"
                raise UsageError(f"capture at {self.node.name}, {self.interface}: {reason}", "see `man pcap-filter`")
            messages.append(line.strip())
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> Captured:
        """Ends it, and returns what it has captured, which is also in `captured`."""
        # Packets that tcpdump has not read when it is ended are lost, and so are those that it has not yet written.
        deadline = time.monotonic() + _READ_LIMIT_S
        while not self._has_passed_on_all() and time.monotonic() < deadline:
            time.sleep(0.001)
        end(self._tcpdump)
        self.captured = self._close()
        return self.captured

    def _has_passed_on_all(self) -> bool:
        """Whether tcpdump sleeps, and not because the pipe to the writer is full."""
        return self._sleeps() and self._is_pipe_empty() and self._sleeps()

    def _sleeps(self) -> bool:
        return Path(f"/proc/{self._tcpdump.pid}/stat").read_text().rpartition(")")[2].split()[0] != "R"

    def _is_pipe_empty(self) -> bool:
        try:
            pipe = os.open(f"/proc/{self._tcpdump.pid}/fd/1", os.O_RDONLY | os.O_NONBLOCK)
        except OSError:  # tcpdump has ended
            return True
        try:
            return fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)) == bytes(4)
        finally:
            os.close(pipe)

    @property
    def bytes_so_far(self) -> int:
        return self.file.stat().st_size

    def _close(self) -> Captured:
        report, _ = self._writer.communicate()
        dropped = _DROPPED.search(self._messages.read())
        self._messages.close()
        self._tcpdump.wait()
        written: dict[str, Any] = json.loads(report) if report else {"packets": 0, "full": False}
        return Captured(written["packets"], int(dropped[1]) if dropped else 0, written["full"])


def file_name(label: str, target: str) -> str:
    """Returns the name of a capture's file; characters other than letters and digits become dashes."""
    return f"{re.sub(r'[^A-Za-z0-9]+', '-', f'{label}-{target}')}.pcapng"


def find_target(name: str, nodes: dict[str, Node]) -> tuple[Node, str]:
    """Returns the node and the interface that a name means: `h1-eth0`, or `h1` for all interfaces of a host."""
    if name in nodes:
        return nodes[name], ALL_INTERFACES
    for node in nodes.values():
        if name in node.nameToIntf:
            return node, name
    interfaces = [each for node in nodes.values() for each in node.nameToIntf if each != "lo"]
    raise UsageError(f"there is no interface {name!r}", f"interfaces: {', '.join(sorted(interfaces))}")
