"""Cause of a transport's rate in a cell of the league, by rules on the cell's own counters."""

import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from results.records import CellResult
from scenarios.league.paths import PATHS, PathPair
from scenarios.league.workloads import WORKLOADS, Workload
from topologies.links.events import LinkEvent
from topologies.links.spec import PAYLOAD_SHARE, LinkSpec
from topologies.multipath_pair import CLIENT, SERVER

FULL_PERCENT = 95.0
"""Share of what its paths can carry from which a download fills them."""
NEAR = 1.05
"""A mean up to this factor above what the better path takes is that path's."""
_SLOWER_PERCENT = 5.0
"""Share of the slower path from which the scheduler is why."""
_WAITED_PERCENT = 1.0
"""Share of segments that arrived behind a gap from which head-of-line blocking is named."""
_SPURIOUS = 2.0
"""Packets sent again for each dropped one from which reordering is why."""
_START_S, _AFTER_S = 1.0, 1.0
"""The beginning of a stream, and how long after a link's last change an answer may still be late because of it."""
_MOST_OF = 0.9
_FINE = ("processor", "full", "in time")
"""Causes that waiting behind gaps does not add to."""

RULE = f"""\
*Why* is the first of these that a cell's own counters show:

- `processor`: a program or a socket was the limit.
- `full`: a download got {FULL_PERCENT:g} % of what its paths carry, with what else is on them; or the mean answer took
  at most {100 * NEAR - 100:.0f} % longer than the better path's round trip and rate.
- `in time`: no part of a stream came late.
- `change`: the download or the requests lasted until the first path changed; or {100 * _MOST_OF:.0f} % of the late
  parts were on their way at its first change, or due until {_AFTER_S:g} s after the last.
- `round trip`: even an empty path is too long for the deadline.
- `loss`: a link lost packets at random.
- `reordering`: TCP sent {_SPURIOUS:g} times as many segments again as links had dropped, or QUIC took as many for lost.
- `scheduler`: the slower path carried {_SLOWER_PERCENT:g} % or more of the answers, which wait for it.
- `queue`: a queue overflowed, and the sender slowed down.
- `start`: the median answer took no longer than the path does; or {100 * _MOST_OF:.0f} % of the late parts were due in
  the first second.
- `window`: nothing of this, so the sender waited for its window or its pacing.

TCP's answers come in order: *behind gaps* is the share of the segments that had to wait for one before them (head of
line)."""


@dataclass(frozen=True)
class _Counted:
    """The counters of one cell: of the download direction, on both paths.

    Attributes:
        sent_again: segments that TCP sent again, or packets that QUIC took for lost.
        waited: segments that arrived behind a gap.
    """

    packets: int
    dropped: dict[str, int]
    sent_again: int
    waited: int

    @classmethod
    def of(cls, cell: CellResult) -> "_Counted":
        found, facts = cell.certificate.found, cell.measurement.metadata
        links = [ways["b_to_a"] for ways in found.get("links_during_load", {}).values()]
        tcp = found.get("tcp_counters", {})
        client, server = tcp.get(CLIENT, {}), tcp.get(SERVER, {})
        causes = {cause for link in links for cause in link["drops"]}
        return cls(
            sum(link["packets"] for link in links),
            {cause: sum(link["drops"].get(cause) or 0 for link in links) for cause in sorted(causes)},
            facts["lost_packets"] if "lost_packets" in facts else server.get("Tcp.RetransSegs", 0),
            client.get("TcpExt.TCPOFOQueue", 0) + client.get("MPTcpExt.OFOQueue", 0),
        )


