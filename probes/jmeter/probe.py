"""JMeter as a load generator.

The settings of Java and JMeter below reduce the processor time that JMeter takes from the rest of the testbed: from
16 s, with Java's defaults, to 7.4 s for 16 000 requests at 800 requests/s. Nearly all of that is spent compiling: runs
are too short for the optimising compiler to pay, hence `TieredStopAtLevel=1`.
"""

import contextlib
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import native
from flightpath.clock import epoch_offset_s
from flightpath.commands import end, how_ended, over_mptcp, require
from flightpath.errors import MeasurementFailed, MissingCapability, UsageError
from flightpath.hosts import Host
from flightpath.processes import Process
from flightpath.project import IS_CHECKOUT, SETUP_HINT
from probes.jmeter.engines import PORT, REMOTE, Engine, Generator, engines_ready, shares
from probes.jmeter.install import HOME, java_command
from probes.jmeter.jtl import Samples, read_jtl
from probes.jmeter.metrics import LoadRun
from probes.jmeter.progress import LoadProgress, ResultFile
from probes.probe import Probe

__all__ = ["JMeterLoad", "LoadProgress", "LoadRun", "require_jmeter"]

RESULT_FILE, LOG_FILE, OUTPUT_FILE = "samples.jtl", "jmeter.log", "jmeter.out"
STUDENTS_HEADER = "account,code"

_PROGRESS_PERIOD_S = 0.5
_START_AND_END_S = 60.0
_LOG_TAIL_LINES = 20
_LEAD_MS = 500  # as in load.jmx
_NOISE = ("\tat ", "\t... ", "WARN StatusConsoleListener", "INFO: Created user preferences")

_JAVA_OPTIONS = (
    "-Xms256m",
    "-Xmn32m",  # new memory is dear in virtual time
    "-Xmx2g",
    "-Xss256k",  # a thread per student
    "-XX:-UsePerfData",
    # Java cannot open MPTCP sockets over IPv6.
    "-Djava.net.preferIPv4Stack=true",
)
_PROPERTIES = {
    "sample_variables": "account,question,choice,due_ms",
    "jmeter.save.saveservice.output_format": "csv",
    "jmeter.save.saveservice.print_field_names": "true",
    "jmeter.save.saveservice.timestamp_format": "ms",
    "jmeter.save.saveservice.default_delimiter": ",",
    "jmeter.save.saveservice.autoflush": "false",  # JMeter writes 8 kB at a time: some 70 requests
    "jmeter.save.saveservice.assertions": "false",
    "jmeter.save.saveservice.data_type": "false",
    "jmeter.save.saveservice.idle_time": "false",
    "jmeter.save.saveservice.thread_counts": "false",
    "jmeter.save.saveservice.url": "false",
    "summariser.name": "",
    # JMeter would listen for commands on this port.
    "jmeterengine.nongui.port": "0",
    # JMeter would set up TLS for every student.
    "httpclient.reset_state_on_thread_group_iteration": "false",
    # A student keeps one connection while waiting for an overloaded server.
    "httpclient4.time_to_live": "3600000",
    "httpclient4.retrycount": "0",
}


