"""Frames that the controller sends over each link: without them a link that swallows everything would look healthy.

They also find the links of a network that nobody has described. A host cannot forge one: each carries a keyed digest.
"""

import hashlib
import hmac
import secrets
import struct
from dataclasses import dataclass

from controllers.openflow.steering_rules import PROBE_ETHERTYPE

_TO = bytes.fromhex("0180c200000e")  # no bridge forwards it (IEEE 802.1Q, table 8-1)
_FROM = bytes.fromhex("02ff00000001")
_FIELDS = struct.Struct("!4sQIQ")
_MAGIC = b"flpr"
_DIGEST_BYTES = 16
_SMALLEST_FRAME = 60


@dataclass(frozen=True)
class Probe:
    """What a probe says.

    Args:
        dpid, port: where it was sent out.
        sent_ns: when, on CLOCK_MONOTONIC.
    """

    dpid: int
    port: int
    sent_ns: int


class ProbeCodec:
    """Writes probes that only this process can have written."""

    def __init__(self) -> None:
        self._key = secrets.token_bytes(16)

    def frame(self, probe: Probe) -> bytes:
        """The probe as an Ethernet frame without FCS."""
        fields = _FIELDS.pack(_MAGIC, probe.dpid, probe.port, probe.sent_ns)
        frame = _TO + _FROM + PROBE_ETHERTYPE.to_bytes(2, "big") + fields + self._digest(fields)
        return frame.ljust(_SMALLEST_FRAME, b"\0")

    def read(self, frame: bytes) -> Probe | None:
        """The probe in a frame; None if it is none of this process's."""
        fields, digest = frame[14 : 14 + _FIELDS.size], frame[14 + _FIELDS.size :][:_DIGEST_BYTES]
        if len(fields) < _FIELDS.size or not hmac.compare_digest(digest, self._digest(fields)):
            return None
        _magic, dpid, port, sent_ns = _FIELDS.unpack(fields)
        return Probe(dpid, port, sent_ns)

    def _digest(self, fields: bytes) -> bytes:
        return hashlib.blake2b(fields, key=self._key, digest_size=_DIGEST_BYTES).digest()


def is_probe(frame: bytes) -> bool:
    """Whether a frame claims to be a probe."""
    return int.from_bytes(frame[12:14], "big") == PROBE_ETHERTYPE
