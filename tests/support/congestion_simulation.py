"""A congestion control's own C code, built for this machine and driven by a simulated sender, link and receiver.

BPF programs need a kernel with a JIT, and a real clock on which every pause of the machine looks like a queue. But
they are nothing except hooks, which call five functions of the kernel. Here a sender calls the same hooks in Linux's
order (net/ipv4/tcp_input.c: `tcp_ack`), with SACK, RACK and proportional rate reduction. The link is first in, first
out, and each segment has its own ACK, and each run gives the same.
"""

import ctypes
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from congestion import sources
from probes.transfers.tcp_flow import DISORDER, NO_SSTHRESH, OPEN, RECOVERY
from tests.support import c_builds
from topologies.links.spec import LinkSpec

_MSS_BYTES = 1448
_INITIAL_WINDOW = 10
_DUPLICATE_ACKS = 3  # before a missing segment counts as lost
_TX_START, _COMPLETE_CWR = 0, 2  # events
_SLOW_PATH = 1
_NO_LIMIT = 0xFFFF_FFFF
_SUPPORT = Path(__file__).parent


@dataclass(frozen=True)
class Trial:
    """A flow of a shipped algorithm by itself on a link of its own.

    Attributes:
        cuts_s: when (from its start) what is sent vanishes for `cut_s`, which costs a few segments.
        lost: segments, counted from 0, that are lost when they are sent for the first time.
    """

    algorithm: str
    link: LinkSpec
    seconds: float
    cuts_s: tuple[float, ...] = ()
    cut_s: float = 0.002
    lost: frozenset[int] = frozenset()


class Ack(NamedTuple):
    """An ACK, with the round trip of its segment, and the connection after it; `una` is the first missing segment."""

    at_us: int
    rtt_us: int
    state: int
    cwnd: int
    ssthresh: int
    una: int


class _Connection(ctypes.Structure):
    """`struct tcp_sock` of tcp.bpf.h with what is inside it."""

    _fields_ = (
        ("sk_pacing_rate", ctypes.c_ulong),
        ("icsk_ca_state", ctypes.c_uint8),
        ("icsk_ca_priv", ctypes.c_uint64 * 13),
        *((name, ctypes.c_uint32) for name in ("snd_una", "snd_nxt", "mss_cache", "srtt_us", "packets_out")),
        *((name, ctypes.c_uint32) for name in ("max_packets_out", "snd_ssthresh", "snd_cwnd", "snd_cwnd_cnt")),
        *((name, ctypes.c_uint32) for name in ("snd_cwnd_clamp", "prior_cwnd", "delivered", "lost")),
        ("is_cwnd_limited", ctypes.c_uint8),
        ("tcp_mstamp", ctypes.c_uint64),
    )


class _AckSample(ctypes.Structure):
    _fields_ = (("pkts_acked", ctypes.c_uint32), ("rtt_us", ctypes.c_int32), ("in_flight", ctypes.c_uint32))


def _hook(result: type | None, *arguments: type) -> type:
    return ctypes.CFUNCTYPE(result, ctypes.c_void_p, *arguments)


class _Hooks(ctypes.Structure):
    """`struct tcp_congestion_ops` of tcp.bpf.h."""

    _fields_ = (
        ("init", _hook(None)),
        ("release", _hook(None)),
        ("ssthresh", _hook(ctypes.c_uint32)),
        ("cong_avoid", _hook(None, ctypes.c_uint32, ctypes.c_uint32)),
        ("set_state", _hook(None, ctypes.c_uint8)),
        ("cwnd_event", _hook(None, ctypes.c_int)),
        ("in_ack_event", _hook(None, ctypes.c_uint32)),
        ("pkts_acked", _hook(None, ctypes.POINTER(_AckSample))),
        ("undo_cwnd", _hook(ctypes.c_uint32)),
    )


