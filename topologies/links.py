"""What a link is told to be: without a checked specification a typing error would become a wrong figure."""

import re
from dataclasses import dataclass

from flightpath.errors import UsageError
from flightpath.units import (
    format_bandwidth,
    format_duration,
    parse_bandwidth,
    parse_bytes,
    parse_duration,
    parse_probability,
)

ETHERNET_HEADER_BYTES = 14
_QUEUE_FORMS = "150kB, 1000p (full-size packets), 20ms (at the link's rate), 1bdp (bandwidth x round trip)"
_PACKETS_OR_BDPS = re.compile(r"(?P<number>[0-9]+(?:\.[0-9]+)?)(?P<unit>p|bdp)", re.IGNORECASE)
MIN_MTU_BYTES, MAX_MTU_BYTES = 576, 9000


@dataclass(frozen=True)
class LinkSpec:
    """One direction of a link.

    Attributes:
        bandwidth_bps: rate in bit/s, counted from the Ethernet header as the kernel's queues do; None is not limited.
        delay_s: propagation delay, one way, in seconds.
        loss: probability in [0, 1] that a packet is lost, independently of the others.
        queue: bound on what waits for the link, as text: `150kB`, `1000p`, `20ms` or `1bdp`. The default is the
            1000 packets of a Linux interface, which is also what Mininet's own bandwidth-limited links have.
        mtu_bytes: largest IP packet.
    """

    bandwidth_bps: int | None = None
    delay_s: float = 0.0
    loss: float = 0.0
    queue: str = "1000p"
    mtu_bytes: int = 1500

    def __post_init__(self) -> None:
        if self.bandwidth_bps is not None and self.bandwidth_bps <= 0:
            raise UsageError(f"bandwidth: {self.bandwidth_bps} bit/s must be more than zero")
        if not 0 <= self.delay_s <= 60:
            raise UsageError(f"delay: {format_duration(self.delay_s)} is outside 0 to 60s")
        if not 0 <= self.loss <= 1:
            raise UsageError(f"loss: {self.loss} is not a probability")
        if not MIN_MTU_BYTES <= self.mtu_bytes <= MAX_MTU_BYTES:
            raise UsageError(f"mtu: {self.mtu_bytes} is outside {MIN_MTU_BYTES} to {MAX_MTU_BYTES} bytes")
        if self.queue_bytes < self.frame_bytes:
            raise UsageError(f"queue: {self.queue!r} holds less than one packet", f"accepted forms: {_QUEUE_FORMS}")

    @classmethod
    def parse(
        cls, *, bandwidth: str | None = None, delay: str = "0", loss: str = "0", queue: str = "1000p", mtu: int = 1500
    ) -> "LinkSpec":
        """A specification from what people write: `50Mbit`, `15ms`, `0.1%`, `1bdp`.

        Raises:
            UsageError: names the field, the value and the accepted forms.
        """
        return cls(
            bandwidth_bps=parse_bandwidth(bandwidth) if bandwidth is not None else None,
            delay_s=parse_duration(delay),
            loss=parse_probability(loss),
            queue=queue,
            mtu_bytes=mtu,
        )

    @property
    def frame_bytes(self) -> int:
        """A full-size packet with its Ethernet header."""
        return self.mtu_bytes + ETHERNET_HEADER_BYTES

    @property
    def queue_bytes(self) -> int:
        """The queue's bound in bytes, Ethernet headers included."""
        counted = _PACKETS_OR_BDPS.fullmatch(self.queue.strip())
        if counted and counted["unit"].lower() == "p":
            return round(float(counted["number"]) * self.frame_bytes)
        if counted:
            return self._bytes_sent_in(float(counted["number"]) * 2 * self.delay_s)
        if self.queue.strip().lower().endswith("b"):
            return parse_bytes(self.queue, "queue")
        try:
            return self._bytes_sent_in(parse_duration(self.queue, "queue"))
        except UsageError as error:
            raise UsageError(f"queue: cannot read {self.queue!r}", f"accepted forms: {_QUEUE_FORMS}") from error

    def _bytes_sent_in(self, seconds: float) -> int:
        if self.bandwidth_bps is None:
            raise UsageError(
                f"queue: {self.queue!r} needs a bandwidth", "give the link a bandwidth, or a queue as 1000p"
            )
        return round(self.bandwidth_bps * seconds / 8)

    def __str__(self) -> str:
        rate = format_bandwidth(self.bandwidth_bps) if self.bandwidth_bps else "unlimited"
        loss = f", {self.loss * 100:g}% loss" if self.loss else ""
        return f"{rate}, {format_duration(self.delay_s)}{loss}, queue {self.queue}"
