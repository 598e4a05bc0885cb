"""Models of TCP's throughput: window, loss, and parallel streams.

Rates are in bits per second, times in seconds, sizes in bytes, probabilities in (0, 1]. If the maximum segment size
(`mss_bytes`) is payload, so are rates and other sizes. The models assume nothing about the far end and other traffic.
They raise ValueError for a time or a rate of a stream that is not positive, and for another probability.
"""

import math

RENO_CONSTANT = math.sqrt(3 / 2)
"""Mathis et al. 1997, table 1: periodic loss, every packet acknowledged; 0.87 with delayed acknowledgements."""

_CUBIC_C, _CUBIC_BETA = 0.4, 0.7
"""CUBIC's constant in segments per s³, and the factor by which a loss shrinks its window."""


def bdp_bytes(rate_bps: float, rtt_s: float) -> float:
    """Returns the bandwidth-delay product: the bytes in flight, and so the window, that keep a path busy."""
    return rate_bps * rtt_s / 8


def window_limit_bps(window_bytes: float, rtt_s: float) -> float:
    """Returns the rate of one window per round trip: Equation 2 of the paper Net-Preflight Check.

    Its last form, bandwidth times RTT over latency, is the same with the bandwidth-delay product as the window.
    """
    return window_bytes * 8 / _positive(rtt_s, "round trip time")


def mathis_bps(mss_bytes: float, rtt_s: float, loss: float) -> float:
    """Returns the rate of a Reno connection under loss: MSS/RTT times C/sqrt(p), without timeouts and window limit.

    Source: Mathis, Semke, Mahdavi, Ott, *The Macroscopic Behavior of the TCP Congestion Avoidance Algorithm*, 1997.
    """
    return mss_bytes * 8 / _positive(rtt_s, "round trip time") * RENO_CONSTANT / math.sqrt(_probability(loss))


def padhye_bps(
    mss_bytes: float,
    rtt_s: float,
    loss: float,
    *,
    timeout_s: float | None = None,
    acknowledged: int = 2,
    window_bytes: float = math.inf,
) -> float:
    """Returns a Reno connection's rate under loss, with timeouts and window: PFTK, equation 33.

    Source: Padhye, Firoiu, Towsley, Kurose, *Modeling TCP Throughput: A Simple Model and its Empirical Validation*,
    1998. RFC 5348 uses the same with one packet per acknowledgement and a timeout of four round trips.

    Args:
        loss: the probability of a loss event: a loss after which the rest of the round's packets is lost too.
        timeout_s: the first retransmission timeout; four round trips, but no less than Linux's 0.2 s, by default.
        acknowledged: packets per acknowledgement (b): 2 with delayed acknowledgements.
    """
    rtt_s, p = _positive(rtt_s, "round trip time"), _probability(loss)
    timeout_s = max(4 * rtt_s, 0.2) if timeout_s is None else timeout_s
    congested_s = rtt_s * math.sqrt(2 * acknowledged * p / 3)
    timed_out_s = timeout_s * min(1.0, 3 * math.sqrt(3 * acknowledged * p / 8)) * p * (1 + 32 * p**2)
    return min(window_limit_bps(window_bytes, rtt_s), mss_bytes * 8 / (congested_s + timed_out_s))


def cubic_bps(mss_bytes: float, rtt_s: float, loss: float) -> float:
    """Returns the rate of a CUBIC connection under loss: RFC 9438, figures 5 and 6, and at least that of Reno."""
    rtt_s, p = _positive(rtt_s, "round trip time"), _probability(loss)
    window = (_CUBIC_C * (3 + _CUBIC_BETA) / (4 * (1 - _CUBIC_BETA))) ** 0.25 * (rtt_s / p) ** 0.75
    return max(window * mss_bytes * 8 / rtt_s, mathis_bps(mss_bytes, rtt_s, p))


def streams_for(rate_bps: float, stream_bps: float) -> int:
    """Returns how many streams of `stream_bps` each reach a rate.

    Source: Hacker, Athey, Noble, *The End-to-End Performance Effects of Parallel TCP Sockets on a Lossy Wide-Area
    Network*, 2002: the rates of streams add up as long as they do not congest the path themselves.
    """
    return max(1, math.ceil(rate_bps / _positive(stream_bps, "rate of a stream") - 1e-9))


def _positive(value: float, what: str) -> float:
    if not value > 0:
        raise ValueError(f"the {what} must be more than zero, not {value:g}")
    return value


def _probability(value: float) -> float:
    if not 0 < value <= 1:
        raise ValueError(f"loss must be more than 0 and at most 1, not {value:g}")
    return value
