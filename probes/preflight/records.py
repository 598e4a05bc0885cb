"""What a measurement found, whole and lossless in JSON: without it the memory would keep less than was measured."""

import json
import statistics
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Self

from flightpath.errors import FlightpathError
from probes.preflight import codec
from probes.preflight.spec import TransferSpec
from probes.preflight.ssh.target import Target

FORMAT = 1
"""Of the JSON text; raised when a reader of the old one would misread the new one."""


class Verdict(StrEnum):
    """What limited an iteration, from best to worst: anything but `ok` and `rate-limited` is no figure of the path."""

    OK = "ok"
    RATE_LIMITED = "rate-limited"
    CLIENT_LIMITED = "client-limited"
    CIPHER_LIMITED = "cipher-limited"
    DISK_LIMITED = "disk-limited"

    @property
    def measures_path(self) -> bool:
        """Whether the throughput is the path's, and not this machine's (or the rate that was asked for)."""
        return self is Verdict.OK


class EndedBy(StrEnum):
    """Why an iteration ended."""

    SIZE = "size"
    TIME = "time"
    BYTES = "bytes"


@dataclass(frozen=True)
class Phases:
    """Where a connection's time went before its transfer, in seconds; they follow each other and do not overlap.

    Attributes:
        connect_s: TCP's handshake, of the address that answered.
        key_exchange_s: SSH's greeting and key exchange.
        authentication_s: the log-in.
        session_s: opening the SFTP session and the file.
        first_byte_s: from the first request to the first byte (download), or to the first confirmation (upload).
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
        """Bits per second in the interval; 0 for one without length."""
        length = self.end_s - self.start_s
        return self.bytes * 8 / length if length > 0 else 0.0


@dataclass(frozen=True)
class KernelSample:
    """TCP_INFO (Linux tcp(7), RFC 4898's terms) of a stream's connection at one moment; None where it is not told.

    In a download this end sends acknowledgements only: its cwnd, retransmissions and delivery rate are of those, and
    `receive_rtt_ms` and `receive_space_bytes` are what tells about the path.

    Attributes:
        at_s: seconds from the iteration's first byte (negative before it).
        rtt_ms, rtt_variation_ms, minimum_rtt_ms: as the sender half of this socket measured them.
        receive_rtt_ms: as the receiver half estimates it.
        cwnd_packets, mss_bytes: the congestion window and what one packet of it carries.
        retransmitted_packets: since the connection began.
        delivery_rate_bps: of the latest measurement of this end's sender half.
        receive_space_bytes: what the receiver's buffer is sized for.
        reordering_seen, lost_packets: as this end's sender half counts them.
        window_limited_s, send_buffer_limited_s, busy_s: how long this end, sending, was held by the peer's window, by
            its own buffer, and had anything to send at all.
        out_of_order_packets: that this end has received; in a download, what tells of losses and reordering.
        subflows: MPTCP: how many there are; 0 for plain TCP.
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


@dataclass(frozen=True)
class SocketFacts:
    """A connection as found, not as asked for.

    Attributes:
        local, remote: `address` and `port`.
        family: 4 or 6.
        mptcp: whether both ends speak MPTCP on it.
        congestion_control: of this end.
        send_buffer_bytes, receive_buffer_bytes: as the kernel granted them (Linux reports twice what was asked).
        mss_bytes: what one segment carries to the far end.
        path_mtu: as the kernel knows it for this connection, in bytes; None if it does not say.
        cipher: of the direction in which the data went.
        server: the far end's SSH software.
        host_key: the SHA-256 fingerprint of the far end's key.
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
    """Where the time of the process that moved the data went during the transfer, in seconds.

    Attributes:
        cpu_s: processor time, user and system.
        queued_s: ready to run, waiting for a processor.
        cipher_s: inside the cipher (part of cpu_s).
        disk_s: inside writes of local files, without the processor time of these.
        network_s: the rest, waiting for the network.
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
        number: from 0.
        bytes: moved and confirmed.
        started_s, transfer_s: the first byte's time, in seconds from the iteration's first byte, and how long the
            transfer took from then.
        first_bytes: arrived with the first byte, so before the transfer's time began; not in the goodput.
        phases: streams that share a connection have its connect, key exchange and authentication times.
        intervals, samples: over time.
        connection: as found.
        load: of the process; streams that share a connection share it.
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
        """Payload bits per second of the transfer alone; None if everything came at once."""
        return (self.bytes - self.first_bytes) * 8 / self.transfer_s if self.transfer_s > 0 else None


@dataclass(frozen=True)
class IterationResult:
    """All streams of one iteration.

    Attributes:
        number: from 1.
        started_at: ISO 8601 in UTC, when it began to connect.
        phases: of the slowest stream, each phase for itself.
        bytes: moved and confirmed by all streams.
        transfer_s: from the first byte of any stream to the last byte of any.
        overlap_s: the part of it in which all streams had begun and none had ended.
        goodput_bps: payload bits per second during the overlap; if there is none, over `transfer_s`. None if everything
            came at once.
        intervals: of all streams together.
        streams: each.
        cpu_s: processor time of all of them during the transfer.
        verdict, reason: what limited it, and the figures that show it.
        ended_by: what ended it.
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
    verdict: Verdict
    reason: str
    ended_by: EndedBy


@dataclass(frozen=True)
class Hop:
    """One router on the way: `address` is None where nothing answered; `rtt_ms` is the fastest answer."""

    distance: int
    address: str | None
    rtt_ms: float | None


@dataclass(frozen=True)
class Route:
    """The way to the far end.

    Attributes:
        method: how it was found, for example `udp` or `traceroute`.
        hops: in order.
        complete: whether the far end itself answered.
        note: why it could not be found, or not completely; "" if all is well.
    """

    method: str
    hops: tuple[Hop, ...]
    complete: bool
    note: str = ""


@dataclass(frozen=True)
class Iperf3Result:
    """The same measurement with iperf3: same direction, streams and time.

    Attributes:
        goodput_bps: as the receiver counts it; None if it could not be measured.
        retransmitted_packets: by the sender, if told.
        seconds: how long it ran.
        version: of the client.
        note: why it could not be measured; "" if it could.
    """

    goodput_bps: float | None
    retransmitted_packets: int | None
    seconds: float
    version: str
    note: str = ""


@dataclass(frozen=True)
class PreflightResult:
    """One measurement, with everything that is needed to repeat and to judge it.

    Attributes:
        target: the far end.
        spec: what was asked for.
        iterations: in order.
        started_at: ISO 8601 in UTC.
        file_bytes: the size of the remote file, or of the one that was made.
        route: None if it was not asked for.
        path_mtu: the largest packet that passes, in bytes; None if it could not be told.
        iperf3: None if it was not asked for.
        environment: this machine: kernel, sysctls, versions (JSON values).
        notes: what a reader must know, in sentences.
    """

    target: Target
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
        """The median of the iterations, in bits per second; None if none has any."""
        values = [each.goodput_bps for each in self.iterations if each.goodput_bps is not None]
        return statistics.median(values) if values else None

    @property
    def verdict(self) -> Verdict:
        """The worst verdict of the iterations."""
        return max((each.verdict for each in self.iterations), key=list(Verdict).index, default=Verdict.OK)

    @property
    def rtt_ms(self) -> float | None:
        """The smallest round trip time that a stream's kernel told, in ms; None without samples."""
        samples = [sample for each in self.iterations for stream in each.streams for sample in stream.samples]
        told = [sample.minimum_rtt_ms or sample.rtt_ms for sample in samples]
        return min((value for value in told if value > 0), default=None)

    def to_json(self) -> str:
        """One JSON object that `from_json` reads back as the same."""
        return json.dumps({"format": FORMAT, **codec.encode(self)}, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """A measurement from its text.

        Raises:
            FlightpathError: it is not one, or of a newer format.
        """
        try:
            told = json.loads(text)
            if told.pop("format") != FORMAT:
                raise FlightpathError("this measurement was kept by a newer version", "update Flightpath")
            return codec.decode(cls, told)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise FlightpathError(f"this is not a measurement of preflight: {error}") from error
