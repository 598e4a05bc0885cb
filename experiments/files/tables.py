"""The tables of an experiment file."""

# ruff: noqa: RUF009 - `key` returns dataclasses.field()

import dataclasses
import re
from collections.abc import Mapping, Sequence
from typing import Any

from experiments.files import keys
from experiments.files.keys import REQUIRED, InvalidKey, key
from experiments.files.routes import FAMILIES
from flightpath.clock import Clock
from flightpath.suggestions import did_you_mean
from topologies.links.events import EVENT_KEYS

_AFTER = re.compile(r"([a-z][a-z0-9_]*) (ready|ended)")
_ISSUE = re.compile(r"[\w.-]+/[\w.-]+#[0-9]+")
TIMES = ("took", "started", "ready", "ended")
PICKS = ("last", "first", "sum", "mean", "min", "max", "count")


@dataclasses.dataclass(frozen=True)
class Network:
    """The network: one of ours by name, or hosts, switches and routers with their links."""

    topology: str | None = key(keys.TEXT, 'name of a network of ours, as "dtn_pair" (flightpath mn --help lists them)')
    options: Mapping[str, Any] = key(
        keys.mapping_of(keys.either(keys.QUANTITY, keys.SWITCH, bool)), "its options, as for `flightpath mn --topo`", {}
    )
    hosts: Sequence[str] = key(keys.list_of(keys.IDENTIFIER), "names of the hosts", ())
    switches: Sequence[str] = key(keys.list_of(keys.IDENTIFIER), "names of the switches", ())
    routers: Sequence[str] = key(
        keys.list_of(keys.IDENTIFIER),
        "names of the routers: each link or switched segment is a subnet, and the routes follow shortest paths",
        (),
    )
    links: Sequence[str] = key(
        keys.list_of(keys.TEXT),
        'links in the order of their interfaces: "h1-r1", "r1-r2 bandwidth=10Mbit delay=5ms queue=1bdp". The delay is '
        "that of each direction, 1bdp of queue is bandwidth x twice the delay, 1000p without a word; a link without "
        "words is not shaped. Behind a slash, words for the way back: docs/links.md has all",
        (),
    )
    family: str = key(
        keys.one_of(*FAMILIES), "the addresses that all have; {h2} is an IPv4 address where there is one", "both"
    )
    routes: Sequence[str] = key(
        keys.list_of(keys.TEXT),
        'routes in place of the shortest paths: "r1 h2 via r3", "r1 10.9.0.0/16 via r3", "h1 default via r1"',
        (),
    )
    congestion_control: str | None = key(keys.TEXT, 'algorithm of all connections; "{cc}" if it is a parameter')
    sysctls: Mapping[str, Any] = key(keys.mapping_of(keys.QUANTITY), "kernel settings of all hosts and routers", {})
    policy: str | None = key(keys.TEXT, "policy by which the controller steers TCP and MPTCP (docs/steering.md)")

    def __post_init__(self) -> None:
        if (self.topology is None) == (not self.links):
            raise InvalidKey((), "the network is a topology by its name, or links between nodes", 'links = ["h1-h2"]')
        if self.topology is not None and (self.hosts or self.switches or self.routers):
            raise InvalidKey(("topology",), f"{self.topology} has its own nodes", "leave hosts, switches, routers out")
        if self.topology is not None and (self.routes or self.family != "both"):
            own = "routes" if self.routes else "family"
            raise InvalidKey((own,), f"{own}: {self.topology} has its own addresses and routes", f"leave {own} out")
        if self.options and self.topology is None:
            raise InvalidKey(("options",), "options are those of a topology by its name")


@dataclasses.dataclass(frozen=True)
class Ready:
    """The sign that a program is ready: one of these."""

    port: int | None = key(keys.WHOLE, "it listens on this TCP port")
    udp_port: int | None = key(keys.WHOLE, "it has opened this UDP port")
    output: re.Pattern[str] | None = key(keys.PATTERN, "it has printed something that this regular expression finds")

    def __post_init__(self) -> None:
        if sum(value is not None for value in vars(self).values()) != 1:
            raise InvalidKey((), "ready: give one of port, udp_port and output", "ready = { port = 5201 }")


