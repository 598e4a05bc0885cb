"""What a link specification is in the language of tc(8): without it the text would be built where it is run, untested.

A direction of a link has two stages, because the queue must come before the loss and the delay after it, while netem
has its own queue at its end:

    htb, its leaf the queue   waits and serialises, on one interface
    netem                     loses, duplicates and delays, on the next
"""

from collections.abc import Iterator
from dataclasses import dataclass

from flightpath.errors import UsageError
from flightpath.units import format_duration
from topologies.links.spec import BurstLoss, LinkSpec

HTB, CLASS, QUEUE, NETEM = "1:", "1:1", "10:", "20:"
# A rate that never makes anything wait: also a link without a limit has all stages, so that it can be given one.
UNLIMITED_BPS = 10**12
# What may leave at once after a pause, and what a sleep of the kernel's that ends late may cost no bandwidth. The
# relay lets as much pass in one piece.
_BURST_S = 1e-3
_SUPER_FRAME_MIN_BYTES, _SUPER_FRAME_MAX_BYTES = 3400, 65536
_QUANTUM_BYTES = 60_000
_SMALLEST_FRAME_BYTES = 60
_MARGIN_PACKETS = 1000
_MAX_LIMIT_PACKETS = 2**31 - 1
_MAX_JITTER_S = 2.0  # netem keeps it in 31 bits of nanoseconds
_ANOTHER_EMULATOR = "leave it out, or use --emulator relay"

MODULES = ("sch_netem", "sch_htb", "sch_codel", "sch_fq_codel", "sch_ingress", "cls_matchall", "act_mirred", "act_gact")
"""Where a kernel has them as modules."""

PROBE = (
    "qdisc add dev lo clsact",
    "filter add dev lo ingress protocol all pref 1 matchall action mirred egress mirror dev lo pipe action drop",
    f"qdisc add dev lo root handle {HTB} htb default 1",
    f"class add dev lo parent {HTB} classid {CLASS} htb rate 1mbit",
    f"qdisc add dev lo parent {CLASS} handle {QUEUE} codel",
    f"qdisc replace dev lo parent {CLASS} fq_codel",
    "qdisc replace dev lo root netem delay 1ms loss gemodel 1% 10% rate 1gbit",
)
"""Lines for `tc -batch` that fail, in a network namespace of their own, where a part is missing."""


@dataclass(frozen=True)
class Stages:
    """The interfaces that one direction passes, and the number of its gate.

    Attributes:
        entry: where packets of the sending end arrive.
        rate: where they wait and are serialised.
        landing: the other end of `rate`'s cable.
        exit: where they are lost, duplicated and delayed; its cable leads to the receiving end.
        gate: index of the action that counts what enters and can let it vanish.
    """

    entry: str
    rate: str
    landing: str
    exit: str
    gate: int


def refuse_impossible(spec: LinkSpec) -> None:
    """Raises UsageError, naming the field, for what netem cannot do."""
    if spec.trace is not None:
        raise UsageError("trace: the netem emulator has a fixed rate, and cannot follow a trace", _ANOTHER_EMULATOR)
    if spec.jitter_s > _MAX_JITTER_S:
        jitter, most = format_duration(spec.jitter_s), format_duration(_MAX_JITTER_S)
        raise UsageError(f"jitter: {jitter} is more than the netem emulator's {most}", _ANOTHER_EMULATOR)


def refuse_change(before: LinkSpec, after: LinkSpec, kind: str) -> None:
    """Raises UsageError for a change that would throw away what waits in the queue, or that netem would not notice."""
    if after.discipline != before.discipline:
        raise _unchangeable("discipline", "the packets that wait would be lost")
    if kind == "pfifo" and after.queue_packets is None:
        raise _unchangeable("queue", "from packets to bytes the packets that wait would be lost")
    if after.jitter_distribution != before.jitter_distribution:
        raise _unchangeable("jitter_distribution", "netem keeps the one that it has")


def queue_kind(spec: LinkSpec) -> str:
    """The queueing discipline that bounds what waits.

    A bound in packets counts a super-frame as one, so a link that lets them pass counts the bytes of full-size packets.
    """
    if spec.discipline != "droptail":
        return spec.discipline
    return "pfifo" if spec.queue_packets is not None and super_frame_bytes(spec, "bfifo") == 0 else "bfifo"


def super_frame_bytes(spec: LinkSpec, kind: str) -> int:
    """The largest super-frame (several segments in one piece) that may enter; 0: none, each segment by itself.

    It may keep the line busy for 1 ms. None where something must hit or count each segment by itself.
    """
    if kind != "bfifo":
        return 0
    one_by_one = spec.loss or spec.burst_loss or spec.duplication or spec.jitter_s
    bound = min(int((spec.bandwidth_bps or UNLIMITED_BPS) * _BURST_S / 8), _SUPER_FRAME_MAX_BYTES)
    return 0 if one_by_one or bound < _SUPER_FRAME_MIN_BYTES else bound