@dataclass(frozen=True)
class JMeterLoad(Probe):
    """The load of `scenarios/web_load/load.jmx`: students, each with one connection and 20 requests.

    Attributes:
        plan: the test plan; it must set the variable `due_ms` (ms since the epoch), the intended time of each request.
        students_csv: a line `account,code` for each student; a heading of these words is skipped.
        ramp_s: time in which they arrive, evenly.
        pace_s: interval between the intended times of a student's requests; whole milliseconds.
        connect_timeout_s: a connection that takes longer to open is an error.
        response_timeout_s: a response that pauses for so long is an error (JMeter has no timeout for a whole one).
        properties: further JMeter properties (`-J`).
        requests_per_thread: number of a student's requests in the plan.
        epoch_offset_s: time of day minus CLOCK_MONOTONIC; JMeter keeps to it although somebody sets the time of day.
    """

    plan: Path
    students_csv: Path
    threads: int
    ramp_s: float
    port: int = 80
    pace_s: float = 0.05
    connect_timeout_s: float = 5.0
    response_timeout_s: float = 20.0
    mptcp: bool = False
    properties: Mapping[str, str] = field(default_factory=dict)
    requests_per_thread: int = 20
    home: Path = HOME
    epoch_offset_s: float = field(default_factory=epoch_offset_s, compare=False)

    def __post_init__(self) -> None:
        if self.threads < 1:
            raise UsageError(f"threads: {self.threads} is less than 1")
        if self.ramp_s < 0:
            raise UsageError(f"ramp: {self.ramp_s:g} s is less than 0")
        for name in ("pace_s", "connect_timeout_s", "response_timeout_s"):
            value = getattr(self, name)
            if value < 0.001 or abs(value * 1000 - round(value * 1000)) > 1e-6:
                raise UsageError(
                    f"{name.removesuffix('_s')}: {value:g} s is not a whole number of milliseconds, from 1"
                )

    @property
    def total(self) -> int:
        return self.threads * self.requests_per_thread

    def run(
        self,
        host: Host,
        address: str,
        *,
        folder: Path | None = None,
        watch: Callable[[LoadProgress], None] = lambda progress: None,
        time_limit_s: float | None = None,
        generators: Sequence[Generator] = (),
    ) -> LoadRun:
        """Applies the load; see `Probe.run`.

        Args:
            host: host in which JMeter runs; its processes should lead a session, or a group, of their own.
            folder: folder for JMeter's result file, log and output, which replace earlier ones; made if it is missing.
                By default a temporary one.
            watch: callback twice a second; an exception from it ends the load.
            time_limit_s: time limit of the load; by default its duration if every request times out.
            generators: hosts that generate the load; `host` is the first and starts the others. None: `host` alone.
        """
        if folder is None:
            with tempfile.TemporaryDirectory(prefix="flightpath-jmeter-") as temporary:
                return self.run(
                    host,
                    address,
                    folder=Path(temporary),
                    watch=watch,
                    time_limit_s=time_limit_s,
                    generators=generators,
                )
        require_jmeter(self.home, mptcp=self.mptcp)
        has_header = self._check_students()
        folder = _emptied(folder)
        request_s = self.pace_s + self.connect_timeout_s + self.response_timeout_s
        longest_s = _START_AND_END_S + self.ramp_s + self.requests_per_thread * request_s
        with tempfile.TemporaryDirectory(prefix="java-", dir=folder) as scratch:
            results = ResultFile(folder / RESULT_FILE, self.epoch_offset_s)
            if generators:
                rmi = _rmi_address(generators[0].address)
                argv = self.command(address, folder, Path(scratch), rmi, students_header=False)
                engines_at = ",".join(f"{generator.address}:{PORT}" for generator in generators)
                argv += ["-R", engines_at, *(f"-J{name}={value}" for name, value in REMOTE.items())]
            else:
                argv = self.command(address, folder, Path(scratch), students_header=has_header)
            with engines_ready(self._engines(address, Path(scratch), generators)) as engines:
                cpu_s = self._run_to_end(host, argv, results, watch, time_limit_s or longest_s, engines)
        samples = self._samples(folder)
        names = {"generators": [generator.host.name for generator in generators]} if generators else {}
        facts = {"jmeter": {"mptcp": self.mptcp, "java_options": list(_JAVA_OPTIONS), **names}}
        return LoadRun(
            samples,
            self.threads,
            self.ramp_s,
            self.pace_s,
            self.requests_per_thread,
            cpu_s,
            self.epoch_offset_s,
            facts,
        )

    def _samples(self, folder: Path) -> Samples:
        try:
            samples = read_jtl(folder / RESULT_FILE)
        except MeasurementFailed as error:
            raise MeasurementFailed(f"JMeter: {error}{_log_end(folder)}") from error
        if len(samples) != self.total:
            raise MeasurementFailed(f"JMeter made {len(samples)} requests of {self.total}{_log_end(folder)}")
        return samples

    def _check_students(self) -> bool:
        """Checks how many students the file has, and returns whether it has a heading."""
        with self.students_csv.open() as file:
            has_header = file.readline().strip() == STUDENTS_HEADER
            students = sum(1 for line in file if line.strip()) + (not has_header)
        if students < self.threads:
            raise UsageError(f"{self.students_csv} has {students} students for {self.threads} threads")
        return has_header

    def command(
        self, address: str, folder: Path, scratch: Path, *java_options: str, students_header: bool
    ) -> list[str]:
        """Returns the command of one JMeter, with its results in `folder` and whatever else it writes in `scratch`."""
        properties = {**self._settings(address), **self._student_file(self.students_csv, header=students_header)}
        files = ["-t", str(self.plan.absolute()), "-l", str(folder / RESULT_FILE), "-j", str(folder / LOG_FILE)]
        settings = [f"-J{name}={value}" for name, value in {**properties, **self.properties}.items()]
        return [*self._java(scratch, *java_options), "-n", "-LWARN", *files, *settings]

    def _java(self, scratch: Path, *options: str) -> list[str]:
        # Otherwise Java leaves files in the user's home (preferences) and in /tmp.
        folders = [f"-Djava.io.tmpdir={scratch}", f"-Djava.util.prefs.userRoot={scratch}"]
        offset = f"STEADY_TIME_OFFSET_NS={round(self.epoch_offset_s * 1e9)}"
        steady = ["env", offset, *native.preloading_command("steady_time.so")]
        return [*over_mptcp(self.mptcp), *steady, *java_command(self.home, *_JAVA_OPTIONS, *folders, *options)]

    def _settings(self, address: str) -> dict[str, str]:
        return {
            **_PROPERTIES,
            "host": address,
            "port": str(self.port),
            "threads": str(self.threads),
            "ramp": _seconds(self.ramp_s),
            "pace_ms": str(round(self.pace_s * 1000)),
            "connect_timeout_ms": str(round(self.connect_timeout_s * 1000)),
            "response_timeout_ms": str(round(self.response_timeout_s * 1000)),
        }

    def _student_file(self, file: Path, *, header: bool) -> dict[str, str]:
        return {"students": str(file.absolute()), "students_header": str(header).lower()}

    def _engines(self, address: str, folder: Path, generators: Sequence[Generator]) -> Iterator[Engine]:
        """Starts an engine on each host, for its share of the students."""
        lines = [line.strip() for line in self.students_csv.read_text().splitlines()]
        students = [line for line in lines if line and line != STUDENTS_HEADER][: self.threads]
        for generator, share in zip(generators, shares(students, self.ramp_s, len(generators)), strict=True):
            own = folder / generator.host.name
            own.mkdir()
            (own / "students.csv").write_text("".join(f"{student}\n" for student in share.students))
            properties = {
                **self._settings(address),
                **self._student_file(own / "students.csv", header=False),
                "threads": str(len(share.students)),
                "ramp": _seconds(share.ramp_s),
                "lead_ms": str(_LEAD_MS + round(1000 * share.after_s)),
                **self.properties,
            }
            yield Engine(generator, self._java(own, _rmi_address(generator.address)), properties, own)

    def _run_to_end(
        self,
        host: Host,
        argv: list[str],
        results: ResultFile,
        watch: Callable[[LoadProgress], None],
        time_limit_s: float,
        engines: Sequence[Engine],
    ) -> float:
        """Runs JMeter and returns the processor time of all its processes, in seconds."""
        begun, cpu_s, folder = time.monotonic(), 0.0, results.path.parent
        with (folder / OUTPUT_FILE).open("wb") as output:
            process = host.popen(
                argv, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, cwd=str(folder)
            )
            try:
                while not _ends_within(process, _PROGRESS_PERIOD_S):
                    if (now := Process.read(process.pid)) is not None:
                        cpu_s = max(cpu_s, now.own_cpu_seconds + sum(engine.cpu_s() for engine in engines))
                    elapsed_s = time.monotonic() - begun
                    if elapsed_s > time_limit_s:
                        raise MeasurementFailed(f"JMeter: no end after {time_limit_s:g} s{_log_end(folder)}")
                    requests, errors = results.count()
                    watch(LoadProgress(requests, errors, self.total, elapsed_s, results.first_at_s))
            except BaseException:  # also KeyboardInterrupt
                end(process)
                raise
        if process.returncode != 0:
            raise MeasurementFailed(f"JMeter {how_ended(process.returncode)}{_log_end(folder)}")
        return cpu_s