@dataclasses.dataclass(frozen=True)
class Run:
    """A program in a host. All start in one folder, which is empty at first and gone after the cell."""

    name: str = key(keys.IDENTIFIER, "its name, for the other tables", REQUIRED)
    host: str = key(keys.TEXT, "the host or router in which it runs", REQUIRED)
    command: str | Sequence[str] = key(
        keys.either(keys.TEXT, keys.list_of(keys.TEXT), list),
        "a line for the shell, or a list of words; hosts have this machine's programs. {h2} is the address of h2 "
        "(hosts know no name without braces), {h2-eth1} that of an interface, {folder} the folder of the file; a "
        "parameter is {name}. Two braces stand for one",
        REQUIRED,
    )
    at: float | None = key(keys.DURATION, "when it starts, from the beginning of the load (default 0)")
    after: str | None = key(keys.TEXT, 'instead of `at`: "NAME ready", or "NAME ended", of another program')
    delay: float = key(keys.DURATION, "how long after that", 0.0)
    ready: Ready | None = key(keys.table_of(Ready), "how one sees that it is ready: { port = 5201 }")
    background: bool = key(
        keys.SWITCH, "a server: it must not end by itself, and is stopped when all others have ended", False
    )
    may_fail: bool = key(keys.SWITCH, "any exit code will do; by default only 0", False)
    mptcp: bool = key(keys.SWITCH, "its TCP sockets are MPTCP sockets", False)

    def __post_init__(self) -> None:
        if self.at is not None and self.after is not None:
            raise InvalidKey(("after",), "after: at is given too", "give one of them")
        if self.after is not None and not _AFTER.fullmatch(self.after):
            raise InvalidKey(("after",), f"after: cannot read {self.after!r}", '"server ready", or "client ended"')

    @property
    def awaited(self) -> tuple[str, str] | None:
        """The program that this one waits for, and whether it must be ready or have ended."""
        match = _AFTER.fullmatch(self.after or "")
        return (match[1], match[2]) if match else None


@dataclasses.dataclass(frozen=True)
class Measure:
    """A number that each cell yields: from what a program printed, from a counter, or a time."""

    name: str = key(keys.IDENTIFIER, "name of the metric; `flightpath results` knows goodput, rtt, lost, …", REQUIRED)
    unit: str | None = key(keys.TEXT, "bit/s, B, s, ms, %, 1/s, or 1 for counts; known metrics have theirs")
    run: str | None = key(keys.IDENTIFIER, "the program, for json, pattern and time")
    json: str | None = key(keys.TEXT, 'path in what it printed as JSON: "end.sum_received.bits_per_second"; * is each')
    pattern: re.Pattern[str] | None = key(
        keys.PATTERN, "regular expression whose group is a number, in what it printed"
    )
    in_: str = key(keys.TEXT, "what is searched: stdout, stderr, or a file of the programs' folder", "stdout")
    time: str | None = key(
        keys.one_of(*TIMES), "seconds: how long it took, or from the beginning of the load until it started, …"
    )
    link: str | None = key(keys.TEXT, 'a link, for counter: "r1-r2", or "r1->r2" for one direction')
    host: str | None = key(keys.TEXT, "a host, for counter and socket")
    counter: str | None = key(
        keys.TEXT,
        "what is counted during the load: of a link packets, bytes, drops or queue_peak_bytes; "
        "of a host what nstat(8) shows, as TcpRetransSegs",
    )
    socket: str | None = key(
        keys.TEXT, "a value of the host's TCP connections, ten times a second, as ss(8) shows it: rtt, cwnd, retrans"
    )
    port: int | None = key(keys.WHOLE, "with socket: only connections from or to this port")
    file: str | None = key(keys.TEXT, "a file of the programs' folder: seconds until the last byte was written to it")
    pick: str = key(keys.one_of(*PICKS), "which, if there are several numbers", "last")
    factor: float = key(keys.NUMBER, "from the number to the unit", 1.0)

    def __post_init__(self) -> None:
        given = [name for name in SOURCES if all(getattr(self, key) is not None for key in name.split())]
        partly = {name for source in SOURCES for name in source.split() if getattr(self, name) is not None}
        if len(given) != 1 or partly - {*given[0].split()}:
            raise InvalidKey((), f"measure {self.name}: it is not said what it measures", f"give {SOURCES_TEXT}")


