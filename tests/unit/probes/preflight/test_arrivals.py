"""Replies as they arrive, curves of when they arrived, and what follows from these."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st
from paramiko.ssh_exception import SSHException

from probes.preflight.transfer.curve import CurveRecorder, TransferCurve, aggregate, intervals
from probes.preflight.transfer.read_ahead import ReadAhead
from probes.preflight.transfer.sftp_stream import ReplyParser

MS = 1_000_000


def _reply(number, wanted):
    """Data, or a status with its code and text."""
    if isinstance(wanted, bytes):
        return struct.pack(">IBII", 9 + len(wanted), 103, number, len(wanted)) + wanted
    code, text = wanted[0], wanted[1].encode()
    return struct.pack(">IBIII", 17 + len(text), 101, number, code, len(text)) + text + bytes(4)


class Heard(list):
    """Parsed replies in their order: what begins, with its bytes after it, and statuses."""

    def __init__(self):
        self.parser = ReplyParser(lambda *begun: self.extend([begun, b""]), self._add, lambda *told: self.append(told))

    def _add(self, view):
        self[-1] += bytes(view)


@given(
    st.lists(st.one_of(st.binary(max_size=60), st.tuples(st.integers(0, 9), st.text(max_size=9))), max_size=8),
    st.lists(st.integers(1, 40), min_size=1, max_size=30),
)
def test_replies_are_the_same_however_they_are_cut(wanted, cuts):
    stream = b"".join(_reply(number, each) for number, each in enumerate(wanted))
    heard, expected, at = Heard(), [], 0
    while at < len(stream):
        size = cuts[at % len(cuts)]
        heard.parser.feed(memoryview(stream)[at : at + size])
        at += size
    for number, each in enumerate(wanted):
        expected += [(number, len(each)), each] if isinstance(each, bytes) else [(number, *each)]
    assert heard == expected


@given(st.binary(min_size=9, max_size=200))
def test_garbage_is_an_ssh_error_and_nothing_else(garbage):
    heard = Heard()
    try:
        heard.parser.feed(memoryview(garbage))
    except SSHException:
        return
    assert garbage[4] in (101, 103)  # it looked like a reply


def test_data_that_lies_about_its_length_is_refused():
    with pytest.raises(SSHException, match="bytes"):
        Heard().parser.feed(memoryview(struct.pack(">IBII", 9 + 5, 103, 1, 6)))


@given(st.lists(st.tuples(st.integers(1, 100_000), st.integers(0, 50 * MS)), min_size=1, max_size=200))
def test_a_curve_keeps_total_first_and_last(pieces):
    log, now = CurveRecorder(), 1000
    for size, gap in pieces:
        now += gap
        log.add(size, now)
    curve = log.curve()
    assert curve.total == log.total == sum(size for size, _ in pieces)
    assert (curve.first_ns, curve.last_ns) == (1000 + pieces[0][1], now)
    assert list(curve.times_ns) == sorted(set(curve.times_ns))


def test_a_curve_of_an_hour_takes_bounded_memory_and_stays_true():
    log = CurveRecorder()
    for step in range(360_000):
        log.add(1000, step * 10 * MS + 1)
    curve = log.curve()
    assert len(curve.times_ns) <= 4097
    assert curve.at(1_800_000 * MS + 1) == pytest.approx(180_001_000, rel=1e-3)


def _even(begin_ms, end_ms, bytes_per_ms):
    times = tuple(ms * MS for ms in range(begin_ms, end_ms + 1))
    return TransferCurve(times, tuple(bytes_per_ms * (index + 1) for index in range(len(times))))


@pytest.mark.parametrize(
    ("megabits", "round_trip_ms", "mptcp", "streams", "ahead_kb"),
    [
        ([], 10, False, 1, None),  # nothing has been seen of the path
        ([100, 200, 400, 800], 10, False, 1, 5 * 1000),  # slow start
        ([100, 200, 400, 800], 20, False, 1, 5 * 1000),  # of which half waits in a queue already
        ([800, 960, 970, 980], 10, False, 1, 2 * 1225),  # no longer
        ([980] * 4, 10, False, 4, 1049),
        ([980] * 4, 20, False, 1, 2 * 2450),  # half of it in a queue
        ([980] * 4 + [100] * 9, 10, False, 1, 2 * 1225),
        ([980] * 4 + [100] * 10, 10, False, 1, 1049),
        ([980] * 4 + [0] * 10 + [100], 10, False, 1, 4194),  # a disk that hung
        ([980] * 4 + [100] * 10, 10, True, 1, 4194 + 5 * 1225),
    ],
)
def test_the_read_ahead_follows_the_path_and_shrinks(megabits, round_trip_ms, mptcp, streams, ahead_kb):
    read_ahead, total, ahead = ReadAhead(streams, mptcp=mptcp), 0, None
    times = round_trip_ms / 1e3, 0.01
    assert read_ahead.next(0.0, 0, *times) is None
    for number, rate in enumerate(megabits, 1):
        total += round(rate * 1e6 / 8 * 0.05)
        assert read_ahead.next(0.05 * (number - 1) + 0.9 * times[0], total, *times) is None  # less than a round trip
        ahead = read_ahead.next(0.05 * number, total, *times)
    assert ahead == (ahead_kb and pytest.approx(1000 * ahead_kb, rel=0.001))


def test_goodput_is_that_of_the_time_in_which_all_streams_were_at_it():
    together = aggregate([_even(0, 1000, 1000), _even(500, 2000, 3000)], 0.5)
    assert (together.overlap_s, together.transfer_s) == pytest.approx((0.5, 2.0))
    assert together.goodput_bps == pytest.approx(4000 * 8 * 1000, rel=1e-6)
    assert sum(each.bytes for each in together.intervals) == 1001 * 1000 + 1501 * 3000
    # Streams that never overlap are taken over the whole time.
    apart = aggregate([_even(0, 100, 1000), _even(900, 1000, 1000)], 0.5)
    assert apart.overlap_s == 0
    assert apart.goodput_bps == pytest.approx((201 * 1000) * 8 / 1.0, rel=1e-6)


def test_the_first_bytes_came_before_the_clock_started():
    at_once = aggregate([TransferCurve((5,), (1000,))], 0.5)
    assert at_once.goodput_bps is None
    assert [each.bytes for each in at_once.intervals] == [1000]
    later = TransferCurve((0, 1000 * MS), (5_000_000, 6_000_000))
    assert aggregate([later], 1).goodput_bps == pytest.approx(8_000_000)


def test_short_rest_belongs_to_the_interval_before():
    found = intervals([_even(0, 1100, 1)], 0, 1100 * MS, 0.5)
    assert [(each.start_s, each.end_s) for each in found] == [(0.0, 0.5), (0.5, 1.1)]
