"""`preflight predict`: the throughput, duration and latency to be expected, and how good such predictions were."""

import statistics
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

from rich.console import Console
from rich.table import Table

from flightpath.errors import UntrustworthyResult, UsageError
from flightpath.terminal import plain, print_table
from flightpath.units import (
    counted,
    format_bytes,
    format_duration,
    format_rate,
    format_span,
    parse_bytes,
    parse_span,
    spaced,
)
from probes.preflight.commands.common import (
    MAX_MEASUREMENTS,
    add_profile_option,
    open_store,
    print_line,
    query_parser,
    selected,
    show,
)
from probes.preflight.history.past import PastMeasurement, comparable, describe
from probes.preflight.history.prediction import (
    COVERAGE,
    RECENT,
    BackTest,
    Prediction,
    back_test,
    has_just_changed,
    needed,
    predict,
)
from probes.preflight.spec import CONNECTION, TRANSFER, Direction, add_options, read_fields

_QUANTITIES = {"goodput": "throughput", "rtt": "round trip", "connect": "connection set-up", "first_byte": "first byte"}
"""Names of the predicted quantities, by metric; all but the first are in ms."""

_SETTINGS = {"streams": TRANSFER["streams"], **CONNECTION}
_EPILOG = """\
exit codes: 0 predicted, 1 the store failed, 2 usage, or nothing comparable is stored, 4 unknown: the history is too
small or too old, or the path has just changed"""


@dataclass(frozen=True)
class _History:
    """Comparable measurements of a far end, oldest first."""

    host: str
    pasts: Sequence[PastMeasurement]

    def values(self, metric: str) -> list[float]:
        """Returns the positive values of a metric."""
        return [value for past in self.pasts if (value := past.metrics.get(metric, 0.0)) > 0]

    @property
    def age_s(self) -> float:
        return (datetime.now(UTC) - self.pasts[-1].at).total_seconds()


def parser() -> ArgumentParser:
    made = query_parser(
        "predict", "Say what throughput and latency to expect, with 90 % prediction intervals, from history.", _EPILOG
    )
    made.add_argument("host", nargs="?", metavar="HOST")
    made.add_argument("--transfer", metavar="SIZE", help="size of the planned transfer: 2TB, 500GB, 64GiB")
    made.add_argument("--upload", action="store_true", help="the transfer goes to the far end, not from it")
    add_profile_option(made, "predict from the measurements of this profile alone")
    made.add_argument("--max-age", default="7d", metavar="TIME", help="a history that ended earlier is too old (7d)")
    made.add_argument("--despite-change", action="store_true", help="predict even if the path has just changed")
    made.add_argument("--back-test", action="store_true", help="predict each stored measurement from those before it")
    group = add_options(made, "settings of the transfer", _SETTINGS)
    group.description = "by default those of the newest measurement that has the ones given"
    return made


def run(options: Namespace) -> int:
    size = parse_bytes(options.transfer, "--transfer") if options.transfer else None
    max_age_s = parse_span(options.max_age, "--max-age")
    history = _history(options)
    if options.back_test:
        tests = _back_tests(history)
        show(options, _tests_json(history, tests), lambda console: _print_tests(console, history, tests))
        return 0
    if history.age_s > max_age_s:
        raise UntrustworthyResult(
            f"the history of {history.host} is too old: it ended {format_span(history.age_s)} ago",
            "measure again, or allow it: --max-age 30d",
        )
    expected = _predictions(history)
    if not options.despite_change:
        _require_settled(history)
    show(options, _as_json(history, expected, size), lambda console: _print(console, history, expected, size))
    return 0


def _history(options: Namespace) -> _History:
    """Returns the measurements that are comparable to the newest one with the settings of the command line."""
    direction: str = Direction.UPLOAD if options.upload else Direction.DOWNLOAD
    given = read_fields({name: getattr(options, name) for name in _SETTINGS})
    host, pasts = selected(options, open_store(options), MAX_MEASUREMENTS)
    direction = pasts[0].direction if options.profile else direction
    fitting = [
        past
        for past in pasts
        if past.measures_path
        and past.goodputs_bps
        and past.direction == direction
        and all(past.configuration.get(name) == value for name, value in given.items())
    ]
    if not fitting:
        raise UsageError(
            f"no {direction} of {host} with these settings that measured the path is stored",
            f"`preflight history {host}` lists what is",
        )
    return _History(host, comparable(fitting, fitting[-1]))


def _predictions(history: _History) -> dict[str, Prediction]:
    """Returns the predictions by metric, where there are enough values."""
    predictions = {name: predict(values) for name in _QUANTITIES if (values := history.values(name))}
    if predictions["goodput"].low is None:
        raise _too_small(history, needed())
    return {name: each for name, each in predictions.items() if each.low is not None}


