"""Controllers of users: applications for os-ken or Ryu as Mininet nodes."""

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mininet.node import Controller

from flightpath.commands import end, how_ended
from flightpath.errors import MeasurementFailed, UsageError
from flightpath.launcher import python_module
from flightpath.overrides import override
from flightpath.waiting import wait_until
from topologies.hosts.nodes import LazyShellNode
from topologies.hosts.ports import is_open
from topologies.sandbox.kernel_settings import entry
from topologies.sandbox.sandbox import TEMPORARY

_START_TIMEOUT_S = 30.0
_ALL_ADDRESSES = "0.0.0.0"


class OskenController(LazyShellNode, Controller):
    """`osken-manager` with applications: `--controller osken,app.py`; by default a switch that learns addresses.

    The applications' output and log is in `/run/flightpath/NAME.log` inside the sandbox.

    Args:
        words: arguments of osken-manager: applications, as files or modules, and options such as `--observe-links`.
    """

    def __init__(self, name: str = "c0", *words: str, **params: Any) -> None:
        self._words = words
        self._process: subprocess.Popen[bytes] | None = None
        self.log = TEMPORARY / f"{name}.log"
        super().__init__(name, **params)
        _require_files(words)

    @override
    def checkListening(self) -> None:
        """Does nothing: in a sandbox, no other program can have taken the port."""

    @override
    def start(self) -> None:
        """Starts the process; `wait_listening` waits for it."""
        host = _ALL_ADDRESSES if self.inNamespace else self.ip
        where = ["--listen", f"{host}:{self.port}", "--folder", str(Path.cwd())]
        argv = python_module("controllers.applications", *where, *self._words)
        with self.log.open("w") as log:
            self._process = subprocess.Popen(
                [*entry(self), *argv],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def wait_listening(self) -> None:
        """Waits until switches may connect; does nothing in a subclass that starts another program."""
        if self._process is not None:
            wait_until(self._listens, f"the controller {self.name} to listen", _START_TIMEOUT_S, check=self.check)

    def check(self) -> None:
        """Checks that the process still runs."""
        if self._process is not None and self._process.poll() is not None:
            log = self.log.read_text(errors="replace")[-2000:].strip()
            if self._process.returncode == UsageError.exit_code:
                raise UsageError(log.removeprefix("controllers: "))
            ended = how_ended(self._process.returncode)
            raise MeasurementFailed(f"the controller {self.name} {ended}; its log ends:\n{log or '(empty)'}")

    @override
    def stop(self, *args: Any, **kwargs: Any) -> None:
        if self._process is not None:
            end(self._process)
            self._process = None
        super(Controller, self).stop(*args, **kwargs)

    def _listens(self) -> bool:
        return is_open(self.pid, self.port, "tcp")


def _require_files(words: Sequence[str]) -> None:
    for word in words:
        if word.endswith(".py") and not Path(word).is_file():
            raise UsageError(
                f"there is no application {word!r}", "give the path of a Python file, or the name of a module"
            )
