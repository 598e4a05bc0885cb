"""The captures of a Mininet command line, which run until they are stopped or the user leaves the command line."""

from pathlib import Path
from typing import Self

from mininet.log import output
from mininet.net import Mininet

from flightpath.errors import UsageError
from topologies.capture.capture import PacketCapture, find_target


class Captures:
    """The running captures, each under the name that it was started with."""

    def __init__(self, net: Mininet) -> None:
        self._net = net
        self._running: dict[str, PacketCapture] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop(None)

    def start(self, name: str, file: str, expression: str = "") -> None:
        """Starts a capture, see `find_target`."""
        if name in self._running:
            raise UsageError(f"{name} is captured already", f"capture stop {name}")
        node, interface = find_target(name, {node: self._net[node] for node in self._net})
        target = Path(file).resolve()
        self._running[name] = PacketCapture(node, interface, target, expression).__enter__()
        output(f"*** capturing {name} in {target}\n")

    def stop(self, name: str | None) -> None:
        """Ends a capture, or all of them, and prints what each has captured."""
        if name is not None and name not in self._running:
            raise UsageError(f"{name} is not captured", f"captured: {', '.join(self._running) or 'nothing'}")
        for each in [name] if name is not None else list(self._running):
            capture = self._running.pop(each)
            captured = capture.stop()
            notes = [f", {captured.dropped} came too fast and are missing"] if captured.dropped else []
            notes += [", ended because the file was full"] if captured.is_full else []
            output(f"*** {each}: {captured.packets} packets in {capture.file}{''.join(notes)}\n")

    def list(self) -> None:
        if not self._running:
            output("*** nothing is captured\n")
        for name, capture in self._running.items():
            output(f"{name}: {capture.bytes_so_far} bytes in {capture.file}\n")
