"""A host of services and probes without a network: a network namespace with a loopback interface."""

import socket
import subprocess

from topologies.sandbox import kernel_settings


class NamespaceHost:
    """A network namespace, kept by a process that waits for its stdin to close: whatever ends the tests ends it."""

    def __init__(self, name: str = "host") -> None:
        ready = ["sh", "-c", "ip link set lo up && echo ready && exec cat"]
        self._keeper = subprocess.Popen(["unshare", "--net", *ready], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.name, self.pid, self.inNamespace = name, self._keeper.pid, True  # as a Mininet node has them
        assert self._keeper.stdout.readline() == b"ready\n"

    def __enter__(self) -> "NamespaceHost":
        return self

    def __exit__(self, *_: object) -> None:
        self._keeper.kill()
        self._keeper.communicate()

    def popen(self, argv: list[str], **options: object) -> subprocess.Popen:
        return subprocess.Popen([*kernel_settings.entry(self), *argv], start_new_session=True, **options)

    def run(self, *argv: str) -> str:
        """Output of a program that succeeds."""
        command = [*kernel_settings.entry(self), *argv]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    def socket(self, kind: socket.SocketKind = socket.SOCK_STREAM) -> socket.socket:
        """A socket of this host for the test itself: it belongs to the namespace that it was made in."""
        with kernel_settings.inside(self):
            made = socket.socket(socket.AF_INET, kind)
        made.settimeout(60)
        return made