SOURCES = ("run json", "run pattern", "run time", "link counter", "host counter", "host socket", "file")
"""Keys that together say what a measure is."""

SOURCES_TEXT = "; ".join(source.replace(" ", " and ") for source in SOURCES)


@dataclasses.dataclass(frozen=True)
class Event:
    """A change of a link while the programs run."""

    at: str = key(keys.TEXT, 'when, from the beginning of the load: "2s"', REQUIRED)
    link: str = key(keys.TEXT, 'the link: "r1-r2", or "r1->r2" for one direction', REQUIRED)
    change: str = key(
        keys.TEXT, f'"down", "up", table=FILE (repeat=N), or KEY=VALUE …: {", ".join(EVENT_KEYS)}', REQUIRED
    )

    @property
    def text(self) -> str:
        """The event as `LinkEvent.parse` reads it."""
        return f"{self.at} {self.link} {self.change}"


@dataclasses.dataclass(frozen=True)
class Expect:
    """A claim, judged by intervals: the bounds of a metric, or how it changes from some cells to others."""

    claim: str = key(keys.TEXT, "a sentence", REQUIRED)
    metric: str = key(keys.IDENTIFIER, "name of a measure", REQUIRED)
    where: Mapping[str, Any] = key(
        keys.mapping_of(keys.either(keys.QUANTITY, keys.SWITCH, bool)),
        "the cells, by their parameters; by default all together",
        {},
    )
    than: Mapping[str, Any] | None = key(
        keys.mapping_of(keys.either(keys.QUANTITY, keys.SWITCH, bool)),
        "compare with these cells: then least and most are the change in per cent",
    )
    direction: str | None = key(keys.one_of("more", "less", "same"), "with than: the change")
    least: float | str | None = key(
        keys.QUANTITY, 'lower bound, in the unit of the measure, or as "9Mbit", "20ms" or "90% of 10Mbit"'
    )
    most: float | str | None = key(keys.QUANTITY, "upper bound")
    source: str = key(keys.TEXT, "who says so: a report, a paper, an RFC", "")

    def __post_init__(self) -> None:
        bounds = self.least is not None or self.most is not None
        if (self.direction is not None) == bounds:
            raise InvalidKey((), "expect: give least or most, or with than a direction", 'direction = "more"')
        if self.direction is not None and self.than is None:
            raise InvalidKey(("direction",), "direction: more than which cells?", 'than = { queue = "1bdp" }')


@dataclasses.dataclass(frozen=True)
class Report:
    """The public report that the experiment answers: for the museum, and for whoever wants to know why."""

    source: str = key(keys.TEXT, 'repository and number of its issue: "mininet/mininet#1129"', REQUIRED)
    reported: str = key(keys.TEXT, "what was reported", REQUIRED)
    cause: str = key(keys.TEXT, "why it is so", "")
    remedy: str = key(keys.TEXT, "what would change it", "")

    def __post_init__(self) -> None:
        if not _ISSUE.fullmatch(self.source):
            raise InvalidKey(("source",), f"source: {self.source!r} is no issue", "mininet/mininet#1129")


