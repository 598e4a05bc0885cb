"""JMeter's remote mode: engines on several hosts generate a load together, and one JMeter controls them.

Engines and controller communicate by RMI, unencrypted, over a management network, so that the results do not load the
measured network.
"""

import contextlib
import subprocess
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from flightpath.commands import end, how_ended
from flightpath.errors import MeasurementFailed
from flightpath.hosts import Host
from flightpath.processes import Process

PORT = 1099
REMOTE = {
    "server.rmi.ssl.disable": "true",
    "mode": "StrippedBatch",
    "num_sample_threshold": "100",
    "time_threshold": "500",
}
"""Properties of all parts: they send results twice a second, without the pages."""

_ENGINE = {"server_port": str(PORT), "server.exitaftertest": "true"}
_READY, _READY_S, _POLL_S = "Created remote object", 120.0, 0.1


class Generator(NamedTuple):
    """A host with an engine, and its address in the network for management."""

    host: Host
    address: str


class Share(NamedTuple):
    """The part of a load that one engine makes.

    Attributes:
        students: lines `account,code`.
        ramp_s: time in which they arrive.
        after_s: delay of its first student after the first engine's.
    """

    students: Sequence[str]
    ramp_s: float
    after_s: float


def shares(students: Sequence[str], ramp_s: float, engines: int) -> list[Share]:
    """Deals the students of a load out to engines, so that they arrive as they would from one.

    Raises:
        ValueError: there are fewer students than engines.
    """
    if len(students) < engines:
        raise ValueError(f"{len(students)} students for {engines} engines")
    apart_s = ramp_s / len(students)
    dealt = (students[number::engines] for number in range(engines))
    return [Share(own, apart_s * engines * len(own), apart_s * number) for number, own in enumerate(dealt)]


class Engine:
    """One engine, in a process of its own.

    Args:
        generator: host in which it runs.
        argv: command that starts JMeter there, without options.
        properties: properties of the plan for this engine.
    """

    def __init__(self, generator: Generator, argv: Sequence[str], properties: Mapping[str, str], folder: Path) -> None:
        self.name, self.log, self.output = generator.host.name, folder / "engine.log", folder / "engine.out"
        settings = [f"-J{name}={value}" for name, value in {**properties, **REMOTE, **_ENGINE}.items()]
        with self.output.open("wb") as output:
            self._process = generator.host.popen(
                [*argv, "-s", "-LWARN", "-j", str(self.log), *settings],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=str(folder),
            )

    def is_ready(self) -> bool:
        """Returns whether it accepts a test; raises MeasurementFailed if it has ended before one."""
        if self._process.poll() is not None:
            raise MeasurementFailed(
                f"JMeter on {self.name} {how_ended(self._process.returncode)}: {self._last_words()}"
            )
        return _READY in self.output.read_text(errors="replace")

    def cpu_s(self) -> float:
        """Returns the engine's processor time so far, in seconds; 0 if it has ended."""
        now = Process.read(self._process.pid)
        return now.own_cpu_seconds if now else 0.0

    def end(self) -> None:
        end(self._process)

    def _last_words(self) -> str:
        texts = [file.read_text(errors="replace").strip() for file in (self.log, self.output) if file.is_file()]
        return " ".join(texts)[-600:] or "it printed nothing"


@contextlib.contextmanager
def engines_ready(starting: Iterable[Engine]) -> Iterator[list[Engine]]:
    """Starts engines and waits until they accept a test; ends them with the context."""
    with contextlib.ExitStack() as stack:
        engines = []
        for engine in starting:
            stack.callback(engine.end)
            engines.append(engine)
        deadline = time.monotonic() + _READY_S
        while not all(engine.is_ready() for engine in engines):
            if time.monotonic() > deadline:
                raise MeasurementFailed(f"JMeter's engines are not ready after {_READY_S:g} s")
            time.sleep(_POLL_S)
        yield engines
