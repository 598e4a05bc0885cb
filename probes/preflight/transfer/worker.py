"""The process that moves the data of one connection; in a single process, streams would wait for each other."""

import atexit
import contextlib
import math
import os
import resource
import shutil
import signal
import time
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

from flightpath.errors import FlightpathError, MeasurementFailed
from probes.preflight.records import ClientLoad, EndedBy, KernelSample, Phases, SocketFacts
from probes.preflight.session import Access, Session
from probes.preflight.sockets import Address
from probes.preflight.spec import NULL_SINK, Direction, TransferSpec
from probes.preflight.ssh.sftp import TRANSPORT_ERRORS
from probes.preflight.ssh.socket_folder import FOLDER_OF_SOCKETS
from probes.preflight.target import FarEnd
from probes.preflight.transfer.curve import TransferCurve
from probes.preflight.transfer.opening import open_session, open_stream
from probes.preflight.transfer.read_ahead import ReadAhead
from probes.preflight.transfer.sinks import FileSink, Sink
from probes.preflight.transfer.stream import Part, Stream

_PROGRESS_S = 0.2

if (
    FOLDER_OF_SOCKETS in os.environ
):  # the process that starts workers, which survives a kill of the probe; its forks skip `atexit`
    atexit.register(shutil.rmtree, os.environ[FOLDER_OF_SOCKETS], ignore_errors=True)


@dataclass(frozen=True)
class Job:
    """All that a stream process needs; its secrets go through a pipe, never through a command line."""

    target: FarEnd
    spec: TransferSpec
    addresses: tuple[Address, ...]
    access: Access
    parts: tuple[Part, ...]
    sink: str


@dataclass(frozen=True)
class StreamReport:
    """One stream of a process, when it has ended. Times are on CLOCK_MONOTONIC.

    Attributes:
        curve: bytes over time; None if nothing came.
        connection: properties of the connection at the end.
    """

    number: int
    curve: TransferCurve | None
    phases: Phases
    samples: tuple[KernelSample, ...]
    connection: SocketFacts
    load: ClientLoad
    ended_by: EndedBy


