"""TCP's timers that end a connection without an answer, by name."""

from flightpath.hosts import Host, run_in

_CONNECTING, _TIMED_OUT = "unable to connect", "timed out"


def given_up(host: Host, error: str, after_s: float) -> str | None:
    """Says which of a client's timers has ended its connection.

    Args:
        host: the client's.
        error: what the client says.
        after_s: time after which it has said so.

    Returns:
        None if the error has another cause.
    """
    if _TIMED_OUT not in error.lower():
        return None
    setting, what = ("tcp_retries2", "retransmissions")
    if _CONNECTING in error.lower():
        setting, what = ("tcp_syn_retries", "retransmissions of its SYN")
    times = run_in(host, ["cat", f"/proc/sys/net/ipv4/{setting}"]).strip()
    return f"no answer within {after_s:.0f} s: TCP gave up after {times} {what} (net.ipv4.{setting})"
