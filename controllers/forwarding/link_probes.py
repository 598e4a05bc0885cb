"""Probes: frames that the controller sends over each link to see whether it carries frames.

They also reveal the links of a network without a description. Hosts cannot forge them, because each has a keyed digest,
and cannot use one again, because each counts once, and only for some seconds.
"""

import hashlib
import hmac
import secrets
import struct
from collections.abc import Sequence
from dataclasses import dataclass

from controllers.openflow.channel import CONTROLLER_PORT, Channel
from controllers.openflow.rules import Output
from controllers.openflow.steering_rules import PROBE_ETHERTYPE

_DESTINATION = bytes.fromhex("0180c200000e")  # no bridge forwards it (IEEE 802.1Q, table 8-1)
_SOURCE = bytes.fromhex("02ff00000001")
_FIELDS = struct.Struct("!4sQIQ")
_MAGIC = b"flpr"
_DIGEST_BYTES = 16
_MIN_FRAME_BYTES = 60
_MAX_TRAVEL_S = 10.0
"""Maximum travel time of a probe; a link with a long queue takes seconds."""


@dataclass(frozen=True)
class Probe:
    """The content of a probe: the switch and the port that sent it, and when, on CLOCK_MONOTONIC."""

    dpid: int
    port: int
    sent_s: float


class Prober:
    """Sends probes, decodes those that it has sent, and counts both."""

    def __init__(self) -> None:
        self.sent = 0
        self.received = 0
        self._key = secrets.token_bytes(16)
        self._newest_ns: dict[tuple[int, int], int] = {}

    def send(self, channel: Channel, ports: Sequence[int], now_s: float) -> None:
        """Makes a switch send a probe out of each of these ports."""
        frames = [(self.encode(channel.dpid, port, now_s), (Output(port),)) for port in ports]
        channel.send_frames(CONTROLLER_PORT, frames)
        self.sent += len(frames)

    def encode(self, dpid: int, port: int, now_s: float) -> bytes:
        """Returns the frame of a probe that this switch is to send out of this port."""
        fields = _FIELDS.pack(_MAGIC, dpid, port, round(now_s * 1e9))
        frame = _DESTINATION + _SOURCE + PROBE_ETHERTYPE.to_bytes(2, "big") + fields + self._digest(fields)
        return frame.ljust(_MIN_FRAME_BYTES, b"\0")

    def decode(self, frame: bytes, now_s: float) -> Probe | None:
        """Returns the probe in a frame; None if it is forged, too old, or not newer than the last one from its port."""
        fields, digest = frame[14 : 14 + _FIELDS.size], frame[14 + _FIELDS.size :][:_DIGEST_BYTES]
        if len(fields) < _FIELDS.size or not hmac.compare_digest(digest, self._digest(fields)):
            return None
        _magic, dpid, port, sent_ns = _FIELDS.unpack(fields)
        is_repeated = sent_ns <= self._newest_ns.get((dpid, port), -1)
        if is_repeated or now_s - sent_ns / 1e9 > _MAX_TRAVEL_S:
            return None
        self._newest_ns[dpid, port] = sent_ns
        self.received += 1
        return Probe(dpid, port, sent_ns / 1e9)

    def _digest(self, fields: bytes) -> bytes:
        return hashlib.blake2b(fields, key=self._key, digest_size=_DIGEST_BYTES).digest()


def is_probe(frame: bytes) -> bool:
    """Returns whether a frame has the EtherType of a probe."""
    return int.from_bytes(frame[12:14], "big") == PROBE_ETHERTYPE
