"""What a link is told to be: without a checked specification a typing error would become a wrong figure."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flightpath.errors import UsageError
from flightpath.suggestions import did_you_mean
from flightpath.units import (
    format_bandwidth,
    format_duration,
    parse_bandwidth,
    parse_bytes,
    parse_duration,
    parse_probability,
)
from topologies.links.traces import read_trace

ETHERNET_HEADER_BYTES = 14
PAYLOAD_SHARE = (1500 - 20 - 32) / (1500 + ETHERNET_HEADER_BYTES)
"""What TCP carries of a link's bytes: of a full packet, all but the headers of IPv4 and of TCP with timestamps."""

MIN_MTU_BYTES, MAX_MTU_BYTES = 576, 9000
JITTER_DISTRIBUTIONS = ("normal", "uniform")
QUEUE_DISCIPLINES = ("droptail", "codel", "fq_codel")
_QUEUE_FORMS = "150kB, 1000p (packets), 20ms (at the link's rate), 1bdp (bandwidth x round trip)"
_BURST_FORMS = "P:R, P:R:BAD or P:R:BAD:GOOD in %, for example 1%:25%"
_PACKETS_OR_BDPS = re.compile(r"(?P<number>[0-9]+(?:\.[0-9]+)?)(?P<unit>p|bdp)", re.IGNORECASE)
_SWITCH = {"on": True, "yes": True, "true": True, "1": True, "off": False, "no": False, "false": False, "0": False}


@dataclass(frozen=True)
class BurstLoss:
    """Loss in bursts: the two-state chain of Gilbert (1960) and Elliott (1963), one step a packet.

    Attributes:
        enter: probability, at each packet, to pass from the good state to the bad one (p).
        leave: probability to pass back (r); a burst lasts 1/r packets on average.
        loss_bad: probability of loss in the bad state (1-h in tc-netem(8)).
        loss_good: the same in the good state (1-k).
    """

    enter: float
    leave: float
    loss_bad: float = 1.0
    loss_good: float = 0.0

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if not 0 <= value <= 1:
                raise UsageError(
                    f"burst_loss: {name} of {value} is not a probability", f"accepted forms: {_BURST_FORMS}"
                )
        if self.enter > 0 and self.leave == 0 and self.loss_bad == 1:
            raise UsageError("burst_loss: the bad state is never left, and nothing passes in it", "give R above 0")

    @classmethod
    def parse(cls, text: str) -> "BurstLoss":
        """From `1%:25%`: p and r, and if given the loss in the bad and in the good state.

        Raises:
            UsageError: shows the accepted forms.
        """
        parts = text.split(":")
        if not 2 <= len(parts) <= 4:
            raise UsageError(f"burst_loss: cannot read {text!r}", f"accepted forms: {_BURST_FORMS}")
        return cls(*(parse_probability(part, "burst_loss") for part in parts))

    @property
    def mean(self) -> float:
        """The share of all packets that is lost in the long run."""
        if self.enter == 0:
            return self.loss_good
        bad = self.enter / (self.enter + self.leave)
        return bad * self.loss_bad + (1 - bad) * self.loss_good

    def __str__(self) -> str:
        return ":".join(f"{value * 100:g}%" for value in vars(self).values())


