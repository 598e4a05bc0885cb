"""Without these nobody would know that the line of a relay is exact: its C modules, driven with a time of our own."""

import ctypes
import struct
import subprocess
from pathlib import Path

import pytest

import native

NATIVE = Path(native.__file__).parent
MS = 1_000_000
SECOND = 1000 * MS
NEVER = 2**64 - 1


class Spec(ctypes.Structure):
    _fields_ = (
        ("rate_bps", ctypes.c_uint64),
        ("delay_ns", ctypes.c_uint64),
        ("loss", ctypes.c_double),
        ("queue_bytes", ctypes.c_uint64),
        ("queue_given", ctypes.c_bool),
    )


class Wire(ctypes.Structure):
    _fields_ = (("segments", ctypes.c_uint32), ("bytes", ctypes.c_uint32))


class Frame(ctypes.Structure):
    _fields_ = (
        ("next", ctypes.c_void_p),
        ("tail", ctypes.c_void_p),
        ("arrived_ns", ctypes.c_uint64),
        ("due_ns", ctypes.c_uint64),
        ("length", ctypes.c_uint32),
        ("wire", Wire),
        ("lost", ctypes.c_bool),
        ("head", ctypes.c_uint8 * 2064),
    )


@pytest.fixture(scope="module")
def c(tmp_path_factory):
    library = tmp_path_factory.mktemp("line") / "line.so"
    sources = [str(NATIVE / f"{name}.c") for name in ("line", "spec", "frames", "pool")]
    subprocess.run(["cc", "-std=c11", "-D_GNU_SOURCE", "-shared", "-fPIC", "-o", library, *sources], check=True)
    functions = ctypes.CDLL(str(library))
    functions.line_depart.restype = ctypes.POINTER(Frame)
    functions.line_admits.restype = functions.frames_measure.restype = functions.spec_parse.restype = ctypes.c_bool
    functions.line_next.restype = functions.spec_queue_bytes.restype = ctypes.c_uint64
    functions.spec_frame_bound.restype = ctypes.c_uint32
    return functions


class Line:
    """A line, and what left it: (due, bytes, lost)."""

    def __init__(self, c, text, seed=1, stream=0):
        self.c, self.memory = c, ctypes.create_string_buffer(4096)
        self.spec, self.frames = parse(c, text), []
        c.line_init(self.memory, ctypes.byref(self.spec), ctypes.c_uint64(seed), ctypes.c_uint64(stream))

    def arrive(self, size, now):
        if not self.c.line_admits(self.memory, size, ctypes.c_uint64(now)):
            return False
        frame = Frame(length=size, wire=Wire(1, size))
        self.frames.append(frame)
        self.c.line_arrive(self.memory, ctypes.byref(frame), ctypes.c_uint64(now))
        return True

    def departures(self, now):
        left = []
        while frame := self.c.line_depart(self.memory, ctypes.c_uint64(now)):
            left.append((frame.contents.due_ns, frame.contents.wire.bytes, frame.contents.lost))
        return left

    def next(self, now):
        return self.c.line_next(self.memory, ctypes.c_uint64(now))

    def change(self, text, now):
        self.spec = parse(self.c, text, self.spec)
        self.c.line_change(self.memory, ctypes.byref(self.spec), ctypes.c_uint64(now))


def parse(c, text, spec=None):
    changed = Spec() if spec is None else Spec.from_buffer_copy(spec)
    error = ctypes.create_string_buffer(512)
    assert c.spec_parse(ctypes.byref(changed), text.encode(), error, ctypes.c_size_t(512)), error.value
    return changed


def test_one_frame_takes_serialisation_and_delay(c):
    line = Line(c, "rate_bps=8000000,delay_ns=5000000")
    line.arrive(1000, now=SECOND)
    assert line.next(SECOND) == SECOND + 1 * MS + 5 * MS
    assert line.departures(SECOND + 6 * MS - 1) == []
    assert line.departures(SECOND + 6 * MS) == [(SECOND + 6 * MS, 1000, False)]
    assert line.next(SECOND + 6 * MS) == NEVER


