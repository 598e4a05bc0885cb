"""Inputs of the fuzz targets in C that already get far into the code."""

import subprocess
import tempfile
from pathlib import Path

from tests.support.relay_line import VNET, gso_packet, ip_packet, plain_frame
from tests.support.tunnel_ends import without_ethernet

_CORPUS = Path(__file__).with_name("corpus")
_ALGORITHM = """
struct tcp_congestion_ops { long flags; char name[16]; unsigned key; };
__attribute__((section(".struct_ops"), used)) struct tcp_congestion_ops ops = {.name = "reno_x", .key = 7};
"""


def seeds(target: str) -> list[bytes]:
    """The files of a target in `corpus`, or what is made for it."""
    return [file.read_bytes() for file in sorted((_CORPUS / target).glob("*"))] or _GENERATED[target]()


def _line() -> list[bytes]:
    payload = bytes(range(256)) * 16
    frames = [
        gso_packet(payload),
        gso_packet(payload, version=6, options=0),
        gso_packet(payload, udp=True, gso_size=500),
        gso_packet(payload, vlan=True, gso_size=100),
        ip_packet(1514, ecn=1),
        plain_frame(60),
    ]
    arrivals = [bytes([5]) + len(frame).to_bytes(2, "big") + frame for frame in frames]
    changes = [bytes([0, choice]) for choice in range(23)]
    alone = [change + arrivals[0] for change in changes]
    return [*alone, *arrivals, changes[2] + changes[5] + b"".join(arrivals), changes[0] + changes[17] + arrivals[4] * 3]


def _tunnel() -> list[bytes]:
    def record(kind: int, path: int, data: bytes) -> bytes:
        return bytes([kind, path]) + len(data).to_bytes(2, "big") + data

    payload = bytes(range(256)) * 8
    variants = ({}, {"version": 6}, {"udp": True, "gso_size": 300}, {"gso_size": 60, "options": 0})
    packets = [without_ethernet(gso_packet(payload, **variant)) for variant in variants]
    packets.append(bytes(VNET.size) + ip_packet(200)[VNET.size + 14 :])
    reads = [record(0, 0, packet) for packet in packets]
    ip = ip_packet(114)[VNET.size + 14 :]
    numbered = [record(1, n % 3, b"\x10\0\x08\0" + bytes([0, 0, 0, n]) + ip) for n in (0, 2, 1, 5, 5, 90, 200)]
    plain = record(1, 1, b"\0\0\x08\0" + ip)
    control = [record(2, path, bytes([0xF0, 1, path, 3]) + bytes(116)) for path in range(3)]
    control.append(record(1, 0, b"\0\0\x88\xb5\xf0\x01" + bytes(150)))
    several = [b"".join(records) for records in (reads, [*numbered, plain], control, reads + numbered + control)]
    return [*reads, *several]


def _loader() -> list[bytes]:
    connect, send, read, leave, ask = range(5)
    kept = bytes([send, 4]) + b"keep"
    deaf = bytes([ask, 255]) * 4
    others = b"".join(bytes([5 * n + connect, 5 * n + send, 3]) + b"who" + bytes([5 * n + read]) for n in range(1, 8))
    lengths = bytes([send, 0, send, 31]) + b"x" * 31
    return [kept, deaf, others + bytes([5 + leave, leave]), kept + others + deaf, lengths]


def object_files() -> list[bytes]:
    """An algorithm without code as the loader takes it, and one without the description of its types."""
    with tempfile.TemporaryDirectory(prefix="flightpath-fuzz-") as folder:
        source, built = Path(folder) / "algorithm.c", Path(folder) / "algorithm.o"
        source.write_text(_ALGORITHM)
        subprocess.run(["cc", "-c", source, "-o", built], check=True)
        seeds = [built.read_bytes()]
        argv = ["clang", "-target", "bpf", "-g", "-O1", "-c", source, "-o", built]
        try:
            subprocess.run(argv, check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError):  # there is no clang that compiles for BPF
            return seeds
        return [built.read_bytes(), *seeds]


_GENERATED = {"line": _line, "tunnel": _tunnel, "loader": _loader, "object": object_files}
