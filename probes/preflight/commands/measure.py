"""`preflight [USER@]HOST`: measures a path, shows the progress, and stores the measurement."""

import getpass
import json
import sys
import time
from argparse import ArgumentParser, Namespace
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from rich.console import Console
from rich.live import Live
from rich.text import Text

from flightpath.errors import FlightpathError, UntrustworthyResult, UsageError
from flightpath.parsers import Parser
from flightpath.terminal import visible
from flightpath.units import format_bytes, format_rate, format_span
from probes.preflight.commands.common import (
    add_far_end_options,
    add_profile_option,
    output,
    print_line,
    profile_of,
    take_url,
)
from probes.preflight.history.recording import Recording, default_folder
from probes.preflight.measure.environment import environment, now
from probes.preflight.records import LimitedBy, PreflightResult, Status
from probes.preflight.spec import (
    CONNECTION,
    DEFAULT_TIME_LIMIT_S,
    OUTPUT,
    TRANSFER,
    TransferSpec,
    add_options,
    read_json,
)
from results.records import RunStatus
from results.store.location import StoreLocation, add_store_options, store_location

if TYPE_CHECKING:
    from probes.preflight.commands.far_end import WayIn

_DESCRIPTION = """\
Measures the path to a machine by transferring a file over SSH, or over HTTPS (web servers, and storage that speaks S3),
as an ordinary user at both ends, with nothing to install at the other. It reports the throughput of the transfer alone
(without log-in), what the kernel saw meanwhile, and whether the path was the limit or this machine; then the figure is
not one of the path, and the exit code is 4.

Without REMOTE_FILE, the probe makes a file in a temporary folder at the far end and removes it afterwards. It uses the
agent, key files, known_hosts and ~/.ssh/config of ssh(1). Jump hosts, second factors and certificates are left to
ssh(1) itself, which is slower; the measurement says so, and what it costs.

A URL names its file with it; one that ends with / is a folder for --upload. Log-ins are those of ~/.netrc, and of AWS's
variables and files; certificates are checked."""

_EPILOG = f"""\
sizes: 500MB, 2GB, 64KiB (kB is 1000 bytes, KiB 1024) · rates: 500Mbit, 10Gbit · times: 10s, 2min

examples:
  preflight dtn                                {DEFAULT_TIME_LIMIT_S:g} seconds of download; nothing is left there
  preflight me@dtn.example.org data/run7.tar   all of that file, to /dev/null
  preflight dtn --upload --size 2GB            the other direction
  preflight dtn --streams 8 --iterations 5     eight connections at the same time, five times
  preflight dtn run7.tar --to /scratch/run7.tar   to the disk: is that the limit?
  preflight dtn --receive-buffer 4MiB --congestion-control cubic
  preflight https://portal.example.org/run7.tar --streams 4      ranges of a file, over HTTPS
  preflight s3://bucket/in/ --upload --endpoint https://s3.example.org
  preflight dtn --iperf3                       iperf3 for comparison, if its server runs there

many sites (preflight --from A,B --help):
  preflight --from dtn1,dtn2,dtn3              every path between them, compared with its history

stored measurements (preflight COMMAND --help; commands: history, compare, plot, check, predict, profile, service,
export):
  preflight history HOST                       all of them
  preflight check HOST --transfer 2TB          is the path as good as usual?
  preflight predict HOST --transfer 2TB        how long will it take?
  preflight profile add nersc --host HOST --size 2GB --streams 4
  preflight check --profile nersc --measure
  preflight service install nersc --every 6h --alert COMMAND
  (to measure a machine with such a name: preflight USER@history)

exit codes: 0 measured, 1 failed (the message says at what), 2 usage, 3 this machine lacks something,
4 measured, but this machine and not the path was the limit, 130 interrupted
"""
_LOOK_BACK_S = 1.0
_BAR = 24