def work(pipe: Connection, job: Job) -> None:
    """Runs a worker process: connects, opens all files, and transfers.

    It sends None when it is ready and waits for an answer. Then it sends the number of bytes moved, repeatedly, and at
    the end the streams' reports; or an error at any time.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the probe handles Ctrl-C
    try:
        with open_session(job.target, job.addresses, job.spec, job.access) as session:
            pipe.send(_Worker(session, job, pipe).run())
    except (BrokenPipeError, EOFError, ConnectionResetError):
        return  # the probe has ended
    except Exception as error:
        unexpected = MeasurementFailed(f"a stream failed unexpectedly: {type(error).__name__}: {error}")
        with contextlib.suppress(OSError):
            pipe.send(error if isinstance(error, FlightpathError) else unexpected)


class _Worker:
    """All streams of one connection."""

    def __init__(self, session: Session, job: Job, pipe: Connection) -> None:
        self._session, self._job, self._pipe, self._spec = session, job, pipe, job.spec
        self._samples: list[KernelSample] = []
        self._sinks: list[Sink] = []
        self._sample_due = self._progress_due = 0.0
        self._read_ahead = ReadAhead(len(job.parts), mptcp=job.spec.mptcp)
        self._ended_by = EndedBy.SIZE

    def run(self) -> tuple[StreamReport, ...]:
        """Opens the files, waits for the probe's message, and transfers."""
        begun = time.monotonic()
        streams = [self._open(part) for part in self._job.parts]
        session_s = time.monotonic() - begun
        self._pipe.send(None)
        self._pipe.recv()
        before, helper_before = self._used_s(), self._session.helper_used_s()
        self._sample()
        for stream in streams:
            with contextlib.suppress(*TRANSPORT_ERRORS):  # `_watch` reports a broken connection
                stream.start()
        self._watch(streams)
        wall, cpu, queued, cipher, disk = (after - used for used, after in zip(before, self._used_s(), strict=True))
        helped = tuple(after - used for used, after in zip(helper_before, self._session.helper_used_s(), strict=True))
        if sum(helped) > cpu + queued:  # of the two, which work at the same time, the slower one may be the limit
            cpu, queued = helped
        load = ClientLoad(cpu, queued, cipher, disk, max(0.0, wall - cpu - queued - disk))
        self._sample()
        facts = self._session.facts()
        for sink in self._sinks:
            sink.close()
        return tuple(self._report(stream, session_s, facts, load) for stream in streams)

    def _used_s(self) -> tuple[float, ...]:
        """Returns the time, and this process's use of processor, run queue, cipher and disk, in seconds."""
        used = resource.getrusage(resource.RUSAGE_SELF)
        cipher_ns, disk_ns = self._session.cipher_ns, sum(sink.disk_ns for sink in self._sinks)
        return time.monotonic(), used.ru_utime + used.ru_stime, _queued_s(), cipher_ns / 1e9, disk_ns / 1e9

    def _report(self, stream: Stream, session_s: float, facts: SocketFacts, load: ClientLoad) -> StreamReport:
        curve, session = stream.recorder.curve(), self._session
        first_byte_s = (curve.first_ns - stream.started_ns) / 1e9 if curve else 0.0
        phases = Phases(session.connect_s, session.key_exchange_s, session.authentication_s, session_s, first_byte_s)
        return StreamReport(stream.part.number, curve, phases, tuple(self._samples), facts, load, self._ended_by)

    def _open(self, part: Part) -> Stream:
        discards = self._spec.direction is Direction.UPLOAD or self._job.sink == NULL_SINK
        self._sinks.append(Sink() if discards else FileSink(self._job.sink))
        return open_stream(self._session, self._spec, part, self._sinks[-1])

    def _watch(self, streams: list[Stream]) -> None:
        """Waits until all streams have ended; samples, reports progress, and enforces the limits meanwhile."""
        tick = min(stream.tick_s for stream in streams)
        deadline, limit_s = math.inf, self._spec.duration_limit_s
        while running := [stream for stream in streams if not stream.ended.is_set()]:
            running[0].ended.wait(tick)
            now = time.monotonic()
            if limit_s is not None and deadline == math.inf:
                firsts = [stream.recorder.first_ns for stream in streams if stream.recorder.first_ns]
                deadline = min(firsts) / 1e9 + limit_s if firsts else math.inf
            if now >= deadline:
                self._ended_by = EndedBy.TIME
                break
            self._follow_path(streams, now)
            self._pump(running, now)
            self._report_progress(streams, now)
        for stream in streams:
            stream.stop()
        for stream in streams:
            if stream.failure is not None:
                raise stream.failure

    def _follow_path(self, streams: list[Stream], now: float) -> None:
        """Lets streams request as far ahead as the path is found to be long."""
        with contextlib.suppress(OSError):  # closed; noticed elsewhere
            total = sum(stream.recorder.total for stream in streams)
            if ahead := self._read_ahead.next(now, total, *self._session.rtts_s()):
                for stream in streams:
                    stream.read_ahead(ahead)

    def _pump(self, running: list[Stream], now: float) -> None:
        for stream in running:
            if stream.ended.is_set():
                continue
            if not self._session.is_active:
                error = self._session.failure
                why = "" if error is None or isinstance(error, EOFError) or not str(error) else f" ({error})"
                total = self._job.parts[0].total
                moved = f"{stream.recorder.total}" + (f" of {total}" if total is not None else "")
                raise MeasurementFailed(
                    f"the connection to {self._job.target.host} was cut{why}, {moved} bytes into a stream",
                    "this iteration was not recorded",
                )
            with contextlib.suppress(*TRANSPORT_ERRORS):  # the next round reports a broken connection
                stream.pump()
            last = max(stream.recorder.last_ns, stream.started_ns) / 1e9
            if now - last > self._spec.stall_limit_s:
                raise MeasurementFailed(
                    f"{self._job.target.host} stalls: nothing has come for {self._spec.stall_limit_s:g} s, "
                    f"after {stream.recorder.total} bytes",
                    "its disk or file system may hang; --stall sets how long to wait",
                )

    def _report_progress(self, streams: list[Stream], now: float) -> None:
        if now >= self._sample_due:
            self._sample_due = now + self._spec.interval_s
            self._sample()
        if now >= self._progress_due:
            self._progress_due = now + _PROGRESS_S
            self._pipe.send(sum(stream.recorder.total for stream in streams))
        if self._pipe.poll():
            self._pipe.recv()  # raises EOFError: the probe sends nothing during a transfer, so it has ended

    def _sample(self) -> None:
        if sample := self._session.sample():
            self._samples.append(sample)


def _queued_s() -> float:
    """Returns how long this process's threads waited for a processor (/proc/PID/task/TID/schedstat)."""
    total_ns = 0
    for thread in Path(f"/proc/{os.getpid()}/task").iterdir():
        with contextlib.suppress(OSError, IndexError):
            total_ns += int((thread / "schedstat").read_text().split()[1])
    return total_ns / 1e9