@pytest.mark.parametrize("rate", [1_000_000, 9_999_999_937, 300_000_007])
def test_rate_is_exact_to_the_nanosecond_over_many_small_frames(c, rate):
    line = Line(c, f"rate_bps={rate},queue_bytes=100000000")
    for _ in range(10_000):
        assert line.arrive(66, now=0)
    due = [when for when, _, _ in line.departures(10**12)]
    assert len(due) == 10_000 and due == sorted(due)
    assert due[-1] == 10_000 * 66 * 8 * SECOND // rate


def test_waking_late_does_not_cost_rate(c):
    line = Line(c, "rate_bps=8000000,queue_bytes=1000000")
    for _ in range(10):
        line.arrive(1000, now=0)
    assert [due for due, _, _ in line.departures(3 * MS + 7)] == [1 * MS, 2 * MS, 3 * MS]
    assert [due for due, _, _ in line.departures(SECOND)] == [n * MS for n in range(4, 11)]


def test_idle_line_gathers_no_credit(c):
    line = Line(c, "rate_bps=8000000,queue_bytes=1000000")
    line.arrive(1000, now=0)
    line.departures(SECOND)
    line.arrive(1000, now=SECOND)
    line.arrive(1000, now=SECOND)
    assert [due for due, _, _ in line.departures(2 * SECOND)] == [SECOND + 1 * MS, SECOND + 2 * MS]


def test_queue_limits_what_waits_and_not_what_is_being_sent(c):
    line = Line(c, "rate_bps=8000000,queue_bytes=2500")
    assert [line.arrive(1000, now=0) for _ in range(5)] == [True, True, True, False, False]
    assert line.arrive(500, now=0)
    assert line.arrive(1000, now=1 * MS)  # the second frame has started: its place is free
    assert not line.arrive(1000, now=1 * MS)


def test_no_queue_still_passes_what_finds_the_line_idle(c):
    line = Line(c, "rate_bps=8000000,queue_bytes=0")
    assert line.arrive(1000, now=0)
    assert not line.arrive(1000, now=1 * MS - 1)
    assert line.arrive(1000, now=1 * MS)


def test_change_of_rate_applies_to_what_waits(c):
    line = Line(c, "rate_bps=8000000,queue_bytes=100000")
    for _ in range(4):
        line.arrive(1000, now=0)
    line.change("rate_bps=80000000", now=1 * MS + 1)  # the second has started and keeps its time
    assert [due for due, _, _ in line.departures(SECOND)] == [1 * MS, 2 * MS, 2 * MS + 100_000, 2 * MS + 200_000]


def test_shorter_delay_does_not_reorder(c):
    line = Line(c, "delay_ns=50000000")
    line.arrive(100, now=0)
    line.change("delay_ns=1000000", now=1)
    line.arrive(200, now=10 * MS)
    assert line.departures(11 * MS) == []
    assert [size for _, size, _ in line.departures(50 * MS)] == [100, 200]


def test_loss_takes_line_time_and_its_share(c):
    line = Line(c, "rate_bps=8000000,loss=0.25,queue_bytes=100000000")
    for _ in range(4000):
        line.arrive(1000, now=0)
    left = line.departures(10 * SECOND)
    assert left[-1][0] == 4000 * MS
    lost = sum(lost for _, _, lost in left)
    assert abs(lost - 1000) < 5 * (4000 * 0.25 * 0.75) ** 0.5


@pytest.mark.parametrize(("loss", "expected"), [("0", 0), ("1", 200)])
def test_loss_of_none_and_of_all(c, loss, expected):
    assert sum(lost_pattern(Line(c, f"loss={loss}"))) == expected


