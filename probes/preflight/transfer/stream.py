"""The process that moves the data of one connection: in the probe's own process, streams would wait for each other."""

import contextlib
import math
import os
import resource
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

from paramiko import SFTPFile
from paramiko.ssh_exception import SSHException

from flightpath.errors import FlightpathError, MeasurementFailed
from flightpath.tcp_info import read as read_tcp_info
from probes.preflight.records import ClientLoad, EndedBy, KernelSample, Phases, SocketFacts
from probes.preflight.spec import Direction, TransferSpec
from probes.preflight.ssh import tcp_info
from probes.preflight.ssh.session import Access, Session, Sftp
from probes.preflight.ssh.sockets import Address
from probes.preflight.ssh.target import Target
from probes.preflight.transfer.course import Course
from probes.preflight.transfer.download import Download, Share
from probes.preflight.transfer.sinks import open_sink
from probes.preflight.transfer.upload import Upload

AMPLE_WINDOW_BYTES = 128 * 1024 * 1024
"""SSH's window of a stream, and the most that is asked for in advance, unless said otherwise: 10 Gb/s over 100 ms."""

_FIRST_AHEAD_BYTES = 4 * 1024 * 1024
"""What is asked for in advance at first. The far end's sshd keeps in memory, and moves about, all that was asked for
and does not fit into its socket: asking for much more than the path holds would make it slow."""

_AHEAD_OF_PATH = 4
"""So many times what is on the way must be asked for: it, the socket's buffer behind it (Linux: twice the congestion
window), and as much again while the congestion window still doubles."""

_PROGRESS_S = 0.2
_LARGEST_REQUEST = 256 * 1024 - 1024


@dataclass(frozen=True)
class Part:
    """One stream's part of the work.

    Attributes:
        number: of the stream.
        path: of the remote file.
        share: what of it.
    """

    number: int
    path: str
    share: Share


@dataclass(frozen=True)
class Job:
    """All that a stream process needs to know; its secrets go through a pipe, never over a command line."""

    target: Target
    spec: TransferSpec
    addresses: tuple[Address, ...]
    access: Access
    parts: tuple[Part, ...]
    sink: str


@dataclass(frozen=True)
class Ready:
    """Says that the connection is there and the files are open."""


@dataclass(frozen=True)
class Progress:
    """Says how many bytes have come so far, over all streams of the process."""

    total: int


@dataclass(frozen=True)
class Moved:
    """What became of one stream; times on CLOCK_MONOTONIC.

    Attributes:
        number: of the stream.
        course: None if nothing came.
        phases: where time went before.
        samples: with their times in ns (`KernelSample.at_s` is 0).
        connection: as found at the end.
        load: of the process.
        ended_by: what ended it.
    """

    number: int
    course: Course | None
    phases: Phases
    samples: tuple[tuple[int, KernelSample], ...]
    connection: SocketFacts
    load: ClientLoad
    ended_by: EndedBy