def setup(stages: Stages, spec: LinkSpec) -> Iterator[str]:
    """Lines for `tc -batch` that make one direction; each interface has its clsact already.

    What enters is copied and the original dropped at once: the copy belongs to no socket. Else a sender's TCP would
    see its own packets in the link's queue, as in a card's, and hold back (TCP small queues): no queue would build up.
    """
    everything = "protocol all pref 1 matchall"
    copy = f"action mirred egress mirror dev {stages.rate} pipe action drop"
    yield f"filter add dev {stages.entry} ingress {everything} {copy}"
    yield f"filter add dev {stages.rate} egress {everything} action gact pass index {stages.gate}"
    yield f"qdisc add dev {stages.rate} root handle {HTB} htb default 1"
    yield f"class add dev {stages.rate} parent {HTB} classid {CLASS} {_rate(spec)}"
    yield f"qdisc add dev {stages.rate} parent {CLASS} handle {QUEUE} {_queue(spec, queue_kind(spec))}"
    yield f"filter add dev {stages.landing} ingress {everything} action mirred egress redirect dev {stages.exit}"
    yield f"qdisc add dev {stages.exit} root handle {NETEM} {_netem(spec)}"


def change(stages: Stages, spec: LinkSpec, kind: str, seed: int | None) -> Iterator[str]:
    """Lines that give one direction another specification; what is inside stays there.

    Args:
        stages: where.
        spec: the new one.
        kind: the queueing discipline that the direction has.
        seed: None where netem takes none.
    """
    seeded = "" if seed is None else f" seed {seed}"
    yield f"class change dev {stages.rate} parent {HTB} classid {CLASS} {_rate(spec)}"
    yield f"qdisc change dev {stages.rate} parent {CLASS} handle {QUEUE} {_queue(spec, kind)}"
    yield f"qdisc change dev {stages.exit} root handle {NETEM} {_netem(spec)}{seeded}"


def gate(stages: Stages, is_open: bool) -> str:
    """The line that opens the gate of one direction or shuts it."""
    return f"actions change action gact {'pass' if is_open else 'drop'} index {stages.gate}"


def _rate(spec: LinkSpec) -> str:
    """Htb's rate counts from the Ethernet header, and each segment's headers of a super-frame."""
    rate_bps = spec.bandwidth_bps or UNLIMITED_BPS
    burst = max(spec.frame_bytes, round(rate_bps * _BURST_S / 8))
    return f"htb rate {rate_bps}bit burst {burst} cburst {burst} quantum {_QUANTUM_BYTES}"


def _queue(spec: LinkSpec, kind: str) -> str:
    packets = spec.queue_packets or max(1, spec.queue_bytes // spec.frame_bytes)
    if kind == "pfifo":
        return f"pfifo limit {packets}"
    if kind == "bfifo":
        return f"bfifo limit {spec.queue_bytes}"
    ecn = "ecn" if spec.ecn else "noecn"
    return f"{kind} limit {packets} target 5ms interval 100ms {ecn}"


def _netem(spec: LinkSpec) -> str:
    """All that happens after the rate.

    `rate` makes netem compute a packet's time of departure from that of the packet before it, and so keeps them in
    order whatever the jitter, and when the delay is shortened; as fast as this, it takes no time itself. It must be
    said also when it is 0: in a change netem keeps what is not mentioned.
    """
    words = [f"netem limit {_netem_limit(spec)}", *_delay(spec), _loss(spec)]
    words += [f"duplicate {_percent(spec.duplication)}", f"rate {0 if spec.reordering else UNLIMITED_BPS}bit"]
    return " ".join(words)


def _delay(spec: LinkSpec) -> Iterator[str]:
    table = spec.jitter_s > 0 and spec.jitter_distribution != "uniform"
    # Tc takes no distribution without a delay, and counts less than 1 us as none.
    yield f"delay {max(spec.delay_s * 1e6, 1 if table else 0):.3f}us {spec.jitter_s * 1e6:.3f}us"
    if table:
        yield f"distribution {spec.jitter_distribution}"


def _loss(spec: LinkSpec) -> str:
    """Both kinds of loss in one chain: netem has room for one."""
    if spec.burst_loss is None:
        return f"loss random {_percent(spec.loss)}"
    burst = _with_independent(spec.burst_loss, spec.loss)
    return f"loss gemodel {' '.join(map(_percent, (burst.enter, burst.leave, burst.loss_bad, burst.loss_good)))}"


def _with_independent(burst: BurstLoss, loss: float) -> BurstLoss:
    bad, good = (1 - (1 - share) * (1 - loss) for share in (burst.loss_bad, burst.loss_good))
    return BurstLoss(burst.enter, burst.leave, bad, good)


def _netem_limit(spec: LinkSpec) -> int:
    """Room for all that can be in propagation, be they the smallest packets, and for what may come with it at once."""
    longest_s = spec.delay_s + 5 * spec.jitter_s
    in_flight = (spec.bandwidth_bps or UNLIMITED_BPS) * longest_s / 8 / _SMALLEST_FRAME_BYTES
    waiting = spec.queue_bytes // _SMALLEST_FRAME_BYTES
    return min(round(in_flight * (1 + spec.duplication)) + waiting + _MARGIN_PACKETS, _MAX_LIMIT_PACKETS)


def _percent(share: float) -> str:
    return f"{share * 100:.9g}%"


def _unchangeable(field: str, why: str) -> UsageError:
    return UsageError(f"{field}: it cannot change while a netem link is up: {why}", "use --emulator relay")