def parser() -> ArgumentParser:
    """Returns the command's arguments; `specification` reads those of the transfer."""
    made = Parser(
        prog="preflight",
        usage="%(prog)s [USER@]HOST|URL [REMOTE_FILE] [OPTION ...]\n"
        "       %(prog)s --from HOSTS [--to HOSTS] [OPTION ...]\n"
        "       %(prog)s COMMAND [OPTION ...]",
        description=_DESCRIPTION,
        epilog=_EPILOG,
    )
    made.add_argument(
        "host", nargs="?", metavar="[USER@]HOST", help="a name, an address, a Host of ~/.ssh/config, or a URL"
    )
    made.add_argument("remote_file", nargs="?", metavar="REMOTE_FILE", help="download this file instead of a new one")
    add_options(made, "transfer", TRANSFER)
    add_options(made, "connection (by default as the kernel chooses)", CONNECTION)
    add_far_end_options(made)
    group = add_options(made, "output", OUTPUT)
    group.add_argument(
        "--json", action="store_true", help="print one JSON object: {run, goodput_bps, verdict, measurement}"
    )
    add_store_options(group, default_folder(), "it is stored")
    group.add_argument("--forget", action="store_true", help="do not store it")
    add_profile_option(group, "measure what this profile pins; if there is none of this name, add it")
    group.add_argument(
        "--spec",
        metavar="FILE",
        help="read all options of the transfer from JSON (a measurement's `spec`); - is stdin, {...} the JSON itself",
    )
    return made


def specification(options: Namespace) -> TransferSpec:
    """Returns the specification of a command line's transfer."""
    if options.spec is not None:
        try:
            return read_json(TransferSpec, _given(options.spec))
        except (OSError, ValueError) as error:
            raise UsageError(f"--spec: {options.spec} is not the specification of a transfer: {error}") from error
    return TransferSpec.parse({name: vars(options)[name] for name in TransferSpec.__dataclass_fields__})


def _given(spec: str) -> str:
    if spec.startswith("{"):
        return spec
    return sys.stdin.read() if spec == "-" else Path(spec).read_text(encoding="utf-8")


def run(options: Namespace) -> int:
    take_url(options)
    spec = specification(options)
    location = None if options.forget else store_location(options)
    if profile := profile_of(options, location):
        spec = profile.keeping(_named(options, spec))
        print(visible(f"measuring {profile.name}: {profile.words}"), file=sys.stderr)
    elif options.profile and location:
        from probes.preflight.history.profiles import add_profile
        from results.store.store import Store

        add_profile(Store.open(location), options.profile, spec, host=options.host)
    result, run_id = measure_and_store(spec, location, options)
    with output() as console:
        if options.json:
            summary = {"run": run_id, "goodput_bps": result.goodput_bps, "verdict": result.verdict}
            print(json.dumps({**summary, "measurement": json.loads(result.to_json())}))
        else:
            from probes.preflight.commands.report import print_report

            print_report(console, result)
            if run_id is not None:
                print_line(console, f"stored as {run_id}: preflight history {result.target.name}")
    valid = result.verdict in (LimitedBy.OK, LimitedBy.RATE_LIMITED)
    return 0 if valid else UntrustworthyResult.exit_code


def _named(options: Namespace, spec: TransferSpec) -> dict[str, Any]:
    """Returns the settings that a command line names, with their values."""
    return {
        name: value
        for name, value in asdict(spec).items()
        if options.spec is not None or vars(options)[name] is not None
    }


def measure_and_store(
    spec: TransferSpec, location: StoreLocation | None, options: Namespace
) -> tuple[PreflightResult, str | None]:
    """Measures with a live line on stderr; returns the measurement and the id of its run, if there is a store for it.

    Raises:
        FlightpathError: the measurement failed; the iterations that had ended are stored.
    """
    from probes.preflight.commands.far_end import far_end  # loads what only a measurement needs
    from probes.preflight.ssh.login import OnlyOpenSsh

    way = far_end(options, spec)
    try:
        return _measure_and_store(way, location, options)
    except OnlyOpenSsh:
        return _measure_and_store(way.by_openssh("second factor"), location, options)


