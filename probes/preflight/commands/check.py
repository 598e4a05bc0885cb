"""`preflight check`: how long a transfer takes, whether the path is as good as usual, and what limits it."""

import dataclasses
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Collection, Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

from rich.console import Console
from rich.text import Text

from flightpath.errors import FlightpathError, UntrustworthyResult, UsageError
from flightpath.terminal import plain, visible
from flightpath.units import format_bytes, format_rate, format_span, parse_bytes, parse_span
from probes.preflight.commands.common import (
    MAX_MEASUREMENTS,
    add_far_end_options,
    add_profile_option,
    added_settings,
    open_store,
    print_line,
    profile_of,
    query_parser,
    selected,
    show,
    take_url,
)
from probes.preflight.commands.history import past_json
from probes.preflight.history.diagnosis import Diagnosis, diagnose
from probes.preflight.history.health import judged, judgement_text
from probes.preflight.history.past import PastMeasurement, comparable, describe
from probes.preflight.history.profiles import last_repetition
from probes.preflight.history.recording import load_result
from probes.preflight.history.regression_check import MINIMUM, Forecast, Judgement, Standing, forecast
from probes.preflight.spec import TRANSFER, Direction, TransferSpec, add_options
from results.store.location import StoreLocation, store_location
from results.store.store import Store

_HEALTHY, _WORSE, _UNTRUSTWORTHY = 0, 1, UntrustworthyResult.exit_code
_COLOURS = {Standing.BELOW: "red", Standing.UNKNOWN: "yellow"}
_ITERATIONS = 3
"""Number of iterations on a path that was never measured before."""

_EPILOG = """\
exit codes: 0 healthy, or too few measurements to say, 1 worse than before, or too late for --target-time, 2 usage,
3 this machine lacks something, 4 no answer that can be trusted: the measurement failed or was limited by this machine,
or the store could not be read"""


@dataclass(frozen=True)
class Check:
    """The answer to one check.

    Attributes:
        size_bytes: size of the planned transfer; None if only the path's health was requested.
        judgement: comparison with earlier measurements; None if the newest did not measure the path.
        forecast: None without a size, or if nothing ever measured the path.
    """

    host: str
    newest: PastMeasurement
    size_bytes: int | None
    target_s: float | None
    judgement: Judgement | None
    forecast: Forecast | None
    diagnosis: Diagnosis

    @property
    def in_time(self) -> bool | None:
        """Whether the transfer is expected to end in its time; None if that is unknown or was not requested."""
        return self.forecast.seconds <= self.target_s if self.forecast and self.target_s else None

    @property
    def exit_code(self) -> int:
        """0 healthy, or too few measurements to say; 1 worse than before, or too late; 4 not to be trusted."""
        if self.judgement is None:
            return _UNTRUSTWORTHY
        return _WORSE if self.judgement.standing is Standing.BELOW or self.in_time is False else _HEALTHY


def parser() -> ArgumentParser:
    made = query_parser(
        "check", "Say how long a transfer takes, whether the path is as good as usual, and what limits it.", _EPILOG
    )
    made.add_argument("host", nargs="?", metavar="[USER@]HOST", help="or a URL; one that names a file measures first")
    made.add_argument("remote_file", nargs="?", metavar="REMOTE_FILE", help="measure first, with this file")
    made.add_argument("--transfer", metavar="SIZE", help="size of the planned transfer: 2TB, 500GB, 64GiB")
    made.add_argument("--target-time", metavar="TIME", help="how long it may take: 3h20m, 90min, 2d")
    made.add_argument("--upload", action="store_true", help="the transfer goes to the far end, not from it")
    add_profile_option(made, "measure with the settings of this profile, and judge by its measurements alone")
    how = made.add_mutually_exclusive_group()
    how.add_argument("--measure", action="store_true", help="measure first, with the profile's or the last settings")
    how.add_argument("--no-measure", action="store_true", help="do not measure (default without REMOTE_FILE)")
    add_options(made, "measurement", {name: TRANSFER[name] for name in ("sink", "remote_folder")})
    add_far_end_options(made)
    return made


def run(options: Namespace) -> int:
    """Prints the answer; returns the exit code.

    Raises:
        UntrustworthyResult: for failures whose exit code would be 1, which means "worse than before" here.
    """
    take_url(options)
    size = parse_bytes(options.transfer, "--transfer") if options.transfer else None
    target_s = parse_span(options.target_time, "--target-time") if options.target_time else None
    if target_s and not size:
        raise UsageError("--target-time: of what?", "give the size of the transfer: --transfer 2TB")
    if options.no_measure and options.remote_file:
        raise UsageError("--no-measure: a remote file is for measuring", "leave one of them out")
    if not (options.measure or options.remote_file) and (options.sink or options.remote_folder):
        raise UsageError("--to and --remote-folder are for measuring", "add --measure, or leave them out")
    try:
        answer = _check(options, size, target_s)
    except FlightpathError as error:
        if error.exit_code != _WORSE:
            raise
        raise UntrustworthyResult(error.args[0], error.hint) from error
    show(options, _as_json(answer), lambda console: _print_check(console, answer))
    return answer.exit_code