@dataclass(frozen=True)
class LinkSpec:
    """One direction of a link.

    A packet passes its stages in this order: queue, rate, loss, duplication, delay with jitter.

    Attributes:
        bandwidth_bps: rate in bit/s, counted from the Ethernet header as the kernel's queues do; None is not limited.
        delay_s: propagation delay, one way, in seconds.
        loss: probability in [0, 1] that a packet is lost, independently of the others.
        queue: bound on what waits for the link, as text: `150kB`, `1000p`, `20ms` or `1bdp`. The default is the
            1000 packets of a Linux interface, which is also what Mininet's own bandwidth-limited links have.
        mtu_bytes: largest IP packet.
        jitter_s: how much the delay varies: the standard deviation, or half the width of a uniform distribution.
        jitter_distribution: `normal` or `uniform`. A delay below zero becomes zero.
        reordering: whether packets overtake each other by jitter; without it a late one holds up those behind it.
        burst_loss: loss in bursts, besides `loss`.
        duplication: probability in [0, 1] that a packet arrives twice.
        discipline: `droptail`, `codel` (RFC 8289) or `fq_codel` (RFC 8290), within the bound of `queue`.
        ecn: codel and fq_codel mark packets that can be marked (RFC 3168) instead of dropping them.
        trace: a file in mahimahi's format instead of `bandwidth_bps`: a line is the millisecond at which 1514 bytes
            (a packet of 1500 with its Ethernet header) may leave; after the last line it starts again.
    """

    bandwidth_bps: int | None = None
    delay_s: float = 0.0
    loss: float = 0.0
    queue: str = "1000p"
    mtu_bytes: int = 1500
    jitter_s: float = 0.0
    jitter_distribution: str = "normal"
    reordering: bool = False
    burst_loss: BurstLoss | None = None
    duplication: float = 0.0
    discipline: str = "droptail"
    ecn: bool = False
    trace: Path | None = None

    def __post_init__(self) -> None:
        if self.bandwidth_bps is not None and self.bandwidth_bps <= 0:
            raise UsageError(f"bandwidth: {self.bandwidth_bps} bit/s must be more than zero")
        if self.bandwidth_bps is not None and self.trace is not None:
            raise UsageError("trace: a link has a bandwidth or a trace, not both")
        for field, value in (("delay", self.delay_s), ("jitter", self.jitter_s)):
            if not 0 <= value <= 60:
                raise UsageError(f"{field}: {format_duration(value)} is outside 0 to 60s")
        for field, value in (("loss", self.loss), ("duplication", self.duplication)):
            if not 0 <= value <= 1:
                raise UsageError(f"{field}: {value} is not a probability")
        _choice("jitter_distribution", self.jitter_distribution, JITTER_DISTRIBUTIONS)
        _choice("discipline", self.discipline, QUEUE_DISCIPLINES)
        if self.ecn and self.discipline == "droptail":
            raise UsageError("ecn: a droptail queue marks nothing", "use it with discipline codel or fq_codel")
        if not MIN_MTU_BYTES <= self.mtu_bytes <= MAX_MTU_BYTES:
            raise UsageError(f"mtu: {self.mtu_bytes} is outside {MIN_MTU_BYTES} to {MAX_MTU_BYTES} bytes")
        if self.queue_bytes < self.frame_bytes:
            raise UsageError(f"queue: {self.queue!r} holds less than one packet", f"accepted forms: {_QUEUE_FORMS}")

    @classmethod
    def parse(cls, **texts: str | int) -> "LinkSpec":
        """A specification from what people write, by the keys of `link_fields`.

        `LinkSpec.parse(bandwidth="50Mbit", delay="15ms", loss="0.1%", queue="1bdp")`

        Raises:
            UsageError: names the field, the value and the accepted forms.
        """
        return cls(**link_fields({key: str(text) for key, text in texts.items()}))

    @property
    def frame_bytes(self) -> int:
        """A full-size packet with its Ethernet header."""
        return self.mtu_bytes + ETHERNET_HEADER_BYTES

    @property
    def emulates_nothing(self) -> bool:
        """Whether packets pass as they come: no rate, no delay, no loss and no duplicates."""
        rate, chance = self.bandwidth_bps or self.trace, self.loss or self.burst_loss or self.duplication
        return not (rate or self.delay_s or self.jitter_s or chance)

    @property
    def loses_by_chance(self) -> bool:
        """Whether packets are lost however few there are."""
        return self.loss > 0 or self.burst_loss is not None

    def serialisation_s(self, frame_bytes: int) -> float:
        """How long the rate takes for a frame; 0 if it is not limited."""
        return frame_bytes * 8 / self.bandwidth_bps if self.bandwidth_bps else 0.0

    @property
    def mean_bandwidth_bps(self) -> float | None:
        """The rate, or the mean rate of the trace; None if it is not limited."""
        return read_trace(self.trace).mean_bps if self.trace is not None else self.bandwidth_bps

    @property
    def queue_packets(self) -> int | None:
        """The queue's bound in packets, if it was given in packets."""
        counted = _PACKETS_OR_BDPS.fullmatch(self.queue.strip())
        return round(float(counted["number"])) if counted and counted["unit"].lower() == "p" else None

    @property
    def queue_bytes(self) -> int:
        """The queue's bound in bytes, Ethernet headers included; one in packets as so many full-size ones."""
        counted = _PACKETS_OR_BDPS.fullmatch(self.queue.strip())
        if counted and counted["unit"].lower() == "p":
            return round(float(counted["number"]) * self.frame_bytes)
        if counted:
            return self._bytes_sent_in(float(counted["number"]) * 2 * self.delay_s)
        if self.queue.strip().lower().endswith("b"):
            return parse_bytes(self.queue, "queue")
        try:
            seconds = parse_duration(self.queue, "queue")
        except UsageError as error:
            raise UsageError(f"queue: cannot read {self.queue!r}", f"accepted forms: {_QUEUE_FORMS}") from error
        return self._bytes_sent_in(seconds)

    def _bytes_sent_in(self, seconds: float) -> int:
        rate_bps = self.mean_bandwidth_bps
        if rate_bps is None:
            raise UsageError(
                f"queue: {self.queue!r} needs a bandwidth", "give the link a bandwidth, or a queue as 1000p"
            )
        return round(rate_bps * seconds / 8)

    def __str__(self) -> str:
        return ", ".join(filter(None, self._words()))

    def _words(self) -> Iterator[str]:
        if self.trace is not None:
            yield f"trace {self.trace.name} ({format_bandwidth(self.mean_bandwidth_bps)} on average)"
        else:
            yield format_bandwidth(self.bandwidth_bps) if self.bandwidth_bps else "unlimited"
        yield format_duration(self.delay_s)
        if self.jitter_s:
            order = "with reordering" if self.reordering else "in order"
            yield f"jitter {format_duration(self.jitter_s)} ({self.jitter_distribution}, {order})"
        yield f"{self.loss * 100:g}% loss" if self.loss else ""
        yield f"burst loss {self.burst_loss}" if self.burst_loss else ""
        yield f"{self.duplication * 100:g}% duplicated" if self.duplication else ""
        yield f"queue {self.queue}"
        if self.discipline != "droptail":
            yield f"{self.discipline}{' with ECN' if self.ecn else ''}"