def _require_settled(history: _History) -> None:
    """Raises UntrustworthyResult if the path has just changed: intervals of before are none for what is now."""
    rates = history.values("goodput")
    if has_just_changed(rates):
        usual, now = (format_rate(statistics.median(each)) for each in (rates[:-RECENT], rates[-RECENT:]))
        raise UntrustworthyResult(
            f"the path to {history.host} has just changed: its newest measurements gave {now}, and {usual} before",
            "measure a few times more; --despite-change predicts all the same",
        )


def _back_tests(history: _History) -> dict[str, BackTest]:
    tests = {name: back_test(history.values(name)) for name in _QUANTITIES}
    if tests["goodput"] is None:
        raise _too_small(history, needed() + 1)
    return {name: each for name, each in tests.items() if each}


def _too_small(history: _History, wanted: int) -> UntrustworthyResult:
    count = len(history.pasts)
    return UntrustworthyResult(
        f"the history of {history.host} is too small: {counted(count, 'comparable measurement')}, "
        f"{wanted} are needed ({describe(history.pasts[-1].configuration)})",
        f"measure more often: preflight check {history.host} --measure",
    )


def _seconds(expected: Prediction, size_bytes: int) -> list[float]:
    """Returns how long a transfer takes: expected, at least, at most."""
    rates = (expected.value, expected.high or expected.value, expected.low or expected.value)
    return [size_bytes * 8 / rate for rate in rates]


def _print(console: Console, history: _History, expected: Mapping[str, Prediction], size_bytes: int | None) -> None:
    print_line(
        console,
        f"{history.host}: {describe(history.pasts[-1].configuration)}, from {len(history.pasts)} comparable "
        f"measurements, the newest {format_span(max(history.age_s, 0))} ago",
    )
    table = Table("", "expected", f"{COVERAGE:.0%} interval")
    if size_bytes:
        seconds, least, most = _seconds(expected["goodput"], size_bytes)
        table.add_row(
            f"time for {format_bytes(size_bytes)}",
            format_span(seconds),
            f"{format_span(least)} to {format_span(most)}",
        )
    for name, each in expected.items():
        interval = f"{_text(name, each.low or each.value)} to {_text(name, each.high or each.value)}"
        table.add_row(_QUANTITIES[name], _text(name, each.value), interval)
    print_table(console, table)


def _text(metric: str, value: float) -> str:
    return format_rate(value) if metric == "goodput" else spaced(format_duration(value / 1000))


def _print_tests(console: Console, history: _History, tests: Mapping[str, BackTest]) -> None:
    rules = list(tests["goodput"].errors)
    table = Table(
        *("", f"in {COVERAGE:.0%} interval", "unknown", "its width", *(f"error, {rule}" for rule in rules)),
        caption="error: the median over these measurements; width: the interval's highest over its lowest value; "
        "unknown: not predicted, because the path had just changed",
        caption_justify="left",
    )
    for name, test in tests.items():
        errors = (f"{test.errors[rule]:.1%}" for rule in rules)
        held = f"{test.held} of {test.count} ({test.coverage:.0%})"
        table.add_row(_QUANTITIES[name], held, str(test.unknown), f"x{test.width:.2f}", *errors)
    console.print(plain(f"{history.host}: {describe(history.pasts[-1].configuration)}"), soft_wrap=True)
    print_table(console, table)


def _as_json(history: _History, expected: Mapping[str, Prediction], size_bytes: int | None) -> dict[str, Any]:
    """Returns the predictions as JSON: rates in bit/s, latencies in ms, the transfer in s."""
    transfer = None
    if size_bytes:
        names = ("seconds", "low_s", "high_s")
        transfer = {"bytes": size_bytes, **dict(zip(names, _seconds(expected["goodput"], size_bytes), strict=True))}
    return {
        **_head_json(history),
        "age_s": history.age_s,
        "expected": {name: asdict(each) for name, each in expected.items()},
        "transfer": transfer,
    }


def _tests_json(history: _History, tests: Mapping[str, BackTest]) -> dict[str, Any]:
    back_tests = {name: {**asdict(test), "coverage": test.coverage} for name, test in tests.items()}
    return {**_head_json(history), "back_tests": back_tests}


def _head_json(history: _History) -> dict[str, Any]:
    newest = history.pasts[-1]
    return {
        "host": history.host,
        "configuration": dict(newest.configuration),
        "measurements": len(history.pasts),
        "nominal_coverage": COVERAGE,
    }