def test_seed_repeats_losses_and_directions_differ(c):
    pattern = lost_pattern(Line(c, "loss=0.5", seed=7, stream=0))
    assert lost_pattern(Line(c, "loss=0.5", seed=7, stream=0)) == pattern
    assert lost_pattern(Line(c, "loss=0.5", seed=7, stream=1)) != pattern
    assert lost_pattern(Line(c, "loss=0.5", seed=8, stream=0)) != pattern


def lost_pattern(line):
    for _ in range(200):
        line.arrive(100, now=0)
    return [lost for _, _, lost in line.departures(SECOND)]


@pytest.mark.parametrize(
    ("text", "bound"),
    [
        ("delay_ns=1", 65536),
        ("rate_bps=10000000000", 65536),
        ("rate_bps=400000000", 50000),
        ("rate_bps=50000000", 6250),
        ("rate_bps=20000000", 0),
        ("loss=0.0001", 0),
        ("rate_bps=10000000000,loss=0.1", 0),
    ],
)
def test_super_frames_keep_the_line_busy_for_a_bounded_time(c, text, bound):
    assert c.spec_frame_bound(ctypes.byref(parse(c, text))) == bound


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("rate_bps=10000000000,delay_ns=15000000", 37_500_000),
        ("rate_bps=100000000", 125_000),
        ("rate_bps=1000000", 32768),
        ("rate_bps=1000000,queue_bytes=0", 0),
    ],
)
def test_default_queue(c, text, expected):
    assert c.spec_queue_bytes(ctypes.byref(parse(c, text))) == expected


VNET = struct.Struct("<BBHHHH")  # flags, gso_type, hdr_len, gso_size, csum_start, csum_offset
TCP4, UDP4, TCP6, UDP_L4 = 1, 3, 4, 5


def measure(c, data):
    wire = Wire()
    size = ctypes.c_size_t(len(data))
    return (wire.segments, wire.bytes) if c.frames_measure(data, size, size, ctypes.byref(wire)) else None


def tcp_frame(payload, *, ip=20, options=12, **vnet):
    fields = {"flags": 1, "gso_type": TCP4, "hdr_len": 0, "gso_size": 1448, "csum_start": 14 + ip, "csum_offset": 16}
    tcp = bytes(12) + bytes([(20 + options) // 4 << 4]) + bytes(7 + options)
    return VNET.pack(*(fields | vnet).values()) + bytes(14 + ip) + tcp + bytes(payload)


def test_one_segment_counts_as_it_is(c):
    assert measure(c, tcp_frame(1448, gso_type=0, gso_size=0)) == (1, 1514)


@pytest.mark.parametrize(("payload", "segments"), [(1448, 1), (1449, 2), (44 * 1448, 44), (44 * 1448 + 1, 45)])
def test_each_segment_is_charged_its_headers(c, payload, segments):
    assert measure(c, tcp_frame(payload)) == (segments, payload + segments * 66)


def test_ipv6_ecn_and_udp(c):
    assert measure(c, tcp_frame(2896, ip=40, gso_type=TCP6)) == (2, 2896 + 2 * 86)
    assert measure(c, tcp_frame(2896, gso_type=TCP4 | 0x80)) == (2, 2896 + 2 * 66)
    udp = VNET.pack(1, UDP_L4, 0, 1000, 34, 6) + bytes(14 + 20 + 8) + bytes(2500)
    assert measure(c, udp) == (3, 2500 + 3 * 42)


def test_hdr_len_is_not_believed(c):
    assert measure(c, tcp_frame(2896, hdr_len=9999)) == (2, 2896 + 2 * 66)


@pytest.mark.parametrize(
    "frame",
    [
        b"",
        bytes(9),
        bytes(23),
        tcp_frame(2896, gso_size=0),
        tcp_frame(2896, flags=0),
        tcp_frame(2896, gso_type=UDP4),
        tcp_frame(2896, csum_start=0),
        tcp_frame(2896, csum_start=65535),
        tcp_frame(0),
        tcp_frame(2896, options=-4),
    ],
)
def test_nonsense_is_malformed(c, frame):
    assert measure(c, frame) is None
