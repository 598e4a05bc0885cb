"""Read-ahead of downloads by SFTP: requests in flight for as much as the path holds, and not much more.

The far end's sshd keeps in memory what fits neither into the path nor into its socket. With several MB there, each byte
costs it two to three times the processor time.
"""

from collections import deque

FIRST_AHEAD_BYTES = 4 * 1024 * 1024
"""Read-ahead of a stream at the beginning, for the first doublings of the congestion window."""

_MIN_AHEAD_BYTES = 1024 * 1024
"""Minimum read-ahead of a stream: four of OpenSSH's largest requests."""

_ROUNDS = 10
"""Number of newest rounds of which the fastest counts; the read-ahead shrinks when none of them was as fast."""

_MIN_ROUND_S = 0.001
"""Minimum time over which a rate is taken."""

_GROWTH, _ROUNDS_OF_GROWTH = 1.25, 3
"""The congestion window still doubles if one of so many last rounds was so much faster than all before, as in BBR."""

_WHILE_GROWING = 5
"""Read-ahead as a multiple of what the last round filled of the path, while the congestion window still doubles: twice
that in flight now and as much in the socket's buffer behind it (Linux: twice the congestion window), and some more
because rounds are longer than round trips."""

_AFTERWARDS = 2
"""Read-ahead as a multiple of the data in flight, which is what the path holds and its queue, whoever has filled that:
the flight itself, and as much that has arrived behind a lost packet and waits for it."""


class ReadAhead:
    """The read-ahead of a connection's streams, once per round trip, by what they received since the last one.

    Args:
        streams: number of streams.
        mptcp: whether the round trips are those of the first subflow only. Others may be longer, so the read-ahead then
            never shrinks.
    """

    def __init__(self, streams: int, *, mptcp: bool) -> None:
        self._streams, self._mptcp, self._largest = streams, mptcp, 0.0
        self._last: tuple[float, int] | None = None
        self._rates: deque[float] = deque(maxlen=_ROUNDS)
        self._flights: deque[float] = deque(maxlen=_ROUNDS)
        self._rounds_without_growth = 0

    def next(self, now_s: float, total: int, rtt_s: float, minimum_rtt_s: float) -> int | None:
        """Returns the read-ahead of each stream from now on, in bytes; None if it stays as it is.

        Args:
            total: bytes that have come in all streams.
            rtt_s, minimum_rtt_s: the path's round trip now, and the shortest so far.
        """
        if self._last is None:
            self._last = now_s, total
        before_s, total_before = self._last
        if now_s - before_s < max(rtt_s, _MIN_ROUND_S):
            return None
        self._last = now_s, total
        rate = (total - total_before) / (now_s - before_s)
        has_grown = rate > _GROWTH * max(self._rates, default=0.0)
        self._rounds_without_growth = 0 if has_grown else self._rounds_without_growth + 1
        self._rates.append(rate)
        self._flights.append(rate * rtt_s)
        growing = _WHILE_GROWING * max(self._rates) * minimum_rtt_s / self._streams
        if self._mptcp:
            self._largest = max(self._largest, FIRST_AHEAD_BYTES + growing)
            return round(self._largest)
        if self._rounds_without_growth < _ROUNDS_OF_GROWTH:
            return round(max(FIRST_AHEAD_BYTES, growing))
        return round(max(_MIN_AHEAD_BYTES, _AFTERWARDS * max(self._flights) / self._streams))
