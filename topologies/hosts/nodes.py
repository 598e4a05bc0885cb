"""Mininet nodes whose shell starts with the first command: a shell takes four processes, and few nodes need one."""

import contextlib
import os
import signal
import subprocess
from collections.abc import Sequence
from typing import Any

from mininet.node import Node

import native
from flightpath.commands import end_and_close, require
from flightpath.errors import MissingCapability
from flightpath.overrides import override
from topologies.links import native_program
from topologies.sandbox.kernel_settings import entry


class Namespaces:
    """Network namespaces of nodes, made by one program (`native/hosts/namespaces.c`).

    Attributes:
        pids: for each node, the PID of the process that holds its namespace.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self._process = native_program.start([str(native.binary("namespaces")), *names])
        lines = [native_program.read_line(self._process) for _ in names]
        native_program.wait_ready(self._process, "no network namespaces for hosts", MissingCapability)
        self.pids = dict(zip(names, map(int, lines), strict=True))

    def stop(self) -> None:
        """Ends the processes that hold the namespaces; each namespace vanishes with its last process."""
        end_and_close(self._process)


class LazyShellNode(Node):
    """A Mininet node whose shell starts with its first command (`cmd`, `sendCmd`, the command line).

    Until then an idle process holds the node's namespace; its PID is the node's `pid`.
    """

    pid: int
    inNamespace: bool
    _has_ended = False
    _own_namespace: Namespaces | None = None
    _shell_prefix: Sequence[str] = ()

    @classmethod
    @override
    def setup(cls) -> None:
        for program in ("mnexec", "nsenter", "unshare"):
            require(program)

    @override
    def startShell(self, mnopts: str | None = None) -> None:
        """Makes the node's namespace, unless the network has made it; the shell starts when it is needed."""
        pid = self.params.get("namespace_pid")
        if not self.inNamespace:
            self.pid = os.getpid()
        elif pid is not None:
            self.pid = pid
        else:
            self._own_namespace = Namespaces([self.name])
            self.pid = self._own_namespace.pids[self.name]

    @override
    def cmd(self, *args: Any, **kwargs: Any) -> str | None:
        self._start_shell_now()
        return super().cmd(*args, **kwargs)

    @override
    def sendCmd(self, *args: Any, **kwargs: Any) -> None:
        self._start_shell_now()
        super().sendCmd(*args, **kwargs)

    @override
    def terminate(self) -> None:
        super().terminate()
        if self._has_ended:
            return
        self._has_ended = True
        if self._own_namespace is not None:
            self._own_namespace.stop()
        elif self.inNamespace:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)

    def _popen(self, cmd: Sequence[str], **params: Any) -> subprocess.Popen[Any]:
        return super()._popen([*self._shell_prefix, *cmd], **params)

    def _start_shell_now(self) -> None:
        if self.shell is not None or self._has_ended:
            return
        in_namespace, pid = self.inNamespace, self.pid
        if in_namespace:
            # As `mnexec -n`, but in the existing namespace: /sys must show its interfaces.
            with_own_sys = ["unshare", "--mount", "sh", "-c", 'mount -t sysfs sysfs /sys; exec "$@"', "sh"]
            self._shell_prefix = [*entry(self), *with_own_sys]
        try:
            self.inNamespace = False
            super().startShell()
        finally:
            self.inNamespace, self.pid, self._shell_prefix = in_namespace, pid, ()