def link_fields(texts: Mapping[str, str]) -> dict[str, Any]:
    """The fields of LinkSpec from their text forms, for a new specification or a change of one.

    Args:
        texts: any of `bandwidth` (or `bw`), `delay`, `loss`, `queue`, `mtu`, `jitter`, `distribution`, `reordering`,
            `burst_loss`, `duplication`, `discipline`, `ecn`, `trace`.

    Raises:
        UsageError: names the field, the value and the accepted forms.
    """
    for key in texts:
        _choice("link", key, tuple(_FIELDS))
    fields = {}
    for key, text in texts.items():
        name, parse = _FIELDS[key]
        fields[name] = parse(text)
    return fields


def _choice(field: str, value: str, known: Sequence[str]) -> str:
    if value not in known:
        raise UsageError(f"{field}: {value!r} is unknown", did_you_mean(value, known))
    return value


def _mtu(text: str) -> int:
    if not text.isdecimal():
        raise UsageError(f"mtu: cannot read {text!r}", "accepted form: 1500 (bytes)")
    return int(text)


def _switch(field: str) -> Callable[[str], bool]:
    def parse(text: str) -> bool:
        if text.lower() not in _SWITCH:
            raise UsageError(f"{field}: cannot read {text!r}", "accepted forms: on, off")
        return _SWITCH[text.lower()]

    return parse


_FIELDS: Mapping[str, tuple[str, Callable[[str], Any]]] = {
    "bandwidth": ("bandwidth_bps", parse_bandwidth),
    "bw": ("bandwidth_bps", parse_bandwidth),
    "delay": ("delay_s", parse_duration),
    "loss": ("loss", parse_probability),
    "queue": ("queue", str),
    "mtu": ("mtu_bytes", _mtu),
    "jitter": ("jitter_s", lambda text: parse_duration(text, "jitter")),
    "distribution": ("jitter_distribution", str),
    "reordering": ("reordering", _switch("reordering")),
    "burst_loss": ("burst_loss", BurstLoss.parse),
    "duplication": ("duplication", lambda text: parse_probability(text, "duplication")),
    "discipline": ("discipline", str),
    "ecn": ("ecn", _switch("ecn")),
    "trace": ("trace", lambda text: read_trace(Path(text)).path),
}