def work(pipe: Connection, job: Job) -> None:
    """The process: connects, says `Ready`, waits for a word, transfers, and sends what became of it, or the error."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a Ctrl-C is the probe's to handle
    try:
        with Session(job.target, job.addresses, job.spec, job.access) as session:
            pipe.send(_Connection(session, job, pipe).run())
    except (BrokenPipeError, EOFError, ConnectionResetError):
        return  # the probe is gone
    except FlightpathError as error:
        _send(pipe, error)
    except Exception as error:
        _send(pipe, MeasurementFailed(f"a stream failed unexpectedly: {type(error).__name__}: {error}"))


def _send(pipe: Connection, error: FlightpathError) -> None:
    with contextlib.suppress(OSError):
        pipe.send(error)


class _Connection:
    """All streams of one connection, in their process."""

    def __init__(self, session: Session, job: Job, pipe: Connection) -> None:
        self._session, self._job, self._pipe, self._spec = session, job, pipe, job.spec
        self._window = job.spec.ssh_window_bytes or AMPLE_WINDOW_BYTES
        self._samples: list[tuple[int, KernelSample]] = []
        self._kept: list[tuple[Sftp, SFTPFile]] = []
        self._sample_due = self._progress_due = 0.0
        self._looked_at: tuple[float, int] | None = None
        self._ended_by = EndedBy.SIZE

    def run(self) -> tuple[Moved, ...]:
        """Opens, waits for the word, transfers."""
        begun = time.monotonic()
        streams = [self._open(part) for part in self._job.parts]
        session_s = time.monotonic() - begun
        self._pipe.send(Ready())
        self._pipe.recv()
        before = _Usage.now(self._session, streams)
        self._sample()
        for stream in streams:
            with contextlib.suppress(SSHException, EOFError, OSError):  # a broken connection is told when it is watched
                stream.start()
        self._attend(streams)
        load = _Usage.now(self._session, streams).since(before)
        self._sample()
        facts = self._session.facts()
        for stream in streams:
            stream.close()
        return tuple(
            Moved(part.number, course, self._phases(session_s, stream, course), samples, facts, load, self._ended_by)
            for part, stream, course, samples in (
                (part, stream, stream.log.course(), tuple(self._samples))
                for part, stream in zip(self._job.parts, streams, strict=True)
            )
        )

    def _phases(self, session_s: float, stream: Download | Upload, course: Course | None) -> Phases:
        first = (course.first_ns - stream.started_ns) / 1e9 if course else 0.0
        made = self._session
        return Phases(made.connect_s, made.key_exchange_s, made.authentication_s, session_s, first)

    def _open(self, part: Part) -> Download | Upload:
        spec = self._spec
        upload = spec.direction is Direction.UPLOAD
        sftp = self._session.open_sftp(self._window if not upload else 2**21)
        limits = sftp.limits()
        largest = min(limits.write if upload else limits.read, _LARGEST_REQUEST)
        request = min(spec.request_bytes or largest, largest)
        rate = spec.rate_limit_bps / spec.streams if spec.rate_limit_bps else None
        file = _open_remote(sftp, part.path, upload)
        channel = sftp.get_channel()
        channel.settimeout(None)
        made: Download | Upload
        if upload:
            made = Upload(
                channel, file.handle, part.share, request_bytes=request, ahead_bytes=AMPLE_WINDOW_BYTES, rate_bps=rate
            )
        else:
            made = Download(
                channel,
                file.handle,
                part.share,
                request_bytes=request,
                ahead_bytes=min(self._window, _FIRST_AHEAD_BYTES),
                window_bytes=self._window,
                sink=open_sink(self._job.sink),
                rate_bps=rate,
                clear=self._session.transport.clear_to_send.is_set,
            )
        self._kept.append((sftp, file))  # without a holder they would close what the stream uses
        self._session.packetizer.consume(channel.chanid, made.take)
        return made

    def _attend(self, streams: list[Download | Upload]) -> None:
        """Watches until all have ended: samples, tells the probe, notices limits, stalls and breaks."""
        tick = 0.01 if self._spec.rate_limit_bps else 0.05
        deadline = math.inf
        limit_s = self._spec.duration_limit_s
        while going := [stream for stream in streams if not stream.ended.is_set()]:
            going[0].ended.wait(tick)
            now = time.monotonic()
            if limit_s is not None and deadline == math.inf:
                firsts = [stream.log.first_ns for stream in streams if stream.log.first_ns]
                deadline = min(firsts) / 1e9 + limit_s if firsts else math.inf
            if now >= deadline:
                self._ended_by = EndedBy.TIME
                break
            self._look_further(streams, now)
            self._keep_going(going, now)
            self._tell(streams, now)
        for stream in streams:
            stream.stop()
        for stream in streams:
            if stream.failure is not None:
                raise stream.failure

    def _look_further(self, streams: list[Download | Upload], now: float) -> None:
        """Asks further ahead as the path turns out to hold more: as the kernel sizes its buffers, each round trip."""
        with contextlib.suppress(OSError):  # closed: the next look tells
            rtt_s = read_tcp_info(self._session.connection).rtt_us / 1e6
            before, had = self._looked_at or (now, 0)
            if 0 < now - before < rtt_s:
                return
            total = sum(stream.log.total for stream in streams)
            self._looked_at = now, total
            on_the_way = (total - had) / (now - before) * rtt_s if now > before else 0.0
            ahead = _FIRST_AHEAD_BYTES + _AHEAD_OF_PATH * on_the_way / len(streams)
            for stream in streams:
                stream.look_further(min(self._window, round(ahead)))

    def _keep_going(self, going: list[Download | Upload], now: float) -> None:
        for stream in going:
            if stream.ended.is_set():
                continue
            if not self._session.transport.is_active():
                raise self._broken(stream)
            with contextlib.suppress(SSHException, EOFError, OSError):  # the next round tells what broke
                stream.pump()
            last = max(stream.log.last_ns, stream.started_ns) / 1e9
            if now - last > self._spec.stall_limit_s:
                raise MeasurementFailed(
                    f"{self._job.target.host} stalls: nothing has come for {self._spec.stall_limit_s:g} s, "
                    f"after {stream.log.total} bytes",
                    "its disk or file system may hang; --stall sets how long to wait",
                )

    def _broken(self, stream: Download | Upload) -> MeasurementFailed:
        reason = self._session.transport.saved_exception
        why = "" if reason is None or isinstance(reason, EOFError) or not str(reason) else f" ({reason})"
        total = self._job.parts[0].share.total
        of = f" of {total}" if total is not None else ""
        return MeasurementFailed(
            f"the connection to {self._job.target.host} was cut{why} after {stream.log.total}{of} bytes of a stream",
            "this iteration was not recorded",
        )

    def _tell(self, streams: list[Download | Upload], now: float) -> None:
        if now >= self._sample_due:
            self._sample_due = now + self._spec.interval_s
            self._sample()
        if now >= self._progress_due:
            self._progress_due = now + _PROGRESS_S
            self._pipe.send(Progress(sum(stream.log.total for stream in streams)))
        if self._pipe.poll():
            self._pipe.recv()  # the probe says nothing during a transfer: this is its end

    def _sample(self) -> None:
        found = tcp_info.sample(self._session.connection, 0.0)
        if found is not None:
            self._samples.append((time.monotonic_ns(), found))


@dataclass(frozen=True)
class _Usage:
    """What the process has used so far."""

    wall_ns: int
    cpu_s: float
    queued_ns: int
    cipher_ns: int
    disk_ns: int

    @classmethod
    def now(cls, session: Session, streams: list[Download | Upload]) -> "_Usage":
        used = resource.getrusage(resource.RUSAGE_SELF)
        return cls(
            time.monotonic_ns(),
            used.ru_utime + used.ru_stime,
            _queued_ns(),
            session.packetizer.cipher_ns,
            sum(stream.disk_ns for stream in streams),
        )

    def since(self, before: "_Usage") -> ClientLoad:
        wall, cpu = (self.wall_ns - before.wall_ns) / 1e9, self.cpu_s - before.cpu_s
        queued, disk = (self.queued_ns - before.queued_ns) / 1e9, (self.disk_ns - before.disk_ns) / 1e9
        cipher = (self.cipher_ns - before.cipher_ns) / 1e9
        return ClientLoad(cpu, queued, cipher, disk, max(0.0, wall - cpu - queued - disk))


def _queued_ns() -> int:
    """How long this process's threads have been ready to run without a processor (/proc/PID/task/TID/schedstat)."""
    total = 0
    for thread in Path(f"/proc/{os.getpid()}/task").iterdir():
        with contextlib.suppress(OSError, IndexError):
            total += int((thread / "schedstat").read_text().split()[1])
    return total


def _open_remote(sftp: Sftp, path: str, upload: bool) -> SFTPFile:
    return remote(lambda: sftp.open(path, "w" if upload else "r"), path)


def remote(action: Callable[[], SFTPFile], path: str) -> SFTPFile:
    """Does something with a remote file; its errors say which file, and what is the matter."""
    try:
        return action()
    except FileNotFoundError:
        raise MeasurementFailed(f"there is no {path!r} at the far end", "a relative path begins in the home") from None
    except PermissionError:
        raise MeasurementFailed(f"{path!r} at the far end: permission denied") from None
    except (OSError, SSHException, EOFError) as error:
        raise MeasurementFailed(f"{path!r} at the far end: {error or 'the connection was cut'}") from error
