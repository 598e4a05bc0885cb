"""Specification of a link: bandwidth, delay, loss, queue and more, for one direction."""

# ruff: noqa: RUF009 - the functions called for defaults return dataclasses.field()

import dataclasses
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from flightpath import units
from flightpath.errors import UsageError
from flightpath.units import format_bandwidth, format_duration
from topologies.links.burst_loss import BurstLoss
from topologies.links.fields import (
    Effect,
    LinkField,
    choice,
    duration,
    link_field,
    of_disciplines,
    parse_whole,
    probability,
    require_known,
    switch,
)
from topologies.links.traces import read_trace

ETHERNET_HEADER_BYTES = 14
FRAMING_BYTES = {"none": 0, "ethernet": 24}
"""Bytes that a link charges for each frame besides its own: Ethernet's preamble (8), checksum (4) and gap (12)."""

_TCP_IP_BYTES = 20 + 32
PAYLOAD_SHARE = (1500 - _TCP_IP_BYTES) / (1500 + ETHERNET_HEADER_BYTES)
"""Fraction of a link's bytes that TCP carries: a full packet without the headers of IPv4 and of TCP with timestamps."""

KERNEL_DISCIPLINES = ("pie", "dualpi2")
"""Queue disciplines that only the kernel has, not the relay."""

MAX_DELAY_S, _MAX_NETEM_DELAY_S = 30 * 86_400, 270  # tc keeps it in 32 bits of 64 ns
_MAX_BANDWIDTH_BPS = 10**12
_MAX_QUEUE_S = 3600
_QUEUE_FORMS = "150kB, 1000p (packets), 20ms (at its rate), 1bdp (bandwidth x round trip)"
_PACKETS_OR_BDPS = re.compile(r"(?P<number>[0-9]{1,12}(?:\.[0-9]{1,12})?)(?P<unit>p|bdp)", re.IGNORECASE)


_TIME: dict[str, Any] = {"parse": units.parse_duration, "text": format_duration, "bounds": (1e-6, 10)}


def _describe_trace(value: Path | None, _spec: "LinkSpec") -> str:
    return f"trace {value.name} ({format_bandwidth(read_trace(value).mean_bps)} on average)" if value else ""


def _describe_jitter(value: float, spec: "LinkSpec") -> str:
    order = "with reordering" if spec.reordering else "in order"
    return f"jitter {format_duration(value)} ({spec.jitter_distribution}, {order})" if value else ""


def _queue_in_relay(_value: str, spec: "LinkSpec") -> dict[str, object]:
    packets = spec.queue_packets
    return {"queue_bytes": spec.queue_bytes} if packets is None else {"queue_packets": packets}


