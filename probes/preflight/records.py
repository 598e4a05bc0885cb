"""The records of a measurement, which turn into JSON and back without loss."""

import json
import statistics
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any, Self

from flightpath.errors import FlightpathError
from probes.preflight.spec import TransferSpec, read_json
from probes.preflight.target import FarEnd

FORMAT = 1
"""Version of the JSON text; incremented when readers of the old one would misread the new one."""


class LimitedBy(StrEnum):
    """Limit of an iteration, from best to worst; only `ok` means that the throughput is the path's."""

    OK = "ok"
    RATE_LIMITED = "rate-limited"
    CLIENT_LIMITED = "client-limited"
    CIPHER_LIMITED = "cipher-limited"
    DISK_LIMITED = "disk-limited"

    @property
    def measures_path(self) -> bool:
        """Whether the path was the limit, and not this machine or the requested rate."""
        return self is LimitedBy.OK

    @classmethod
    def worst(cls, limits: Iterable["LimitedBy"]) -> "LimitedBy":
        """Returns the worst of several; `ok` for none."""
        return max(limits, key=lambda limit: list(cls).index(limit), default=cls.OK)


class EndedBy(StrEnum):
    """Reason for the end of an iteration."""

    SIZE = "size"
    TIME = "time"
    BYTES = "bytes"


@dataclass(frozen=True)
class Phases:
    """Durations of a connection's phases before its transfer, in seconds; they do not overlap.

    Attributes:
        connect_s: TCP's handshake with the address that answered.
        key_exchange_s: SSH's key exchange, or TLS's handshake.
        session_s: opening the SFTP session and the file.
        first_byte_s: time from the first request to the first byte (download) or the first confirmation (upload).
    """

    connect_s: float
    key_exchange_s: float
    authentication_s: float
    session_s: float
    first_byte_s: float


@dataclass(frozen=True)
class Interval:
    """Bytes that arrived (upload: were confirmed) between two moments, in seconds from the iteration's first byte."""

    start_s: float
    end_s: float
    bytes: int

    @property
    def throughput_bps(self) -> float:
        """Bits per second; 0 if the interval has no length."""
        length = self.end_s - self.start_s
        return self.bytes * 8 / length if length > 0 else 0.0


@dataclass(frozen=True)
class KernelSample:
    """TCP_INFO (tcp(7), RFC 4898) of a stream's connection at one moment; None where the kernel does not report it.

    In a download this end only sends acknowledgements, and cwnd, retransmissions and delivery rate are about those;
    `receive_rtt_ms` and `receive_space_bytes` are what describes the path.

    Attributes:
        at_s: seconds from the iteration's first byte; negative before it.
        rtt_ms, rtt_variation_ms, minimum_rtt_ms: measured by this socket as a sender.
        receive_rtt_ms: estimated by this socket as a receiver.
        mss_bytes: the payload of one packet of the congestion window.
        receive_space_bytes: target size of the receive buffer.
        window_limited_s, send_buffer_limited_s, busy_s: times in which the peer's window held this sender, its own
            buffer held it, and it had data to send.
        out_of_order_packets: received by this end; in a download, the sign of loss or reordering.
        subflows: number of MPTCP subflows; 0 for plain TCP.
    """

    at_s: float
    rtt_ms: float
    rtt_variation_ms: float
    minimum_rtt_ms: float | None
    receive_rtt_ms: float
    cwnd_packets: int
    mss_bytes: int
    retransmitted_packets: int
    lost_packets: int
    reordering_seen: int | None
    delivery_rate_bps: float | None
    receive_space_bytes: int
    window_limited_s: float | None
    send_buffer_limited_s: float | None
    busy_s: float | None
    out_of_order_packets: int | None
    subflows: int = 0

    @property
    def least_rtt_ms(self) -> float:
        """The smallest round-trip time known at this moment."""
        return self.minimum_rtt_ms or self.rtt_ms


@dataclass(frozen=True)
class SocketFacts:
    """The properties that a connection really had.

    Attributes:
        family: 4 or 6.
        mptcp: whether both ends speak MPTCP on it.
        congestion_control: congestion control of this end.
        send_buffer_bytes, receive_buffer_bytes: sizes that the kernel granted (Linux reports twice the requested size).
        path_mtu: path MTU that the kernel knows for this connection, in bytes; None if it does not.
        cipher: cipher of the data's direction.
        server, host_key: the far end's software, and the SHA-256 fingerprint of its key or certificate.
    """

    local: tuple[str, int]
    remote: tuple[str, int]
    family: int
    mptcp: bool
    congestion_control: str
    send_buffer_bytes: int
    receive_buffer_bytes: int
    mss_bytes: int
    path_mtu: int | None
    cipher: str
    server: str
    host_key: str


@dataclass(frozen=True)
class ClientLoad:
    """Use of time by the process that moved the data, in seconds.

    Attributes:
        queued_s: time ready to run, but waiting for a processor.
        cipher_s: time in the cipher (part of `cpu_s`).
    """

    cpu_s: float
    queued_s: float
    cipher_s: float
    disk_s: float
    network_s: float


