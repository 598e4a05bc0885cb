"""The programs of an experiment file, in their hosts: started when it is time, watched, and stopped at the end."""

import contextlib
import os
import signal
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import native
from experiments.files.tables import Ready, Run
from flightpath.clock import Clock, clock_here
from flightpath.commands import how_ended, over_mptcp
from flightpath.errors import MeasurementFailed
from flightpath.hosts import start_in
from flightpath.processes import family
from services.running.daemon import kill_all
from topologies.hosts.congestion_control import set_on_listeners
from topologies.hosts.multihomed import MultihomedHost
from topologies.hosts.ports import is_open

_POLL_S, _CHECK_S = 0.01, 0.25
_STOP_S = 5.0
_SHOWN_BYTES = 2000
_SAMPLE_S = 0.5
_WORKING_PERCENT = 1.0


@dataclass(eq=False)
class Program:
    """One program; times are in seconds since the beginning of the load.

    Attributes:
        command: with addresses in place of names.
        shares: the processor time that it used in each sample, in per cent of a core.
    """

    spec: Run
    host: MultihomedHost
    command: str | Sequence[str]
    folder: Path
    started_s: float | None = None
    ready_s: float | None = None
    ended_s: float | None = None
    shares: list[float] = field(default_factory=list)
    used_s: float = 0.0
    _process: Any = None
    _waiter: threading.Thread | None = None

    @property
    def stdout(self) -> Path:
        """File of its standard output."""
        return self.folder / f"{self.spec.name}.stdout"

    @property
    def stderr(self) -> Path:
        """File of its standard error."""
        return self.folder / f"{self.spec.name}.stderr"

    @property
    def cpu_percent(self) -> float:
        """Use of a core while it worked: the median of the samples in which it did; its mean if it was too short."""
        working = sorted(share for share in self.shares if share > _WORKING_PERCENT)
        if working:
            return working[len(working) // 2]
        took_s = (self.ended_s or 0.0) - (self.started_s or 0.0)
        return 100 * self.used_s / took_s if took_s > 0 else 0.0

    def start(self, began_s: float) -> None:
        """Starts it."""
        self.started_s = time.monotonic() - began_s
        self._process = start_in(self.host, self._argv(), self.folder, stdout=self.stdout, stderr=self.stderr)
        self._waiter = threading.Thread(target=self._wait, args=(self._process, began_s), daemon=True)
        self._waiter.start()

    def look_for_readiness(self, began_s: float) -> None:
        """Notes when it has become ready."""
        ready = self.spec.ready
        if ready is None or self.ready_s is not None or self.started_s is None or not self._is_ready(ready):
            return
        set_on_listeners(self.host)
        self.ready_s = time.monotonic() - began_s

    def sample(self, seconds: float) -> None:
        """Notes how much processor time it used since the last sample."""
        if self._process is None or self.ended_s is not None:
            return
        used_s = sum(process.cpu_seconds for process in family(self._process.pid))
        self.shares.append(100 * max(0.0, used_s - self.used_s) / seconds)
        self.used_s = max(self.used_s, used_s)

    def check(self) -> None:
        """Raises MeasurementFailed if it has ended as it should not, with the end of its output."""
        if self._process is None or self.ended_s is None:
            return
        code = self._process.returncode
        if self.spec.background:
            raise self._failure(f"{how_ended(code)}, but it is in the background, so it should run to the end")
        if code != 0 and not self.spec.may_fail:
            raise self._failure(how_ended(code))
        if self.spec.ready is not None and self.ready_s is None:
            raise self._failure("has ended before it was ready")

    def stop(self) -> None:
        """Ends it, and whatever it has started."""
        if self._process is None or self._waiter is None:
            return
        members = family(self._process.pid)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGTERM)
        self._waiter.join(_STOP_S)
        kill_all({*members, *family(self._process.pid)})
        self._waiter.join()

    def _argv(self) -> list[str]:
        words = ["sh", "-c", self.command] if isinstance(self.command, str) else list(self.command)
        patient = native.preloading_command("select_backoff.so") if clock_here() is Clock.VIRTUAL else []
        return [*over_mptcp(self.spec.mptcp), *patient, *words]

    def _wait(self, process: Any, began_s: float) -> None:
        """Waits for its end, whose time and processor time Popen does not tell."""
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        self.used_s = usage.ru_utime + usage.ru_stime
        self.ended_s = time.monotonic() - began_s

    def _is_ready(self, ready: Ready) -> bool:
        if ready.output is not None:
            texts = (path.read_text(encoding="utf-8", errors="replace") for path in (self.stdout, self.stderr))
            return any(ready.output.search(text) for text in texts)
        if ready.port is not None:
            return is_open(self.host.pid, ready.port, "tcp", "tcp6")
        return is_open(self.host.pid, ready.udp_port or 0, "udp", "udp6")

    def _failure(self, what: str) -> MeasurementFailed:
        outputs = (path.read_bytes()[-_SHOWN_BYTES:].decode(errors="replace") for path in (self.stdout, self.stderr))
        text = "\n".join(filter(None, map(str.strip, outputs))) or "(nothing)"
        return MeasurementFailed(f"{self.spec.name} in {self.host.name} {what}; it printed:\n{text}")