def _hooks(algorithm: str) -> _Hooks:
    source = sources.source_of(algorithm)
    # -Bsymbolic: a hook named `init` is this file's own, whatever Python has of that name.
    flags = ["-shared", "-fPIC", "-Wl,-Bsymbolic", f"-I{source.parent}", "-include", f"{_SUPPORT}/congestion_kernel.h"]
    built = c_builds.built(f"congestion_{algorithm}", [source, _SUPPORT / "congestion_kernel.c"], flags)
    library = ctypes.CDLL(str(built))
    assert ctypes.c_ulong.in_dll(library, "tcp_sock_bytes").value == ctypes.sizeof(_Connection), "tcp.bpf.h has changed"
    return _Hooks.in_dll(library, algorithm)


class _Link:
    """A bottleneck with a drop-tail queue, and the way back, where nothing is queued; times in ns."""

    def __init__(self, trial: Trial) -> None:
        self._segment_ns = round(trial.link.serialisation_s(trial.link.frame_bytes) * 1e9)
        self._round_trip_ns = round(2 * trial.link.delay_s * 1e9)
        self._limit = trial.link.queue_packets
        self._cuts_ns = [(round(at_s * 1e9), round((at_s + trial.cut_s) * 1e9)) for at_s in trial.cuts_s]
        self._lost = set(trial.lost)
        self._departures: deque[int] = deque()  # of the segment that is being sent, and of those that wait

    def acknowledged_ns(self, segment: int, now_ns: int) -> int | None:
        """Returns when the ACK of a segment that is sent now comes; None if the segment is lost."""
        if segment in self._lost:
            self._lost.remove(segment)
            return None
        departures = self._departures
        while departures and departures[0] <= now_ns:
            departures.popleft()
        if len(departures) > self._limit or any(begin <= now_ns < end for begin, end in self._cuts_ns):
            return None
        departures.append((departures[-1] if departures else now_ns) + self._segment_ns)
        return departures[-1] + self._round_trip_ns


