"""A recording as a pcapng file, for Wireshark: an interface for each direction of a link, a comment on each packet.

What was recorded of a packet are the fields of its headers, so the headers are made from these: addresses of Ethernet
are zero, options of TCP are missing, checksums of TCP and UDP are zero, and payloads are cut off (the length is that on
the wire). Source: IETF draft-ietf-opsawg-pcapng, sections 4.1 to 4.3.
"""

import struct
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flightpath import pcapng
from results.recording.events import retransmissions
from results.recording.file import Recording
from results.recording.journeys import ARRIVED, DROPPED, FATES, UNDER_WAY, Direction, Journeys, journeys

_ETHERNET, _SNAPSHOT_BYTES = 1, 256
_TCP, _UDP = 6, 17
_FAMILIES = {4: 0x0800, 6: 0x86DD}
_MIN_TCP, _MAX_TCP = 20, 60
_TTL = 64


def write_pcapng(recording: Recording, target: Path, start_s: float, end_s: float) -> int:
    """Writes the packets that came to a link's queue in a part of the recording; returns how many.

    Args:
        target: file, which is replaced if it exists.
        start_s, end_s: bounds of the part, in seconds since the recording began.
    """
    found, began_ns = journeys(recording), int(recording.description["began_ns"])
    packets = found.packets
    after_ns = packets["time"] - began_ns
    chosen = np.flatnonzero((after_ns >= start_s * 1e9) & (after_ns <= end_s * 1e9))
    with target.open("wb") as file:
        file.write(pcapng.section())
        file.writelines(_interface(each) for each in found.directions)
        file.writelines(_packets(recording, found, chosen))
    return len(chosen)


def _packets(recording: Recording, found: Journeys, chosen: NDArray[Any]) -> Iterator[bytes]:
    packets = {name: column[chosen].tolist() for name, column in found.packets.items()}
    headers = [_headers(row) for row in recording.flows]
    hosts = set(recording.description["hosts"])
    from_host = np.array([each.source in hosts for each in found.directions])[found.packets["point"]]
    again = retransmissions(found, from_host)[chosen].tolist()
    for number, comment in enumerate(_comments(packets, again, found.directions)):
        packet = {name: column[number] for name, column in packets.items()}
        flow = packet["flow"]
        made = headers[flow](packet) if flow < len(headers) else bytes(14)
        yield pcapng.packet(packet["time"], packet["bytes"], made, packet["point"], comment)


def _comments(packets: dict[str, list[Any]], again: Sequence[bool], directions: Sequence[Direction]) -> Iterator[str]:
    """Describes the fate of each packet."""
    columns = (packets[name] for name in ("point", "time", "sent", "arrived", "fate", "bytes"))
    for point, time, sent, arrived, fate, size, is_again in zip(*columns, again, strict=True):
        rate = directions[point].bandwidth_bps
        if fate == ARRIVED:
            waited_ms = max(0.0, (sent - time - (size * 8e9 / rate if rate else 0)) / 1e6)
            text = f"waited {waited_ms:.3f} ms, arrived after {(arrived - time) / 1e6:.3f} ms"
        else:
            text = FATES[fate] if fate in (UNDER_WAY, DROPPED) else f"dropped: {FATES[fate]}"
        yield f"{text}; sent again" if is_again else text


def _headers(row: Any) -> Callable[[dict[str, Any]], bytes]:
    """Returns a function that makes the headers of a flow's packets."""
    family, protocol = int(row["family"]), int(row["protocol"])
    ethernet = bytes(12) + struct.pack("!H", _FAMILIES.get(family, int(row["ethertype"])))
    ends = bytes(row["source"]), bytes(row["target"])
    ports = struct.pack("!HH", int(row["source_port"]), int(row["target_port"]))

    def make(packet: dict[str, Any]) -> bytes:
        if family not in _FAMILIES:
            return ethernet
        transport = _transport(protocol, ports, packet, packet["headers"] - 14 - (20 if family == 4 else 40))
        length = packet["bytes"] - 14
        if family == 6:
            first = struct.pack("!IHBB", 6 << 28 | packet["ecn"] << 20, length - 40, protocol, _TTL)
            return ethernet + first + ends[0] + ends[1] + transport
        first = struct.pack("!BBHHHBBH", 0x45, packet["ecn"], length, packet["id"], 0x4000, _TTL, protocol, 0)
        header = first + ends[0][:4] + ends[1][:4]
        return ethernet + header[:10] + _checksum(header) + header[12:] + transport

    return make


def _transport(protocol: int, ports: bytes, packet: dict[str, Any], size: int) -> bytes:
    if protocol == _UDP:
        return ports + struct.pack("!HH", packet["payload"] + 8, 0)
    if protocol != _TCP:
        return b""
    size = max(_MIN_TCP, min(_MAX_TCP, size)) // 4 * 4
    fields = struct.pack("!IIBBHHH", packet["seq"], packet["ack"], size << 2, packet["flags"], packet["window"], 0, 0)
    return ports + fields + b"\x01" * (size - _MIN_TCP)  # options that do nothing


def _checksum(header: bytes) -> bytes:
    total = sum(struct.unpack(f"!{len(header) // 2}H", header))
    total = (total & 0xFFFF) + (total >> 16)
    return struct.pack("!H", ~(total + (total >> 16)) & 0xFFFF)


def _interface(direction: Direction) -> bytes:
    name = f"{direction.source}->{direction.target} ({direction.link})"
    return pcapng.interface(name, _ETHERNET, _SNAPSHOT_BYTES, direction.specification)
