"""The measures of an experiment file: numbers from output, times, files, and counters of links, hosts and sockets."""

import contextlib
import json
import math
import re
import statistics
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from experiments.files.programs import Program
from experiments.files.tables import Measure
from flightpath.commands import CommandFailed
from flightpath.errors import MeasurementFailed
from flightpath.suggestions import did_you_mean
from probes.counters import links as link_counters
from probes.counters import tcp
from results.records import Metric
from topologies.hosts.multihomed import MultihomedHost
from topologies.links import events
from topologies.links.emulated_link import EmulatedLink
from topologies.testbed.testbed import Testbed

_SAMPLE_S = 0.1
_NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
_EACH = "*"
_LINK_COUNTERS = ("packets", "bytes", "drops", "queue_peak_bytes")
_Links = Mapping[str, Mapping[str, Any]]
_PICKS: Mapping[str, Callable[[Sequence[float]], float]] = {
    "last": lambda values: values[-1],
    "first": lambda values: values[0],
    "sum": sum,
    "mean": statistics.fmean,
    "min": min,
    "max": max,
    "count": len,
}


class Measuring:
    """Counter that works while the programs of a cell run; a context manager."""

    def __init__(self, measures: Sequence[Measure], testbed: Testbed) -> None:
        self._measures, self._testbed = measures, testbed
        self._sockets = {each.name: each for each in measures if each.socket is not None}
        self._samples: dict[str, list[float]] = {name: [] for name in self._sockets}
        self._ended = threading.Event()
        self._sampler = threading.Thread(target=self._sample_sockets, daemon=True)

    def __enter__(self) -> Self:
        self._began_s, self._epoch_began_s = time.monotonic(), time.time()
        self._links_before, self._hosts_before = self._links(), self._hosts()
        if self._sockets:
            self._sampler.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        if self._sockets:
            self._sampler.join()
        self._links_after, self._hosts_after = self._links(), self._hosts()
        self._took_s = time.monotonic() - self._began_s

    def metrics(self, programs: Mapping[str, Program], folder: Path, units: Mapping[str, str]) -> dict[str, Metric]:
        """Returns the metrics after the load.

        Raises:
            MeasurementFailed: a measure yields no number.
        """
        return {
            each.name: Metric(_picked(each, self._values(each, programs, folder)), units[each.name])
            for each in self._measures
        }

    def _values(self, measure: Measure, programs: Mapping[str, Program], folder: Path) -> Sequence[float]:
        if measure.link is not None:
            return [self._of_link(measure)]
        if measure.counter is not None:
            return [self._of_host(measure)]
        if measure.socket is not None:
            return self._samples[measure.name]
        if measure.file is not None:
            return [_file(folder, measure.file).stat().st_mtime - self._epoch_began_s]
        program = programs[str(measure.run)]
        if measure.time is not None:
            return [_time(program, measure.time)]
        named = {"stdout": program.stdout, "stderr": program.stderr}
        text = (named.get(measure.in_) or _file(folder, measure.in_)).read_text(encoding="utf-8", errors="replace")
        if measure.pattern is not None:
            return list(_matches(measure.pattern, text))
        return list(_in_json(measure, text))

    def _of_link(self, measure: Measure) -> float:
        links: Sequence[EmulatedLink] = self._testbed.links
        number, ways = events.find(str(measure.link), [events.ends_of(link) for link in links])
        difference = link_counters.summary(self._links_before, self._links_after, self._took_s)[links[number].name]
        if measure.counter not in difference["a_to_b"]:
            known = did_you_mean(str(measure.counter), _LINK_COUNTERS)
            raise MeasurementFailed(f"{measure.name}: links have no counter {measure.counter!r}", known)
        values = [difference[way][measure.counter] for way in ways]
        return float(sum(sum(value.values()) if isinstance(value, Mapping) else value or 0 for value in values))

    def _of_host(self, measure: Measure) -> float:
        host, counter = str(measure.host), str(measure.counter)
        after = self._hosts_after[host]
        if counter not in after:
            known = did_you_mean(counter, after, "see nstat(8)")
            raise MeasurementFailed(f"{measure.name}: {host} has no counter {counter!r}", known)
        return float(after[counter] - self._hosts_before[host].get(counter, 0))

    def _links(self) -> _Links:
        return link_counters.snapshot({link.name: link for link in self._testbed.links})

    def _hosts(self) -> dict[str, dict[str, int]]:
        named = {str(each.host) for each in self._measures if each.counter is not None and each.host is not None}
        return {name: _kernel_counters(self._testbed.host(name)) for name in named}

    def _sample_sockets(self) -> None:
        while not self._ended.wait(_SAMPLE_S):
            for name, measure in self._sockets.items():
                with contextlib.suppress(CommandFailed):
                    self._samples[name] += _socket_values(self._testbed.host(str(measure.host)), measure)