@dataclasses.dataclass(frozen=True)
class Experiment:
    """The experiment as a whole."""

    network: Network = key(keys.table_of(Network), "the network", REQUIRED)
    run: Sequence[Run] = key(keys.tables_of(Run), "programs", REQUIRED)
    measure: Sequence[Measure] = key(keys.tables_of(Measure), "what is measured", REQUIRED)
    name: str | None = key(keys.IDENTIFIER, "name of the experiment, for the results (default: the file's)")
    question: str = key(keys.TEXT, "what it asks, in a sentence", "an experiment of one's own")
    description: str = key(keys.TEXT, "whatever else a reader should know", "")
    parameters: Mapping[str, Sequence[Any]] = key(
        keys.mapping_of(keys.list_of(keys.either(keys.QUANTITY, keys.SWITCH, bool))),
        "values that vary: each combination is a cell; {name} stands for the value in any text above or below",
        {},
    )
    event: Sequence[Event] = key(keys.tables_of(Event), "changes of links during the load", ())
    expect: Sequence[Expect] = key(keys.tables_of(Expect), "claims that the cells are judged by", ())
    report: Report | None = key(keys.table_of(Report), "a public report that it answers")
    repeat: int = key(keys.WHOLE, "measurements of each cell, with other random numbers", 3)
    seed: int = key(keys.WHOLE, "of random numbers", 1)
    clock: str = key(keys.one_of(*map(str, Clock)), "real if the question is one of processors", str(Clock.VIRTUAL))
    duration: float = key(keys.DURATION, "how long the programs of a cell take, roughly", 10.0)
    time_limit: float = key(keys.DURATION, "after which a cell has failed", 300.0)

    def __post_init__(self) -> None:
        _require_distinct("run", [run.name for run in self.run])
        _require_distinct("measure", [measure.name for measure in self.measure])
        runs = {run.name: run for run in self.run}
        if all(run.background for run in self.run):
            raise InvalidKey(("run",), "all programs are in the background: nothing would end", "background = false")
        for number, run in enumerate(self.run):
            if run.awaited:
                self._require_awaited(run, ("run", number, "after"), runs)
        for number, measure in enumerate(self.measure):
            if measure.run is not None and measure.run not in runs:
                raise _unknown(("measure", number, "run"), "program", measure.run, runs)
        for name, values in self.parameters.items():
            if not keys.NAME.fullmatch(name) or not values or len({type(value) for value in values}) > 1:
                raise InvalidKey(
                    ("parameters", name),
                    f"parameter {name}: it needs a name of small letters, and values of one kind",
                    'rate = ["1Mbit", "10Mbit"]',
                )
        metrics = [measure.name for measure in self.measure]
        for number, expect in enumerate(self.expect):
            if expect.metric not in metrics:
                raise _unknown(("expect", number, "metric"), "measure", expect.metric, metrics)
            for part in ("where", "than"):
                for name, value in (getattr(expect, part) or {}).items():
                    self._require_value(("expect", number, part), name, value)

    def _require_awaited(self, run: Run, where: keys.Where, runs: Mapping[str, Run]) -> None:
        assert run.awaited is not None
        name, state = run.awaited
        if name not in runs:
            raise _unknown(where, "program", name, runs)
        if state == "ready" and runs[name].ready is None:
            raise InvalidKey(where, f"{name} has no sign of being ready", f"in {name}: ready = {{ port = 5201 }}")
        if state == "ended" and runs[name].background:
            raise InvalidKey(where, f"{name} is in the background: it ends last")
        seen = [run.name]
        while (ahead := runs[name].awaited) is not None and name not in seen:
            seen.append(name)
            name = ahead[0]
            if name not in runs:
                return
        if name in seen:
            raise InvalidKey(where, f"{' and '.join(sorted({name, run.name}))} wait for each other")

    def _require_value(self, where: keys.Where, name: str, value: Any) -> None:
        if name not in self.parameters:
            raise _unknown(where, "parameter", name, self.parameters)
        if value not in self.parameters[name]:
            known = ", ".join(map(repr, self.parameters[name]))
            raise InvalidKey(where, f"{name} never is {value!r}: no cell would be judged", f"it is one of {known}")


def _require_distinct(table: str, names: Sequence[str]) -> None:
    for number, name in enumerate(names):
        if name in names[:number]:
            raise InvalidKey((table, number, "name"), f"two tables [[{table}]] have the name {name!r}")


def _unknown(where: keys.Where, what: str, name: str, known: Any) -> InvalidKey:
    return InvalidKey(where, f"there is no {what} {name!r}", did_you_mean(name, known))