@dataclass(frozen=True)
class StreamResult:
    """One stream of one iteration.

    Attributes:
        number: number, from 0.
        started_s: time of its first byte, in seconds from the iteration's first byte.
        first_bytes: arrived together with the first byte, before the transfer's time began; not in the goodput.
        phases, connection, load: streams of one connection share them, but for the times after the log-in.
    """

    number: int
    bytes: int
    started_s: float
    transfer_s: float
    first_bytes: int
    phases: Phases
    intervals: tuple[Interval, ...]
    samples: tuple[KernelSample, ...]
    connection: SocketFacts
    load: ClientLoad

    @property
    def goodput_bps(self) -> float | None:
        """Payload bits per second of the transfer; None if everything came in one moment."""
        return (self.bytes - self.first_bytes) * 8 / self.transfer_s if self.transfer_s > 0 else None


@dataclass(frozen=True)
class IterationResult:
    """All streams of one iteration.

    Attributes:
        number: number, from 1.
        started_at: time when it began to connect, ISO 8601 in UTC.
        phases: the longest of any stream, phase by phase.
        transfer_s: time from the first byte of any stream to the last byte of any.
        overlap_s: the part of it in which all streams had begun and none had ended.
        goodput_bps: payload bits per second during the overlap, or during `transfer_s` if there was none; None if
            everything came in one moment.
        cpu_s: processor time of all stream processes during the transfer.
        verdict, reason: its limit, and the figures that show it.
    """

    number: int
    started_at: str
    phases: Phases
    bytes: int
    transfer_s: float
    overlap_s: float
    goodput_bps: float | None
    intervals: tuple[Interval, ...]
    streams: tuple[StreamResult, ...]
    cpu_s: float
    verdict: LimitedBy
    reason: str
    ended_by: EndedBy


@dataclass(frozen=True)
class Hop:
    """One router of a route: `address` and `rtt_ms` (of the fastest answer) are None if it did not answer."""

    distance: int
    address: str | None
    rtt_ms: float | None


@dataclass(frozen=True)
class Route:
    """The route to the far end: `complete` if that itself answered; otherwise the note says why not."""

    method: str
    hops: tuple[Hop, ...]
    complete: bool
    note: str = ""


@dataclass(frozen=True)
class Iperf3Result:
    """The same transfer by iperf3: same direction, streams and time.

    Attributes:
        goodput_bps: goodput at the receiver; None if it was not measured.
        note: reason why it was not measured; "" otherwise.
    """

    goodput_bps: float | None
    retransmitted_packets: int | None
    seconds: float
    version: str
    note: str = ""


@dataclass(frozen=True)
class PreflightResult:
    """One measurement, with everything needed to repeat it and to judge it.

    Attributes:
        started_at: ISO 8601 in UTC.
        route, iperf3: None if they were not requested.
        path_mtu: the largest packet that reaches the far end, in bytes; None if unknown.
        environment: environment of this machine: kernel, sysctls, versions (JSON values).
    """

    # pydantic's name; not a field
    __pydantic_config__ = {"extra": "forbid", "strict": True, "allow_inf_nan": False}  # noqa: RUF012

    target: FarEnd
    spec: TransferSpec
    iterations: tuple[IterationResult, ...]
    started_at: str
    file_bytes: int
    route: Route | None = None
    path_mtu: int | None = None
    iperf3: Iperf3Result | None = None
    environment: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def goodput_bps(self) -> float | None:
        """Median of the iterations in bits per second; None if none has a goodput."""
        values = [each.goodput_bps for each in self.iterations if each.goodput_bps is not None]
        return statistics.median(values) if values else None

    @property
    def verdict(self) -> LimitedBy:
        return LimitedBy.worst(iteration.verdict for iteration in self.iterations)

    @property
    def rtt_ms(self) -> float | None:
        """The smallest round-trip time that any stream's kernel measured, in ms; None without samples."""
        streams = [stream for iteration in self.iterations for stream in iteration.streams]
        rtts = [sample.least_rtt_ms for stream in streams for sample in stream.samples]
        return min((rtt for rtt in rtts if rtt > 0), default=None)

    def to_json(self) -> str:
        """Returns one JSON object, which `from_json` reads."""
        fields = {**asdict(self), "target": self.target.as_json(), "spec": self.spec.as_json()}
        return json.dumps({"format": FORMAT, **fields}, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Self:
        try:
            fields = json.loads(text)
            if fields.pop("format") != FORMAT:
                raise FlightpathError("this measurement was stored by a newer version", "update Flightpath")
            return read_json(cls, json.dumps(fields, allow_nan=False))
        except (ValueError, KeyError, TypeError, AttributeError) as error:  # no JSON, no object, no format, no record
            raise FlightpathError(f"this is not a measurement of preflight: {error}") from error


@dataclass(frozen=True)
class Status:
    """Progress of a measurement.

    Attributes:
        iteration, iterations: number of the iteration, and their total; 0 before the first.
        bytes, total_bytes: bytes moved in this iteration, and its size if it has one.
        elapsed_s, limit_s: time of the iteration's transfer, and its limit if it has one.
    """

    phase: str
    iteration: int = 0
    iterations: int = 0
    bytes: int = 0
    total_bytes: int | None = None
    elapsed_s: float = 0.0
    limit_s: float | None = None


OnProgress = Callable[[Status], None]
