"""An independent model of a link: from the packets that entered it, as a capture saw them, to when each is to leave.

It knows nothing of the relay's own clock and counters: packets are captured by the kernels of both hosts, and the model
is the definition of a line with a rate and a delay. What remains between the two is what the emulation adds.
"""

import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from ipaddress import ip_address
from typing import NamedTuple

from flightpath.commands import end, require
from flightpath.pcapng import PcapReader
from tests.bench.hosts import Pair
from topologies.hosts.multihomed import MultihomedHost
from topologies.links.spec import LinkSpec
from topologies.sandbox.sandbox import TEMPORARY

SNAPSHOT_BYTES = 96
SEGMENT_BYTES = 1514
# The kernel hands packets to tcpdump when a block of them is full, or after a second.
_HAND_OVER_S = 1.2
# A capture's buffer is allocated by the kernel in one go, which no thread of any priority interrupts: links stand still
# for 0.1 s. What queued up meanwhile must have left before anything is measured.
_BUFFER_KB = 32768
_SETTLING_S = 0.5
_ICMP = 1


class Captured(NamedTuple):
    """A frame as one host's kernel saw it pass its interface."""

    at_ns: int  # on the kernel's real-time clock, which both hosts share
    key: bytes  # the same where it is sent and where it is received
    wire_bytes: int  # as the link charges it; each segment of a GSO packet has its own header
    source: bytes  # IPv4 address
    is_probe: bool  # an ICMP packet


@contextmanager
def captured(host: MultihomedHost) -> Iterator[list[Captured]]:
    """A host captures on its first interface during the block; after it, the list has the frames."""
    path, frames = TEMPORARY / f"{host.name}.pcap", list[Captured]()
    argv = [require("tcpdump"), "-i", host.intfs[0].name, "-s", str(SNAPSHOT_BYTES), "-B", str(_BUFFER_KB)]
    argv += ["--time-stamp-precision=nano", "-Z", "root", "-w", str(path), "ip"]
    process = host.popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    try:
        for line in process.stderr:
            if b"listening on" in line:
                break
        time.sleep(_SETTLING_S)
        yield frames
        time.sleep(_HAND_OVER_S)
    finally:
        end(process)
        process.stderr.close()
    frames += [_frame(*packet) for packet in PcapReader().packets(path.read_bytes())]


def probe_excess_ms(
    network: Pair, at_source: Sequence[Captured], at_target: Sequence[Captured], spec: LinkSpec
) -> list[float]:
    """Time by which request and reply together took longer than the model, for each ping that both hosts captured."""
    there = _excess_ns(at_source, at_target, network.source, spec)
    back = _excess_ns(at_target, at_source, network.target, spec)
    return [(there[key] + back[key]) / 1e6 for key in there.keys() & back.keys()]


def _excess_ns(
    sent: Sequence[Captured], arrived: Sequence[Captured], host: MultihomedHost, spec: LinkSpec
) -> dict[bytes, float]:
    """The arrival of each probe of a host less the model's; a request and its reply have the same key here."""
    source = ip_address(host.address()).packed
    arrivals: dict[bytes, int] = {}
    for frame in arrived:
        if frame.source == source and frame.is_probe:
            arrivals.setdefault(frame.key, frame.at_ns)
    free_ns, excess_ns = 0.0, {}
    for frame in sent:
        if frame.source != source:
            continue
        free_ns = max(free_ns, frame.at_ns) + frame.wire_bytes * 8e9 / spec.bandwidth_bps
        if frame.is_probe and frame.key in arrivals:
            excess_ns[frame.key[-4:]] = arrivals[frame.key] - free_ns - spec.delay_s * 1e9
    return excess_ns


def _frame(at_ns: int, length: int, data: bytes) -> Captured:
    is_probe = data[23] == _ICMP
    headers = 42 if is_probe else 34 + (data[46] >> 4) * 4
    segments = 1 if length <= SEGMENT_BYTES else -(-(length - headers) // (SEGMENT_BYTES - headers))
    # Of a ping: its type, and its identifier and sequence number, which the reply repeats.
    key = data[34:35] + data[38:42] if is_probe else b""
    return Captured(at_ns, key, length + (segments - 1) * headers, data[26:30], is_probe)
