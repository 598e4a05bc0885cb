"""Mininet nodes without a shell until one is asked for: four programs a node, which few nodes ever use."""

import contextlib
import os
import signal
import subprocess
from collections.abc import Sequence
from typing import Any

from mininet.node import Node

import native
from flightpath.commands import end_and_close, require
from flightpath.errors import FlightpathError, MissingCapability
from topologies.sandbox.kernel_settings import entry

_READY = "ready\n"


class Namespaces:
    """Network namespaces of nodes, all made by one program: `pids` names for each node the process that keeps its.

    Raises:
        MissingCapability: this user may not make network namespaces, or the program is not built.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self._process = subprocess.Popen(
            [str(native.binary("namespaces")), *names],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,  # a Ctrl-C in the terminal is not for them
        )
        lines = [self._process.stdout.readline() for _ in range(len(names) + 1)]
        if lines[-1] != _READY:
            said = self._process.communicate()[1].strip()
            lacking = self._process.returncode == MissingCapability.exit_code
            raise (MissingCapability if lacking else FlightpathError)(f"no network namespaces for hosts: {said}")
        self.pids = dict(zip(names, map(int, lines), strict=False))

    def stop(self) -> None:
        """Ends what keeps them: a namespace is gone when nothing runs in it any more."""
        end_and_close(self._process)


class QuietNode(Node):
    """A Mininet node whose shell starts with the first command for it (`cmd`, `sendCmd`, the command line).

    A node with a namespace of its own keeps it by a process that does nothing, whose PID is the node's `pid`.
    """

    _ended = False
    _own_namespace: Namespaces | None = None
    _way_in: Sequence[str] = ()

    @classmethod
    def setup(cls) -> None:
        """As Mininet's, which looks for its programs by starting others."""
        for program in ("mnexec", "nsenter", "unshare"):
            require(program)

    def startShell(self, mnopts: str | None = None) -> None:  # noqa: N802 - Mininet's hook
        """Makes the node's namespace, unless the network has; the shell waits until it is needed."""
        given = self.params.get("namespace_pid")
        if not self.inNamespace:
            self.pid = os.getpid()
        elif given is not None:
            self.pid = given
        else:
            self._own_namespace = Namespaces([self.name])
            self.pid = self._own_namespace.pids[self.name]

    def cmd(self, *args: Any, **kwargs: Any) -> str | None:
        """As Mininet's."""
        self._need_shell()
        return super().cmd(*args, **kwargs)

    def sendCmd(self, *args: Any, **kwargs: Any) -> None:  # noqa: N802 - Mininet's hook
        """As Mininet's."""
        self._need_shell()
        super().sendCmd(*args, **kwargs)

    def terminate(self) -> None:
        """As Mininet's; the namespace goes with the last process in it."""
        super().terminate()
        if self._ended:
            return
        self._ended = True
        if self._own_namespace is not None:
            self._own_namespace.stop()
        elif self.inNamespace:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)

    def _popen(self, cmd: Sequence[str], **params: Any) -> subprocess.Popen[Any]:
        return super()._popen([*self._way_in, *cmd], **params)

    def _need_shell(self) -> None:
        if self.shell is not None or self._ended:
            return
        in_namespace, pid = self.inNamespace, self.pid
        if in_namespace:
            # What `mnexec -n` does, but into the namespace that is there: it sees its own interfaces in /sys.
            apart = ["unshare", "--mount", "sh", "-c", 'mount -t sysfs sysfs /sys; exec "$@"', "sh"]
            self._way_in = [*entry(self), *apart]
        try:
            self.inNamespace = False
            super().startShell()
        finally:
            self.inNamespace, self.pid, self._way_in = in_namespace, pid, ()
