"""What limited an iteration: the path, or the processor, cipher or disk of this machine."""

from collections.abc import Sequence

from probes.preflight.records import LimitedBy, StreamResult
from probes.preflight.spec import TransferSpec

_BUSY = 0.9
"""A process that computes, waits for a processor or waits for its disk for this share of the time is the limit."""

_AT_RATE = 0.95


def limited_by(spec: TransferSpec, streams: Sequence[StreamResult], goodput_bps: float | None) -> tuple[LimitedBy, str]:
    """What limited an iteration, and the figures behind it in words.

    A stream's process computes, waits for a processor, waits for a disk, or waits for the network. If less than a tenth
    of the time is left for the network, a faster path would not have helped. Then the disk is the limit if it took more
    than the processor, the cipher if it took most of the processor time, and otherwise the client as a whole.

    Args:
        spec: of the measurement.
        streams: of the iteration.
        goodput_bps: of all of them.
    """
    if not streams or goodput_bps is None:
        return LimitedBy.OK, "too little was transferred to judge"
    worst = max(streams, key=_busy_share)
    busy, load, who = _busy_share(worst), worst.load, f"the process of stream {worst.number}"
    if busy < _BUSY:
        if spec.rate_limit_bps is not None and goodput_bps >= _AT_RATE * spec.rate_limit_bps:
            return LimitedBy.RATE_LIMITED, "as fast as --rate allows"
        return LimitedBy.OK, f"the client was busy at most {busy:.0%} of the time"
    wall_s = load.cpu_s + load.queued_s + load.disk_s + load.network_s
    if load.disk_s > load.cpu_s + load.queued_s:
        return LimitedBy.DISK_LIMITED, f"{who} waited for the local disk {load.disk_s / wall_s:.0%} of the time"
    if load.cipher_s > 0.5 * load.cpu_s:
        return LimitedBy.CIPHER_LIMITED, f"{who} spent {load.cipher_s / wall_s:.0%} of the time in the cipher"
    used, queued = load.cpu_s / wall_s, load.queued_s / wall_s
    return LimitedBy.CLIENT_LIMITED, f"{who} computed {used:.0%} of the time and waited for a processor {queued:.0%}"


def _busy_share(stream: StreamResult) -> float:
    """The share of the time in which the stream's process did not wait for the network."""
    load = stream.load
    busy_s = load.cpu_s + load.queued_s + load.disk_s
    return busy_s / (busy_s + load.network_s) if busy_s + load.network_s > 0 else 0.0
