"""What limited an iteration: without it a slow client's or disk's figure would be taken for the path's."""

from collections.abc import Sequence

from probes.preflight.records import StreamResult, Verdict
from probes.preflight.spec import TransferSpec

BUSY = 0.9
"""A process that has used or waited for a processor, or for its disk, this share of the time is the limit itself."""

_AT_RATE = 0.95


def judge(spec: TransferSpec, streams: Sequence[StreamResult], goodput_bps: float | None) -> tuple[Verdict, str]:
    """The verdict on an iteration, and the figures behind it in words.

    A stream's process either computes, waits for a processor, waits for a disk, or waits for the network. Where the
    first three leave less than a tenth of the time to the network, more would not have gone through however fast the
    path is. The slowest part then names the verdict: the disk, the cipher if it takes most of the processor time, or
    the client as a whole.

    Args:
        spec: what was asked for.
        streams: of the iteration.
        goodput_bps: of all of them.
    """
    if not streams or goodput_bps is None:
        return Verdict.OK, "too little came to tell"
    worst = max(streams, key=_own_share)
    load, wall, who = worst.load, _wall_s(worst), f"the process of stream {worst.number}"
    if _own_share(worst) < BUSY:
        if spec.rate_limit_bps is not None and goodput_bps >= _AT_RATE * spec.rate_limit_bps:
            return Verdict.RATE_LIMITED, "as fast as --rate allows"
        return Verdict.OK, f"the client was busy at most {_own_share(worst):.0%} of the time"
    if load.disk_s > load.cpu_s + load.queued_s:
        return Verdict.DISK_LIMITED, f"{who} waited for the local disk {load.disk_s / wall:.0%} of the time"
    if load.cipher_s > 0.5 * load.cpu_s:
        return Verdict.CIPHER_LIMITED, f"{who} spent {load.cipher_s / wall:.0%} of the time in the cipher"
    used, queued = load.cpu_s / wall, load.queued_s / wall
    return Verdict.CLIENT_LIMITED, f"{who} computed {used:.0%} of the time and waited for a processor {queued:.0%}"


def _wall_s(stream: StreamResult) -> float:
    load = stream.load
    return load.cpu_s + load.queued_s + load.disk_s + load.network_s


def _own_share(stream: StreamResult) -> float:
    """The share of the time in which the stream's process did not wait for the network."""
    wall = _wall_s(stream)
    return 1 - stream.load.network_s / wall if wall > 0 else 0.0