class _Point:
    """The cells of a transport, a pair of paths and a workload."""

    def __init__(self, cells: Sequence[CellResult]) -> None:
        parameters = cells[0].cell.parameters
        self.cells = cells
        self.pair: PathPair = PATHS[str(parameters["paths"])]
        self.workload: Workload = WORKLOADS[str(parameters["workload"])]
        self.is_quic = "quic" in str(parameters["transport"])
        self.counted = [_Counted.of(cell) for cell in cells]

    def mean(self, metric: str) -> float:
        return statistics.fmean(
            cell.measurement.metrics[metric].value if metric in cell.measurement.metrics else 0.0 for cell in self.cells
        )

    def dropped(self, *causes: str) -> int:
        """Returns the packets that links dropped, for some causes or for all, in all cells."""
        return sum(
            number for each in self.counted for cause, number in each.dropped.items() if cause in causes or not causes
        )

    def percent(self, number: int) -> str:
        sent = sum(each.packets for each in self.counted) + self.dropped()
        return f"{100 * number / max(1, sent):.2g} %"

    @cached_property
    def shares(self) -> list[float]:
        """Percentage of the bytes on each path."""
        return [self.mean(f"share_path{number}") for number, _ in enumerate(self.pair.links, start=1)]

    @cached_property
    def used(self) -> list[LinkSpec]:
        """The paths that carried more than what hosts say by themselves."""
        return [link for link, share in zip(self.pair.links, self.shares, strict=True) if share > 1]

    @property
    def filled_percent(self) -> float:
        """Goodput, with the other flow's, of what the used paths carry."""
        capacity = PAYLOAD_SHARE * sum(link.bandwidth_bps or 0 for link in self.used)
        return 100 * (self.mean("goodput") + self.mean("rival_goodput")) / capacity

    def takes_ms(self, link: LinkSpec) -> float:
        """Returns the time of one answer over an otherwise empty path: its round trip, and its bytes at its rate."""
        pattern = self.workload.pattern
        size = pattern.size_bytes if pattern else 0
        return 1e3 * (2 * link.delay_s + 8 * size / (PAYLOAD_SHARE * (link.bandwidth_bps or 1)))

    @property
    def least_ms(self) -> float:
        return min(map(self.takes_ms, self.used))

    @cached_property
    def slower_percent(self) -> float:
        """Share of the path over which an answer takes longer; 0 if both are alike or one is not used."""
        first, second = map(self.takes_ms, self.pair.links)
        if len(self.used) < 2 or first == second:
            return 0.0
        return self.shares[0] if first > second else self.shares[1]

    @cached_property
    def changes_s(self) -> list[float]:
        return [LinkEvent.parse(text).at_s for text in self.pair.events]

    @cached_property
    def late_s(self) -> list[float]:
        """Times at which the late parts of a stream were due, in s since its beginning."""
        deadline_ms = 1e3 * self.workload.deadline_s
        series = [cell.measurement.series["latency"] for cell in self.cells if "latency" in cell.measurement.series]
        return [at_s for each in series for at_s, ms in zip(each.times_s, each.values, strict=True) if ms > deadline_ms]

    def most_were_late(self, begin_s: float, end_s: float) -> bool:
        within = sum(begin_s <= at_s <= end_s for at_s in self.late_s)
        return bool(self.late_s) and within >= _MOST_OF * len(self.late_s)


def cause(cells: Sequence[CellResult]) -> str:
    """Returns why the cells of a point measured what they did, by `RULE`; empty for cells without counters."""
    if not all("links_during_load" in cell.certificate.found for cell in cells):
        return ""
    point = _Point(cells)
    judges: dict[str, Callable[[_Point], Iterator[str]]] = {"requests": _of_requests, "stream": _of_stream}
    found = next(judges.get(str(cells[0].cell.parameters["workload"]), _of_download)(point))
    waited = sum(each.waited for each in point.counted) / max(1, sum(each.packets for each in point.counted))
    is_ordered = point.workload.pattern is not None and not point.is_quic
    if is_ordered and not found.startswith(_FINE) and 100 * waited >= _WAITED_PERCENT:
        return f"{found}; {100 * waited:.0f} % behind gaps"
    return found


def _of_download(point: _Point) -> Iterator[str]:
    yield from _processor(point)
    if (percent := point.filled_percent) >= FULL_PERCENT:
        yield f"full ({percent:.1f} %)"
    yield from _change(point)
    yield from _drops(point)
    yield from _queue(point)
    yield "window"


def _of_requests(point: _Point) -> Iterator[str]:
    yield from _processor(point)
    mean, least = point.mean("latency_service_mean"), point.least_ms
    if mean <= NEAR * least:
        yield f"full (empty path: {least:.1f} ms)"
    yield from _change(point)
    yield from _drops(point)
    if point.slower_percent >= _SLOWER_PERCENT:
        yield f"scheduler ({point.slower_percent:.0f} % on the slower path)"
    yield from _queue(point)
    over = f"{mean - least:+.1f} ms"
    yield f"start ({over})" if point.mean("latency_service_p50") <= NEAR * least else f"window ({over})"


def _of_stream(point: _Point) -> Iterator[str]:
    yield from _processor(point)
    if not point.late_s:
        yield "in time"
    if point.changes_s and point.most_were_late(
        min(point.changes_s) - point.workload.deadline_s, max(point.changes_s) + _AFTER_S
    ):
        yield "change"
    if point.least_ms > 1e3 * point.workload.deadline_s:
        yield f"round trip ({point.least_ms:.0f} ms)"
    yield from _drops(point)
    if point.most_were_late(0.0, _START_S):
        yield "start"
    if point.slower_percent >= _SLOWER_PERCENT:
        yield f"scheduler ({point.slower_percent:.0f} % on the slower path)"
    yield from _queue(point)
    yield "window"


def _processor(point: _Point) -> Iterator[str]:
    if any(cell.measurement.metadata.get("limit") for cell in point.cells):
        yield "processor"


def _change(point: _Point) -> Iterator[str]:
    lasted_s = max(cell.certificate.found.get("load_s", 0.0) for cell in point.cells)
    if point.changes_s and lasted_s > min(point.changes_s):
        yield "change"


def _drops(point: _Point) -> Iterator[str]:
    if lost := point.dropped("loss"):
        yield f"loss ({point.percent(lost)})"
    sent_again, dropped = sum(each.sent_again for each in point.counted), point.dropped()
    if sent_again >= _SPURIOUS * max(1, dropped):
        yield f"reordering ({sent_again} again, {dropped} dropped)"


def _queue(point: _Point) -> Iterator[str]:
    if dropped := point.dropped("queue"):
        yield f"queue ({point.percent(dropped)})"
