"""Completes what a host left to its network card: without it a SYN that the controller sends on would be dropped.

A host with checksum offload hands out a TCP segment whose checksum field has the sum over the pseudo-header only, and a
mark beside the frame that says so. On its way through the controller the mark is lost (the kernel's datapath completes
the sum first, the user datapath of Open vSwitch 3.1 does not).
"""

_ETHERNET = 14
_IPV6_HEADER = 40
_TCP = 6
_TCP_CHECKSUM = 16


def complete_tcp_checksum(frame: bytes) -> bytes:
    """The frame with a complete checksum, if it is a TCP segment that has that of its pseudo-header only.

    Any other frame is returned as it is, one with a wrong checksum too: who sent it shall not get another one's.
    """
    found = _segment_of(frame)
    if found is None:
        return frame
    pseudo, start, end = found
    at = start + _TCP_CHECKSUM
    if end - start < _TCP_CHECKSUM + 2 or end > len(frame) or int.from_bytes(frame[at : at + 2], "big") != pseudo:
        return frame
    complete = ~_sum(frame[start:end]) & 0xFFFF  # the field holds the pseudo-header's part already
    return frame[:at] + complete.to_bytes(2, "big") + frame[at + 2 :]


def _segment_of(frame: bytes) -> tuple[int, int, int] | None:
    """The sum over the pseudo-header, and where the TCP segment begins and ends."""
    kind = frame[12:14]
    if kind == b"\x08\x00" and len(frame) >= _ETHERNET + 20 and frame[23] == _TCP:
        start = _ETHERNET + (frame[14] & 0xF) * 4
        end = _ETHERNET + int.from_bytes(frame[16:18], "big")
        return _pseudo_sum(frame[26:34], end - start), start, end
    if kind == b"\x86\xdd" and len(frame) >= _ETHERNET + _IPV6_HEADER and frame[20] == _TCP:
        start = _ETHERNET + _IPV6_HEADER
        end = start + int.from_bytes(frame[18:20], "big")
        return _pseudo_sum(frame[22:54], end - start), start, end
    return None


def _pseudo_sum(addresses: bytes, length: int) -> int:
    return _sum(addresses + _TCP.to_bytes(2, "big") + max(length, 0).to_bytes(2, "big"))


def _sum(data: bytes) -> int:
    """The ones' complement sum of 16-bit words (RFC 1071)."""
    total = sum(int.from_bytes(data[i : i + 2].ljust(2, b"\0"), "big") for i in range(0, len(data), 2))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total