def _picked(measure: Measure, values: Sequence[float]) -> float:
    if not values and measure.pick != "count":
        raise MeasurementFailed(f"measure {measure.name}: no number was found", "see what its program prints")
    if not math.isfinite(picked := float(_PICKS[measure.pick](values)) * measure.factor):
        raise MeasurementFailed(f"measure {measure.name}: {picked} is no number", "see what its program prints")
    return picked


def _time(program: Program, which: str) -> float:
    ended_s, started_s = program.ended_s or 0.0, program.started_s or 0.0
    times = {"took": ended_s - started_s, "started": started_s, "ready": program.ready_s or 0.0, "ended": ended_s}
    return times[which]


def _file(folder: Path, name: str) -> Path:
    path = folder / name
    if not path.is_file():
        raise MeasurementFailed(f"there is no file {name!r} in the programs' folder", "they start in that folder")
    return path


def _in_json(measure: Measure, text: str) -> Iterator[float]:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise MeasurementFailed(f"measure {measure.name}: {measure.run} printed no JSON: {text[:200]!r}") from error
    if isinstance(document, Mapping) and isinstance(reported := document.get("error"), str):  # iperf3 then exits with 0
        raise MeasurementFailed(f"measure {measure.name}: {measure.run} reports an error: {reported}")
    for value in _followed(document, str(measure.json).split("."), measure.name):
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise MeasurementFailed(f"measure {measure.name}: {measure.json} is {value!r:.80}, and no number")
        yield float(repr(value))  # infinite if the number is too large


def _followed(value: Any, path: Sequence[str], name: str) -> Iterator[Any]:
    if not path:
        yield value
        return
    step, *rest = path
    inner: Any = dict(enumerate(value)) if isinstance(value, list) else value
    if not isinstance(inner, Mapping):
        raise MeasurementFailed(f"measure {name}: there is nothing called {step!r} in {value!r:.80}")
    keys = {str(each): each for each in inner}
    if step != _EACH and step not in keys:
        raise MeasurementFailed(f"measure {name}: the JSON has no {step!r}", did_you_mean(step, keys))
    for key in keys if step == _EACH else [step]:
        yield from _followed(inner[keys[key]], rest, name)


def _matches(pattern: re.Pattern[str], text: str) -> Iterator[float]:
    """Yields the number in each match of a pattern: in its last group, if it has one."""
    for match in pattern.finditer(text):
        if number := _NUMBER.search(match[match.lastindex or 0] or ""):
            yield float(number[0])


def _kernel_counters(host: MultihomedHost) -> dict[str, int]:
    """Returns the counters of a host's kernel, as nstat(8) names them."""
    return {name.replace(".", ""): count for name, count in tcp.of_process(host.pid).items()}


def _socket_values(host: MultihomedHost, measure: Measure) -> Iterator[float]:
    """Yields a value of each connection of a host: `rtt:20.1/3.2` and `pacing_rate 8Mbps` yield their first number."""
    only = [] if measure.port is None else [f"( sport = :{measure.port} or dport = :{measure.port} )"]
    wanted = re.compile(rf"\b{re.escape(str(measure.socket))}[: ](?P<number>[0-9.]+)(?:/(?P<total>[0-9]+)\b)?")
    for line in host.run(["ss", "-tinHO", "state", "established", *only]).splitlines():
        if match := wanted.search(line):
            is_total = measure.socket == "retrans" and match["total"]  # of now, and of all time
            yield float(match["total"] if is_total else match["number"])
