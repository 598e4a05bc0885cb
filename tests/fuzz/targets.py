"""The fuzz targets: how each is built, and the inputs that it starts from."""

import subprocess
from pathlib import Path

import native
from tests.support.relay_line import VNET, ip_packet, plain_frame, pure_sources, super_frame, tunnel_sources
from tests.support.tunnel_ends import without_ethernet

FOLDER = Path(__file__).parent
NATIVE = Path(native.__file__).parent
TARGETS = ("line", "trace", "commands", "tunnel", "configuration")
_OF_THE_TUNNEL = ("tunnel", "configuration")
_FLAGS = ["-std=c11", "-D_GNU_SOURCE", "-g", "-O1", "-fno-sanitize-recover=all", f"-I{NATIVE}"]
_BESIDES_PURE = {
    "commands": (
        *(f"common/{name}" for name in ("control", "device", "lifecycle")),
        *(f"relay/{name}" for name in ("commands", "direction", "tap", "worker")),
    ),
}


def build(target: str, program: Path, *, libfuzzer: bool) -> None:
    """Builds a target, with AddressSanitizer and UndefinedBehaviorSanitizer; without libFuzzer with our own main()."""
    more = [str(NATIVE / f"{name}.c") for name in _BESIDES_PURE.get(target, ())]
    pure = tunnel_sources() if target in _OF_THE_TUNNEL else pure_sources()
    sources = [str(FOLDER / f"fuzz_{target}.c"), *pure, *more]
    if libfuzzer:
        compiler = ["clang", "-fsanitize=fuzzer,address,undefined"]
    else:
        compiler = ["cc", "-fsanitize=address,undefined"]
        sources.append(str(FOLDER / "fuzz_main.c"))
    subprocess.run([*compiler, *_FLAGS, "-o", program, *sources, "-pthread", "-lm", "-lcrypto"], check=True)


def write_seeds(target: str, folder: Path) -> None:
    """Inputs that already get far into the code."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, content in enumerate(_SEEDS[target]()):
        (folder / f"{number:02}").write_bytes(content)


def _line() -> list[bytes]:
    payload = bytes(range(256)) * 16
    frames = [
        super_frame(payload),
        super_frame(payload, version=6, options=0),
        super_frame(payload, udp=True, gso_size=500),
        super_frame(payload, vlan=True, gso_size=100),
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
    packets = [without_ethernet(super_frame(payload, **variant)) for variant in variants]
    packets.append(bytes(VNET.size) + ip_packet(200)[VNET.size + 14 :])
    reads = [record(0, 0, packet) for packet in packets]
    ip = ip_packet(114)[VNET.size + 14 :]
    numbered = [record(1, n % 3, b"\x10\0\x08\0" + bytes([0, 0, 0, n]) + ip) for n in (0, 2, 1, 5, 5, 90, 200)]
    plain = record(1, 1, b"\0\0\x08\0" + ip)
    control = [record(2, path, bytes([0xF0, 1, path, 3]) + bytes(116)) for path in range(3)]
    control.append(record(1, 0, b"\0\0\x88\xb5\xf0\x01" + bytes(150)))
    return [
        *reads,
        b"".join(reads),
        b"".join(numbered) + plain,
        b"".join(control),
        b"".join(reads + numbered + control),
    ]


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


_SEEDS = {"line": _line, "trace": _trace, "commands": _commands, "tunnel": _tunnel, "configuration": _configuration}
