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
    is_connecting = _CONNECTING in error.lower()
    setting = "tcp_syn_retries" if is_connecting else "tcp_retries2"
    value = run_in(host, ["cat", f"/proc/sys/net/ipv4/{setting}"]).strip()
    # Neither value is the number of retransmissions: since Linux 6.5 there are `tcp_syn_linear_timeouts` more SYNs, and
    # the other one stands for the time that so many would take with the shortest timeout.
    what = f"within {after_s:.0f} s: TCP gave up connecting" if is_connecting else "any more: TCP gave up"
    return f"no answer {what} (net.ipv4.{setting} is {value})"