@dataclasses.dataclass(frozen=True)
class LinkSpec:
    """One direction of a link. The `help` of each field explains it.

    Bandwidths are in bit/s, times in seconds, probabilities from 0 to 1.
    """

    bandwidth_bps: int | None = link_field(
        None,
        "bandwidth bw",
        "50Mbit",
        "rate, counted from the Ethernet header as the kernel's queues do (default: unlimited)",
        parse=units.parse_bandwidth,
        text=format_bandwidth,
        bounds=(1, _MAX_BANDWIDTH_BPS),
        describe=lambda value, spec: format_bandwidth(value) if value else "" if spec.trace else "unlimited",
        relay=lambda value, _spec: {"rate_bps": value or 0},
        effect=Effect.SHAPES,
    )
    framing: str = link_field(
        "none",
        "framing",
        "ethernet",
        "what the rate counts besides: none, or ethernet's 24 bytes for each frame, as a port's rate does",
        choices=tuple(FRAMING_BYTES),
        describe=lambda value, _spec: "" if value == "none" else f"{value} framing",
        relay=lambda value, _spec: {"overhead_bytes": FRAMING_BYTES[value]},
    )
    trace: Path | None = link_field(
        None,
        "trace",
        "FILE",
        "a changing rate in mahimahi's format: each line is a millisecond at which 1514 bytes may leave",
        parse=lambda text, _key: read_trace(Path(text)).path,
        describe=_describe_trace,
        relay=lambda value, _spec: {"trace": value or ""},
        netem_refusal=lambda value: (
            "the netem emulator knows a rate, not when each packet leaves, as a trace says" if value else ""
        ),
        effect=Effect.SHAPES,
    )
    delay_s: float = duration(
        "delay",
        "15ms",
        "propagation delay, one way: to deep space as 8m (minutes), 2h, 5d",
        bounds=(0, MAX_DELAY_S),
        describe=lambda value, _: format_duration(value),
        relay="delay_ns",
        netem_refusal=lambda value: (
            f"{format_duration(value)} is more than tc(8) takes for netem ({format_duration(_MAX_NETEM_DELAY_S)})"
            if value > _MAX_NETEM_DELAY_S
            else ""
        ),
    )
    jitter_s: float = duration(
        "jitter",
        "2ms",
        "variation of the delay: standard deviation, or half the width",
        describe=_describe_jitter,
        relay="jitter_ns",
        # netem keeps it in 31 bits of nanoseconds.
        netem_refusal=lambda value: (
            f"{format_duration(value)} is more than the netem emulator's 2s" if value > 2 else ""
        ),
        effect=Effect.PER_PACKET,
    )
    jitter_distribution: str = choice(
        "distribution",
        ("normal", "uniform"),
        "of the jitter: normal or uniform",
        relay="jitter",
        netem_fixed="netem ignores the change",
    )
    reordering: bool = switch(
        "reordering", "packets may overtake each other by jitter; otherwise they wait", relay="reorder"
    )
    loss: float = probability(
        "loss",
        "that a packet is lost, independently of the others",
        words="loss",
        relay="loss",
        effect=Effect.LOSES,
        drop_cause="loss",
    )
    burst_loss: BurstLoss | None = link_field(
        None,
        "burst_loss",
        "1%:25%",
        "loss in bursts, Gilbert-Elliott's p:r, or p:r:BAD:GOOD with the loss in either state",
        parse=BurstLoss.parse,
        describe=lambda value, _spec: f"burst loss {value}" if value else "",
        relay=lambda value, _: {f"burst_{name}": share for name, share in vars(value or BurstLoss(0, 0)).items()},
        effect=Effect.LOSES,
        drop_cause="loss",
    )
    corruption: float = probability(
        "corruption",
        "that one bit of a packet is flipped, behind the Ethernet header",
        words="corrupted",
        relay="corrupt",
        netem="corrupt",
        effect=Effect.LOSES,
        counter="corrupted",
    )
    duplication: float = probability(
        "duplication",
        "that a packet arrives twice",
        words="duplicated",
        relay="duplicate",
        netem="duplicate",
        counter="duplicated_packets",
    )
    queue: str = link_field(
        "1000p",  # that of a Linux interface, and of Mininet's own links with a bandwidth
        "queue",
        "1bdp",
        f"bound on what waits: {_QUEUE_FORMS}",
        describe=lambda value, _spec: f"queue {value}",
        relay=_queue_in_relay,
    )
    discipline: str = choice(
        "discipline",
        ("droptail", *KERNEL_DISCIPLINES, "codel", "fq_codel"),
        "of the queue: droptail, codel (RFC 8289) or fq_codel (RFC 8290); only by netem: pie (RFC 8033), "
        "dualpi2 (RFC 9332)",
        describe=lambda value, spec: "" if value == "droptail" else f"{value} with ECN" if spec.ecn else value,
        relay="discipline",
        netem_fixed="the queued packets would be lost",
        drop_cause="aqm",
    )
    ecn: bool = switch(
        "ecn",
        "codel, fq_codel and pie mark packets, where they can, instead of dropping them (RFC 3168)",
        relay="ecn",
        counter="ecn_marked",
        disciplines=("codel", "fq_codel", "pie"),
    )
    target_s: float | None = of_disciplines(
        ("pie", "dualpi2"), "target", "20ms", "queueing delay that pie and dualpi2 aim at (default: 15ms)", **_TIME
    )
    tupdate_s: float | None = of_disciplines(
        ("pie", "dualpi2"), "tupdate", "32ms", "time between updates of their probability (default: 15, 16ms)", **_TIME
    )
    step_threshold_s: float | None = of_disciplines(
        ("dualpi2",), "step_threshold", "2ms", "delay above which dualpi2 marks all L4S packets (default: 1ms)", **_TIME
    )
    coupling: int | None = of_disciplines(
        ("dualpi2",),
        "coupling",
        "4",
        "factor k from the probability that classic packets have to that of L4S packets (default: 2)",
        parse=parse_whole,
        bounds=(1, 255),
    )
    l4s: str | None = of_disciplines(
        ("dualpi2",),
        "l4s",
        "any_ect",
        "packets for dualpi2's L queue: ect1 (RFC 9331; default), or any_ect, for DCTCP, which Linux sends as ECT(0)",
        choices=("ect1", "any_ect"),
    )
    mtu_bytes: int = link_field(
        1500, "mtu", "1500", "largest IP packet; fixed while the link is up", parse=parse_whole, bounds=(576, 9000)
    )

    def __post_init__(self) -> None:
        for name, field in FIELDS.items():
            field.check(getattr(self, name))
        if self.bandwidth_bps is not None and self.trace is not None:
            raise UsageError("trace: a link has a bandwidth or a trace, not both")
        if self.framing_bytes and self.trace is not None:
            raise UsageError("framing: a trace counts packets of 1514 bytes, whatever frames them", "leave it out")
        for field in set_fields(vars(self)):
            if field.disciplines and self.discipline not in field.disciplines:
                known = ", ".join(field.disciplines)
                wrong = f"{field.key}: a {self.discipline} queue has no such option"
                raise UsageError(wrong, f"disciplines that have it: {known}")
        if self.queue_bytes < self.frame_bytes:
            raise UsageError(f"queue: {self.queue!r} holds less than one packet", f"accepted forms: {_QUEUE_FORMS}")

    @classmethod
    def parse(cls, **texts: str | int) -> "LinkSpec":
        """Parses texts of users: `LinkSpec.parse(bandwidth="50Mbit", delay="15ms", loss="0.1%", queue="1bdp")`.

        Raises:
            UsageError: names the field, the value and the accepted forms.
        """
        return cls(**link_fields({key: str(text) for key, text in texts.items()}))

    def scaled(self, factor: float) -> "LinkSpec":
        """Returns the specification with bandwidth and queue multiplied by a factor; all delays stay the same.

        Raises:
            UsageError: the queue would hold less than a packet.
        """
        if self.bandwidth_bps is None or factor == 1:
            return self
        if self.queue_packets is not None:
            queue = f"{max(1, round(self.queue_packets * factor))}p"
        else:  # a queue given as a time scales with the bandwidth
            in_bytes = self.queue.strip().lower().endswith("b")
            queue = f"{round(self.queue_bytes * factor)}B" if in_bytes else self.queue
        return dataclasses.replace(self, bandwidth_bps=round(self.bandwidth_bps * factor), queue=queue)

    @property
    def frame_bytes(self) -> int:
        """Size of a full packet with its Ethernet header."""
        return self.mtu_bytes + ETHERNET_HEADER_BYTES

    @property
    def framing_bytes(self) -> int:
        """Bytes that the rate is charged for each frame besides its own."""
        return FRAMING_BYTES[self.framing]

    @property
    def payload_bps(self) -> float | None:
        """Maximum rate of TCP's payload over IPv4; None if the bandwidth is unlimited."""
        share = (self.mtu_bytes - _TCP_IP_BYTES) / (self.frame_bytes + self.framing_bytes)
        return self.bandwidth_bps * share if self.bandwidth_bps else None

    @property
    def effect(self) -> Effect:
        """Strongest effect of any field."""
        return max((field.effect for field in set_fields(vars(self))), default=Effect.NONE)

    @property
    def settings(self) -> dict[str, object]:
        """Specification by the relay's keys (`relay --help`), which a link's statistics use too."""
        groups = (field.relay(getattr(self, name), self) for name, field in FIELDS.items())
        return {key: value for group in groups for key, value in group.items()}

    def serialisation_s(self, frame_bytes: int) -> float:
        """Returns how long one frame takes."""
        return (frame_bytes + self.framing_bytes) * 8 / self.bandwidth_bps if self.bandwidth_bps else 0.0

    @property
    def mean_bandwidth_bps(self) -> float | None:
        """Rate, or mean rate of the trace; None if it is not limited."""
        return read_trace(self.trace).mean_bps if self.trace is not None else self.bandwidth_bps

    @property
    def queue_packets(self) -> int | None:
        """Bound of the queue in packets; None if it was not given in packets."""
        bound = _PACKETS_OR_BDPS.fullmatch(self.queue.strip())
        return round(float(bound["number"])) if bound and bound["unit"].lower() == "p" else None

    @property
    def queue_bytes(self) -> int:
        """Bound of the queue in bytes with Ethernet headers; a bound in packets counts full-size ones."""
        if self.queue_packets is not None:
            return self.queue_packets * self.frame_bytes
        if self.queue.strip().lower().endswith("b"):
            return units.parse_bytes(self.queue, "queue")
        if bdps := _PACKETS_OR_BDPS.fullmatch(self.queue.strip()):
            seconds = float(bdps["number"]) * 2 * self.delay_s
        else:
            try:
                seconds = units.parse_duration(self.queue, "queue")
            except UsageError as error:
                raise UsageError(f"queue: cannot read {self.queue!r}", f"accepted forms: {_QUEUE_FORMS}") from error
        if seconds > _MAX_QUEUE_S:
            raise UsageError(f"queue: {self.queue!r} is longer than an hour", f"accepted forms: {_QUEUE_FORMS}")
        if self.mean_bandwidth_bps is None:
            raise UsageError(
                f"queue: {self.queue!r} needs a bandwidth", "give the link a bandwidth, or a queue as 1000p"
            )
        full_frames = self.frame_bytes / (self.frame_bytes + self.framing_bytes)
        return round(self.mean_bandwidth_bps * seconds / 8 * full_frames)

    @property
    def limit_packets(self) -> int:
        """Bound of the queue in full-size packets; at least one."""
        return self.queue_packets or max(1, self.queue_bytes // self.frame_bytes)

    def __str__(self) -> str:
        return ", ".join(filter(None, (field.describe(getattr(self, name), self) for name, field in FIELDS.items())))


FIELDS: dict[str, LinkField] = {field.name: field.metadata["link"] for field in dataclasses.fields(LinkSpec)}
"""Description of each field, by attribute of LinkSpec."""

COUNTERS = tuple(field.counter for field in FIELDS.values() if field.counter)
"""Counters of each direction besides those of passed and dropped packets."""

_ATTRIBUTES = {key: name for name, field in FIELDS.items() for key in field.keys}

LINK_KEYS = frozenset(_ATTRIBUTES)
"""Keys that users may write for the fields."""


def set_fields(values: Mapping[str, Any]) -> list[LinkField]:
    """Returns the fields that differ from their default among some or all attributes of a LinkSpec (`vars(spec)`)."""
    return [FIELDS[name] for name, value in values.items() if value != FIELDS[name].default]


def drop_causes(values: Mapping[str, Any]) -> set[str]:
    """Returns the causes for which a link with these attributes may drop packets."""
    return {field.drop_cause for field in set_fields(values) if field.drop_cause}


def link_fields(texts: Mapping[str, str]) -> dict[str, Any]:
    """Parses texts by key (`link_help`) into attributes of LinkSpec, for a new specification or a change.

    Raises:
        UsageError: names the key, the text and the accepted forms.
    """
    for key in texts:
        require_known("link", key, tuple(_ATTRIBUTES))
    attributes = {_ATTRIBUTES[key]: text for key, text in texts.items()}
    return {name: FIELDS[name].parse(text, FIELDS[name].key) for name, text in attributes.items()}


def link_help() -> str:
    """Returns the help text of links: an example and an explanation of each key."""
    examples = {f"{' or '.join(field.keys)}={field.example}": field.help for field in FIELDS.values()}
    return "\n".join(f"{example:<25} {help_text}" for example, help_text in examples.items())
