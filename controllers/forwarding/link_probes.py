"""Probes: frames that the controller sends over each link to see whether it carries frames.

They also reveal the links of a network without a description. Hosts cannot forge them, because each has a keyed digest.
"""

import hashlib
import hmac
import secrets
import struct
from dataclasses import dataclass

from controllers.openflow.library import Datapath
from controllers.openflow.messages import CONTROLLER_PORT, send_frame
from controllers.openflow.rules import Output
from controllers.openflow.steering_rules import PROBE_ETHERTYPE

_DESTINATION = bytes.fromhex("0180c200000e")  # no bridge forwards it (IEEE 802.1Q, table 8-1)
_SOURCE = bytes.fromhex("02ff00000001")
_FIELDS = struct.Struct("!4sQIQ")
_MAGIC = b"flpr"
_DIGEST_BYTES = 16
_MIN_FRAME_BYTES = 60


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

    def send(self, datapath: Datapath, port: int, now_s: float) -> None:
        """Sends a probe out of a port."""
        fields = _FIELDS.pack(_MAGIC, datapath.id, port, round(now_s * 1e9))
        frame = _DESTINATION + _SOURCE + PROBE_ETHERTYPE.to_bytes(2, "big") + fields + self._digest(fields)
        send_frame(datapath, CONTROLLER_PORT, frame.ljust(_MIN_FRAME_BYTES, b"\0"), (Output(port),))
        self.sent += 1

    def decode(self, frame: bytes) -> Probe | None:
        """The probe in a frame; None if it is forged."""
        fields, digest = frame[14 : 14 + _FIELDS.size], frame[14 + _FIELDS.size :][:_DIGEST_BYTES]
        if len(fields) < _FIELDS.size or not hmac.compare_digest(digest, self._digest(fields)):
            return None
        self.received += 1
        _magic, dpid, port, sent_ns = _FIELDS.unpack(fields)
        return Probe(dpid, port, sent_ns / 1e9)

    def _digest(self, fields: bytes) -> bytes:
        return hashlib.blake2b(fields, key=self._key, digest_size=_DIGEST_BYTES).digest()


def is_probe(frame: bytes) -> bool:
    """Whether a frame has the EtherType of a probe."""
    return int.from_bytes(frame[12:14], "big") == PROBE_ETHERTYPE
