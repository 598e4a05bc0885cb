"""Completes TCP checksums that a host has left to its network card.

With offload, the field holds only the sum over the pseudo-header, and metadata of the frame says so, which the
controller does not get. (The kernel's datapath completes the sum before; that of Open vSwitch 3.1 does not.)
"""

from controllers.packets.segments import IP_TCP, find_tcp

_CHECKSUM = 16


def complete_tcp_checksum(frame: bytes) -> bytes:
    """Returns the frame with a complete checksum, if it is a TCP segment with the sum over its pseudo-header only.

    Any other frame is returned unchanged, even one with a wrong checksum: its receiver must notice.
    """
    packet = find_tcp(frame, len(frame))
    if packet is None:
        return frame
    start, end, source, destination = packet
    at = start + _CHECKSUM
    pseudo_header = source + destination + IP_TCP.to_bytes(2, "big") + (end - start).to_bytes(2, "big")
    if end < at + 2 or int.from_bytes(frame[at : at + 2], "big") != _sum(pseudo_header):
        return frame
    complete = ~_sum(frame[start:end]) & 0xFFFF  # the field already holds the pseudo-header's part
    return frame[:at] + complete.to_bytes(2, "big") + frame[at + 2 :]


def _sum(data: bytes) -> int:
    """Returns the ones' complement sum of 16-bit words (RFC 1071)."""
    total = sum(int.from_bytes(data[i : i + 2].ljust(2, b"\0"), "big") for i in range(0, len(data), 2))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total