def _seconds(seconds: float) -> str:
    return f"{seconds:.6f}".rstrip("0").rstrip(".")


def _rmi_address(address: str) -> str:
    """Returns Java's option for the address at which others reach it by RMI."""
    return f"-Djava.rmi.server.hostname={address}"


def require_jmeter(home: Path = HOME, *, mptcp: bool = False) -> Path:
    """Checks that JMeter is installed in `home`, and returns that folder."""
    require("java")
    if mptcp:
        require("mptcpize")
    if not (home / "bin" / "ApacheJMeter.jar").is_file():
        hint = SETUP_HINT if IS_CHECKOUT else f"run `{sys.executable} -m probes.jmeter.install`"
        raise MissingCapability(f"JMeter is not installed in {home}", hint)
    return home


def _ends_within(process: subprocess.Popen[Any], seconds: float) -> bool:
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(seconds)
    return process.returncode is not None


def _emptied(folder: Path) -> Path:
    """Returns the folder, made if it is missing, without the files of an earlier load."""
    folder = folder.absolute()
    folder.mkdir(parents=True, exist_ok=True)
    for name in (RESULT_FILE, LOG_FILE, OUTPUT_FILE):
        (folder / name).unlink(missing_ok=True)
    return folder


def _log_end(folder: Path) -> str:
    """Returns the ends of JMeter's log and of its output, for an error message."""
    return "".join(map(_file_end, (folder / LOG_FILE, folder / OUTPUT_FILE)))


def _file_end(path: Path) -> str:
    text = path.read_text(errors="replace") if path.is_file() else ""
    # Without the stack traces and usual complaints of Java, which hide what went wrong.
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith(_NOISE)]
    return "\n".join([f"\n  the end of {path}:", *lines[-_LOG_TAIL_LINES:]]) if lines else f"\n  {path} is empty"