class Programs:
    """All programs of a cell, as a context manager that stops them."""

    def __init__(self, programs: Sequence[Program], began_s: float) -> None:
        self.by_name: Mapping[str, Program] = {program.spec.name: program for program in programs}
        self._began_s, self._sampled_s = began_s, began_s

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for program in self.by_name.values():
            program.stop()

    def run(self, limit_s: float, watch: Callable[[float], None]) -> None:
        """Starts each program when it is time, until all have ended that are not in the background.

        Args:
            limit_s: time limit, from the beginning of the load.
            watch: called a few times a second with the seconds since the beginning; an error of it ends the load.

        Raises:
            MeasurementFailed: a program failed, or the time is over.
        """
        checked_s = 0.0
        while True:
            now_s = time.monotonic() - self._began_s
            pause_s = self._advance(now_s)
            if all(each.ended_s is not None for each in self.by_name.values() if not each.spec.background):
                for program in self.by_name.values():
                    program.check()
                return
            if now_s > limit_s:
                raise self._late(limit_s)
            if now_s >= checked_s + _CHECK_S:
                checked_s = now_s
                watch(now_s)
            time.sleep(pause_s)

    def _advance(self, now_s: float) -> float:
        """Starts what is due, and notes what has become ready or has failed; returns the time until the next look."""
        pause_s = _POLL_S
        for program in self.by_name.values():
            program.check()
            if program.started_s is None:
                due_s = self._due_s(program)
                if due_s is not None and due_s <= now_s:
                    program.start(self._began_s)
                elif due_s is not None:
                    pause_s = min(pause_s, due_s - now_s)
            program.look_for_readiness(self._began_s)
        if clock_here() is Clock.REAL and (since_s := time.monotonic() - self._sampled_s) >= _SAMPLE_S:
            self._sampled_s += since_s
            for program in self.by_name.values():
                program.sample(since_s)
        return pause_s

    def _due_s(self, program: Program) -> float | None:
        """Returns when a program is to start; None while that is open."""
        if program.spec.awaited is None:
            return (program.spec.at or 0.0) + program.spec.delay
        name, state = program.spec.awaited
        ahead = self.by_name[name]
        since_s = ahead.ready_s if state == "ready" else ahead.ended_s
        return None if since_s is None else since_s + program.spec.delay

    def _late(self, limit_s: float) -> MeasurementFailed:
        waiting = [name for name, each in self.by_name.items() if each.ended_s is None and not each.spec.background]
        not_ready = [name for name, each in self.by_name.items() if each.spec.ready and each.ready_s is None]
        why = f"; not ready: {', '.join(not_ready)}" if not_ready else ""
        message = f"after {limit_s:g} s not all programs have ended: {', '.join(waiting)}{why}"
        return MeasurementFailed(message, "time_limit in the file is how long they may take")
