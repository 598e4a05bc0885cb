"""Inputs of the fuzz targets in C that already get far into the code."""

import subprocess
import tempfile
from pathlib import Path

from tests.support.relay_line import VNET, gso_packet, ip_packet, plain_frame
from tests.support.tunnel_ends import without_ethernet

_ALGORITHM = """
struct tcp_congestion_ops { long flags; char name[16]; unsigned key; };
__attribute__((section(".struct_ops"), used)) struct tcp_congestion_ops ops = {.name = "reno_x", .key = 7};
"""


def seeds(target: str) -> list[bytes]:
    return _SEEDS[target]()


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
    alone = [change + arrival for change in changes for arrival in arrivals[:1]]
    return [*alone, *arrivals, changes[2] + changes[5] + b"".join(arrivals), changes[0] + changes[17] + arrivals[4] * 3]


def _trace() -> list[bytes]:
    return [b"1\n2\n2\n5\n", b"10\n", b"0\n0\n7", b"3\r\n604800000\n", b"1\n\n", b"9\n8\n", b"x"]


def _commands() -> list[bytes]:
    keys = "rate_bps=1000,delay_ns=5,jitter_ns=3,jitter=uniform,reorder=1,loss=0.1,queue_bytes=9,discipline=codel,ecn=1"
    bursts = "burst_enter=0.1,burst_leave=1e-3,burst_loss_bad=1,burst_loss_good=0,duplicate=1,corrupt=1"
    return [
        b"stats\nreset\ndown\nup\nstats\n",
        f"set a-to-b {keys}\nset b-to-a {bursts}\nset b-to-a queue_packets=7,blackhole=1\nstats\n".encode(),
        b"at 5 down\nat 18446744073709551615 set a-to-b loss=1\ncancel\n",
        b'set a-to-b trace=/nonexistent\n"\\\x01\nset\nat\n',
    ]


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


def _configuration() -> list[bytes]:
    whole = (
        "[tunnel]\ndevice=mpt0\naddresses=10.9.0.1/24, fd99::1/64 ,\nkey_file=k\nport=4754\nmtu=1400\nclamp_mss=true\n"
        "offloads=0\ncontrol=/c\n[scheduling]\nscheduler=rtt\nrun=4\nweights=adaptive\n[reordering]\nmode=fixed\n"
        "window=64\nmax_delay_ms=1.5e1\n[keepalive]\nenabled=true\ninterval_ms=10\ndead_ms=99\nrecover=2\n[path]\nname=a\n"
        "local=1.2.3.4\nremote=1.2.3.5\nweight=2\nbackup=false\n"
    )
    return [
        whole.encode(),
        b"[ path ]\r\nlocal = ::1 # x\n#[path]\n",
        b"[tunnel\n[a]\nb=\n= c\n[",
        b"[path]\nweight=-1\nweight=+1.0e-3\nweight=inf\n",
    ]


def _requests() -> list[bytes]:
    changes = (
        b"set a weight=2.5,backup=true\nset b enabled=false\nset a weight=1e-9\nset b weight=nan,x\nset a\nset c x=1\n"
    )
    signed, plain = b"\xf0\x01\x00\x03" + bytes(range(11, 127)), b"\xa1\0\0\0\0\x06\0\0" + bytes(range(11, 43))
    return [
        b"stats\ntable\n",
        changes + b"stats\ntable",
        signed + b"\n" + plain + b"\nstats\n",
        b'"\\\x01\nset  \n=,\n',
    ]


def _key() -> list[bytes]:
    keys = (b"0123456789abcdef" * 4 + b"\n", b"", b"\n\r\n")
    return [mode + key for mode in (b"\x01\x80", b"\x01\xa4") for key in keys]


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


_SEEDS = {
    "line": _line,
    "trace": _trace,
    "commands": _commands,
    "tunnel": _tunnel,
    "configuration": _configuration,
    "requests": _requests,
    "key": _key,
    "loader": _loader,
    "object": object_files,
}