def _check(options: Namespace, size_bytes: int | None, target_s: float | None) -> Check:
    """Measures if requested, and judges the newest measurement by those before it."""
    direction: str = Direction.UPLOAD if options.upload else Direction.DOWNLOAD
    if options.measure or options.remote_file:
        direction = _measure(options, Direction(direction)).direction
    store = open_store(options)
    host, pasts = selected(options, store, MAX_MEASUREMENTS)
    if options.profile:
        direction = pasts[0].direction
    pasts = [past for past in pasts if past.direction == direction and (past.goodputs_bps or past.has_ended)]
    if not pasts:
        raise UsageError(f"no {direction} of {host} is stored", "measure it: --measure")
    newest = pasts[-1]
    rates = [past.goodput_bps for past in comparable(pasts, newest) if past.goodput_bps]
    trusted = newest.measures_path and bool(newest.goodputs_bps)
    best = [past.goodput_bps for past in pasts if past.measures_path and past.goodput_bps]
    if size_bytes and target_s:
        best.append(size_bytes * 8 / target_s)
    return Check(
        host=host,
        newest=newest,
        size_bytes=size_bytes,
        target_s=target_s,
        judgement=judged(pasts),
        forecast=forecast(size_bytes, rates, newest.goodputs_bps if trusted else ()) if size_bytes and rates else None,
        diagnosis=diagnose(newest, max(best, default=0.0), _own_congestion_control(store, newest)),
    )


def _own_congestion_control(store: Store, past: PastMeasurement) -> str:
    """Returns the congestion control of the sender, if that was this end and it is stored."""
    result = load_result(store, past.run_id) if past.direction == Direction.UPLOAD else None
    streams = [stream for iteration in result.iterations for stream in iteration.streams] if result else []
    names = {stream.connection.congestion_control for stream in streams}
    return names.pop() if len(names) == 1 else ""


def _measure(options: Namespace, direction: Direction) -> TransferSpec:
    """Measures and stores with the settings of the profile or of the last time, so that both can be compared."""
    from probes.preflight.commands.measure import measure_and_store

    location = store_location(options)
    given = added_settings(options)
    if profile := profile_of(options, location):
        spec = profile.keeping(given | ({"direction": direction} if options.upload else {}))
        print(visible(f"measuring {profile.name}: {profile.words}"), file=sys.stderr)
    elif options.profile:
        raise UsageError(f"there is no profile {options.profile!r}", "add it: preflight profile add NAME --host HOST")
    else:
        spec = dataclasses.replace(_repeated_spec(location, options.host, direction, given), **given)
    measure_and_store(spec, location, options)
    return spec


def _repeated_spec(location: StoreLocation, host: str, direction: Direction, given: Collection[str]) -> TransferSpec:
    """Returns the specification of the last measurement in a direction, and announces it; or the default."""
    default = TransferSpec(direction=direction, iterations=_ITERATIONS)
    try:
        store = Store.open(location, create=False)
    except UsageError:  # none yet, or damaged, which whoever writes to it reports
        return default
    last = last_repetition(store, host, direction, MAX_MEASUREMENTS)
    if last is None:
        return default
    print(visible(last.announcement(given)), file=sys.stderr)
    return last.spec


def _print_check(console: Console, answer: Check) -> None:
    past, now = answer.newest, datetime.now(UTC)
    rate = format_rate(past.goodput_bps) if past.goodput_bps else "nothing that could be timed"
    seconds = (now - past.at).total_seconds()
    age = "just now" if seconds < 10 else f"{format_span(seconds)} ago"
    print_line(console, f"{answer.host}: {rate}, {describe(past.configuration)} ({age}, {past.run_id})")
    for name, text, colour in _lines(answer):
        console.print(Text(f"  {name:<9} ").append_text(plain(text, colour)), soft_wrap=True)


def _lines(answer: Check) -> Iterator[tuple[str, str, str]]:
    """Yields the answer line by line: name, text and colour."""
    judgement, diagnosis = answer.judgement, answer.diagnosis
    if judgement is None:
        yield "today", "this measurement does not show what the path can do: measure again", "red"
    else:
        yield "today", judgement_text(judgement), _COLOURS.get(judgement.standing, "green")
    if answer.forecast and answer.size_bytes:
        yield "transfer", _forecast_text(answer.size_bytes, answer.forecast), ""
    if answer.target_s and answer.size_bytes:
        yield "in time", _target_text(answer), "red" if answer.in_time is False else ""
    yield "limit", f"{diagnosis.limit}: {diagnosis.why}", ""
    for number, advice in enumerate(diagnosis.advice):
        yield "" if number else "helps", advice, ""


def _forecast_text(size_bytes: int, expected: Forecast) -> str:
    text = f"{format_bytes(size_bytes)} will take {format_span(expected.seconds)}"
    if expected.low_s is None or expected.high_s is None:
        return f"{text}; there is no interval from a single value"
    interval = f"{format_span(expected.low_s)} to {format_span(expected.high_s)}"
    return f"{text}; with 95 % probability {interval} (from {expected.basis})"


def _target_text(answer: Check) -> str:
    target_s, expected = answer.target_s or 1, answer.forecast
    text = f"{format_span(target_s)} would need {format_rate((answer.size_bytes or 0) * 8 / target_s)}"
    if expected is None:
        return f"{text}; no measurement of the path tells whether it has that"
    low, high = expected.low_s or expected.seconds, expected.high_s or expected.seconds
    sure = "surely " if high <= target_s or low > target_s else ""
    return f"{text}: {sure}{'enough' if answer.in_time else 'too late'}"


def _as_json(answer: Check) -> dict[str, Any]:
    """Returns the answer as JSON: rates in bit/s, times in s, sizes in B."""
    judgement, target_s = answer.judgement, answer.target_s
    return {
        "host": answer.host,
        "verdict": judgement.standing if judgement else "untrustworthy",
        "exit_code": answer.exit_code,
        "today": past_json(answer.newest),
        "history": {**asdict(judgement), "change": judgement.change, "needed": MINIMUM} if judgement else None,
        "transfer": {"bytes": answer.size_bytes, **asdict(answer.forecast)} if answer.forecast else None,
        "target": {"seconds": target_s, "in_time": answer.in_time} if target_s else None,
        "limit": asdict(answer.diagnosis),
    }