class _Sender:
    """A sender that always has data. Segments have numbers; `snd_una` and `snd_nxt` are bytes, as in Linux."""

    def __init__(self, trial: Trial) -> None:
        self._link = _Link(trial)
        self._hooks = _hooks(trial.algorithm)
        self._acks: deque[tuple[int, int]] = deque()  # time in ns and segment
        self._sent_ns: dict[int, int] = {}  # of segments that have not arrived, in the order of their last transmission
        self._arrived: set[int] = set()  # out of order
        self._to_repeat: list[int] = []  # lost, and not sent again yet
        self._una = self._nxt = self._high = 0
        self._prr_delivered = self._prr_out = 0
        self._tp = _Connection(
            mss_cache=_MSS_BYTES,
            snd_ssthresh=NO_SSTHRESH,
            snd_cwnd=_INITIAL_WINDOW,
            snd_cwnd_clamp=_NO_LIMIT,
            is_cwnd_limited=1,
        )

    def run(self, seconds: float) -> Iterator[Ack]:
        self._call("init")
        self._call("cwnd_event", _TX_START)
        self._send(0)
        while self._acks and self._acks[0][0] < seconds * 1e9:
            now_ns, segment = self._acks.popleft()
            self._tp.tcp_mstamp = now_ns // 1000
            yield self._on_ack(segment)
            self._send(now_ns)
        assert self._acks, "all in flight was lost: this sender has no timer for that"

    def _call(self, hook: str, *arguments: object) -> int:
        function: Callable[..., int] = getattr(self._hooks, hook)
        return function(ctypes.addressof(self._tp), *arguments) if function else 0

    @property
    def _in_flight(self) -> int:
        return self._nxt - self._una - len(self._arrived) - len(self._to_repeat)

    def _on_ack(self, segment: int) -> Ack:
        tp, before = self._tp, self._una
        sent_ns = self._sent_ns.pop(segment)
        rtt_us = tp.tcp_mstamp - sent_ns // 1000
        was_in_order = not self._arrived and segment == self._una
        self._arrived.add(segment)
        while self._una in self._arrived:
            self._arrived.remove(self._una)
            self._una += 1
        tp.delivered += 1
        tp.snd_una = self._una * _MSS_BYTES
        tp.packets_out = self._nxt - self._una
        self._call("pkts_acked", _AckSample(self._una - before, rtt_us, self._in_flight * _MSS_BYTES))
        self._call("in_ack_event", 0 if was_in_order else _SLOW_PATH)
        lost = self._repair(sent_ns, segment) if not was_in_order or tp.icsk_ca_state != OPEN else 0
        if tp.icsk_ca_state == RECOVERY:
            self._reduce(self._una > before and not lost)
        elif self._una > before:
            self._call("cong_avoid", tp.snd_una, 1)
        return Ack(tp.tcp_mstamp, rtt_us, tp.icsk_ca_state, tp.snd_cwnd, tp.snd_ssthresh, self._una)

    def _repair(self, sent_ns: int, segment: int) -> int:
        """Ends and begins recoveries; returns how many segments were found to be lost."""
        tp = self._tp
        if tp.icsk_ca_state == RECOVERY and self._una >= self._high:
            self._set_state(OPEN)
            tp.snd_cwnd = tp.snd_ssthresh
            self._call("cwnd_event", _COMPLETE_CWR)
        lost = self._find_lost(sent_ns, segment)
        if tp.icsk_ca_state == RECOVERY:
            return lost
        if self._to_repeat:
            self._high, tp.prior_cwnd, tp.snd_cwnd_cnt = self._nxt, tp.snd_cwnd, 0
            self._prr_delivered = self._prr_out = 0
            tp.snd_ssthresh = self._call("ssthresh")
            self._set_state(RECOVERY)
        else:
            self._set_state(DISORDER if self._arrived else OPEN)
        return lost

    def _find_lost(self, sent_ns: int, segment: int) -> int:
        """The link keeps the order, so what was sent before a segment that has arrived, and has not, is lost."""
        if self._tp.icsk_ca_state != RECOVERY and len(self._arrived) < _DUPLICATE_ACKS:
            return 0
        lost = []
        for earlier, earlier_ns in self._sent_ns.items():
            if (earlier_ns, earlier) > (sent_ns, segment):
                break
            lost.append(earlier)
        for each in lost:
            del self._sent_ns[each]
        self._to_repeat += lost
        self._tp.lost += len(lost)
        return len(lost)

    def _reduce(self, is_safe: bool) -> None:
        """Proportional rate reduction (RFC 6937): sends fewer than arrive, until the threshold is reached."""
        tp, in_flight = self._tp, self._in_flight
        self._prr_delivered += 1
        if in_flight > tp.snd_ssthresh:
            may_send = -(-tp.snd_ssthresh * self._prr_delivered // tp.prior_cwnd) - self._prr_out
        else:
            may_send = max(self._prr_delivered - self._prr_out, 1) + is_safe
            may_send = min(tp.snd_ssthresh - in_flight, may_send)
        tp.snd_cwnd = in_flight + max(may_send, 0 if self._prr_out else 1)

    def _set_state(self, state: int) -> None:
        if state != self._tp.icsk_ca_state:
            self._call("set_state", state)
            self._tp.icsk_ca_state = state

    def _send(self, now_ns: int) -> None:
        while self._in_flight < self._tp.snd_cwnd:
            if self._to_repeat:
                segment = self._to_repeat.pop(0)
            else:
                segment = self._nxt
                self._nxt += 1
            self._prr_out += 1
            self._sent_ns[segment] = now_ns
            if at_ns := self._link.acknowledged_ns(segment, now_ns):
                self._acks.append((at_ns, segment))
        tp = self._tp
        tp.snd_nxt = self._nxt * _MSS_BYTES
        tp.packets_out = tp.max_packets_out = self._nxt - self._una


def simulate(trial: Trial) -> list[Ack]:
    return list(_Sender(trial).run(trial.seconds))