def _measure_and_store(
    way: "WayIn", location: StoreLocation | None, options: Namespace
) -> tuple[PreflightResult, str | None]:
    from probes.preflight.measure.measurement import measure

    target, spec = way.target, way.spec
    recording = (
        Recording(location, target, spec, environment=environment(), profile=options.profile) if location else None
    )
    with LiveLine(target.name) as live:

        def ask(what: str) -> str:
            with live.paused():
                try:
                    return getpass.getpass(f"{what}: ")
                except EOFError:
                    raise UsageError(f"{what}: none was given") from None

        is_alone = options.batch or not sys.stdin.isatty()
        access = way.access(None if is_alone else ask, None if is_alone else live.paused)
        if recording:
            recording.begin(now())
        try:
            result = measure(target, spec, access, live.update, recording.add if recording else None)
        except BaseException as error:
            if recording:
                status = RunStatus.FAILED if isinstance(error, Exception) else RunStatus.INTERRUPTED
                reason = error.args[0] if isinstance(error, FlightpathError) else ""
                _warn_if_fails(lambda: recording.abort(status, reason))
            raise
    if recording:
        _warn_if_fails(lambda: recording.finish(result))
    return result, recording.run_id if recording else None


def _warn_if_fails(store: Callable[[], None]) -> None:
    """Stores a measurement, and only warns if that fails."""
    try:
        store()
    except FlightpathError as error:
        print(f"warning: not completely stored: {visible(error, keep=chr(10))}", file=sys.stderr)


class LiveLine:
    """A line on stderr with throughput and time left, if that is a terminal. A context manager."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._console = Console(stderr=True)
        self._live = Live(console=self._console, refresh_per_second=8, transient=True)
        self._recent: deque[tuple[float, int]] = deque(maxlen=64)
        self._iteration = 0

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.update(Text(""))
        self._live.stop()

    def update(self, status: Status) -> None:
        if status.iteration != self._iteration:
            self._iteration = status.iteration
            self._recent.clear()
        self._recent.append((time.monotonic(), status.bytes))
        if self._live.is_started:
            self._live.update(Text(line(self._title, status, self._throughput_bps())))

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Removes the line for the time of a question."""
        self.__exit__()
        try:
            yield
        finally:
            self.__enter__()

    def _throughput_bps(self) -> float:
        now, total = self._recent[-1]
        then, before = next((each for each in self._recent if now - each[0] <= _LOOK_BACK_S), self._recent[-1])
        return (total - before) * 8 / (now - then) if now > then else 0.0


def line(title: str, status: Status, throughput_bps: float) -> str:
    if not status.iteration:
        return f"{title}: {status.phase} …"
    which = f"{status.iteration}/{status.iterations} " if status.iterations > 1 else ""
    if status.phase != "transferring":
        return f"{title} {which}{status.phase} …"
    fraction, left_s = _left(status, throughput_bps)
    done = round(fraction * _BAR)
    bar = "━" * done + "╌" * (_BAR - done)
    left = f"  {format_span(left_s)} left" if left_s is not None else ""
    return f"{title} {which}{bar} {format_bytes(status.bytes)}  {format_rate(throughput_bps)}{left}"


def _left(status: Status, throughput_bps: float) -> tuple[float, float | None]:
    """Returns the completed share, and the seconds until size or time ends the transfer."""
    ends: list[tuple[float, float]] = []
    if status.limit_s:
        ends.append((status.limit_s - status.elapsed_s, status.elapsed_s / status.limit_s))
    share = status.bytes / status.total_bytes if status.total_bytes else 0.0
    if status.total_bytes and throughput_bps > 0:
        ends.append(((status.total_bytes - status.bytes) * 8 / throughput_bps, share))
    if not ends:
        return share, None
    left_s, share = min(ends)
    return min(1.0, share), max(0.0, left_s)
