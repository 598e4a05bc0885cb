"""Commands of tc(8) that realise a link's specification.

A direction of a link has two stages on two interfaces, because a link's queue comes before loss and delay, while
netem's own queue comes after them:

    htb, its leaf the queue   queues and serialises packets
    netem                     loses, delays and otherwise impairs them

The options of dualpi2 are set by `topologies.links.dualpi2`.
"""

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from flightpath.clock import Clock, clock_here
from flightpath.errors import UsageError
from topologies.links import dualpi2
from topologies.links.fields import Effect
from topologies.links.spec import FIELDS, LinkSpec

HTB, CLASS, QUEUE, NETEM = "1:", "1:1", "10:", "20:"
# A rate at which nothing queues. An unlimited link has all stages too, so that it can be limited later.
UNLIMITED_BPS = 10**12
# Burst after a pause, so that a late timer of the kernel costs no bandwidth. In virtual time, timers are late by a few
# readings of the clock only, and netem's own rate adds the serialisation time that htb omits after a pause.
_BURST_S, _EXACT_BURST_S = 1e-3, 2e-5
# Longest serialisation time of a GSO packet, as in the relay.
_GSO_PACKET_S, _EXACT_GSO_PACKET_S = 1e-3, 1e-4
_MIN_GSO_PACKET_BYTES, _MAX_GSO_PACKET_BYTES = 3400, 65536
_QUANTUM_BYTES = 60_000
_PIE_S = 0.015
"""Target delay and update interval of PIE (RFC 8033), the kernel's defaults."""
_MIN_FRAME_BYTES = 60
_MARGIN_PACKETS = 1000
_MAX_LIMIT_PACKETS = 2**31 - 1

MODULES = ("sch_netem", "sch_htb", "sch_codel", "sch_fq_codel", "sch_ingress", "cls_matchall", "act_mirred", "act_gact")
"""Modules to load if the kernel has these parts as modules."""

PROBE = (
    "qdisc add dev lo clsact",
    "filter add dev lo ingress protocol all pref 1 matchall action mirred egress mirror dev lo pipe action drop",
    f"qdisc add dev lo root handle {HTB} htb default 1",
    f"class add dev lo parent {HTB} classid {CLASS} htb rate 1mbit",
    f"qdisc add dev lo parent {CLASS} handle {QUEUE} codel",
    f"qdisc replace dev lo parent {CLASS} fq_codel",
    "qdisc replace dev lo root netem delay 1ms loss gemodel 1% 10% rate 1gbit",
)
"""Lines for `tc -batch` that fail if a part is missing; to be run in a separate network namespace."""


@dataclass(frozen=True)
class Stages:
    """The interfaces that packets of one direction pass, and the index of its gate.

    Attributes:
        entry: interface on which packets of the sending end arrive.
        rate: interface that queues and serialises them.
        landing: the other end of `rate`'s veth pair.
        exit: interface that loses and delays them; the other end of its pair is the receiving end.
        gate: index of the action that counts packets that enter, and can drop them.
    """

    entry: str
    rate: str
    landing: str
    exit: str
    gate: int


def refuse_impossible(spec: LinkSpec) -> None:
    """Raises UsageError, naming the field, for a specification that netem cannot emulate."""
    for name, field in FIELDS.items():
        if reason := field.netem_refusal(getattr(spec, name)):
            raise UsageError(f"{field.key}: {reason}", "leave it out, or use --emulator relay")


def refuse_change(before: LinkSpec, after: LinkSpec, kind: str) -> None:
    """Raises UsageError for a change that would drop queued packets, or that netem would ignore."""
    for name, field in FIELDS.items():
        if field.netem_fixed and getattr(after, name) != getattr(before, name):
            raise _unchangeable(field.key, field.netem_fixed)
    if kind == "pfifo" and after.queue_packets is None:
        raise _unchangeable("queue", "a change from packets to bytes would drop the queued packets")


def queue_kind(spec: LinkSpec) -> str:
    """Returns the queueing discipline of a link's queue.

    A bound in packets counts a GSO packet as one, so a link that accepts them counts the bytes of full-size packets.
    """
    if spec.discipline != "droptail":
        return spec.discipline
    return "pfifo" if spec.queue_packets is not None and gso_packet_bytes(spec, "bfifo") == 0 else "bfifo"


def gso_packet_bytes(spec: LinkSpec, kind: str) -> int:
    """Returns the size of the largest GSO packet (several segments in one) that may enter; 0: single segments only.

    Its serialisation may take 1 ms, in virtual time 0.1 ms. None may enter where segments are treated or counted
    separately, or where framing is charged: the kernel would charge it once for all of them.
    """
    if kind != "bfifo" or spec.effect >= Effect.PER_PACKET or spec.framing_bytes:
        return 0
    longest_s = _EXACT_GSO_PACKET_S if _is_exact() else _GSO_PACKET_S
    bound = min(int((spec.bandwidth_bps or UNLIMITED_BPS) * longest_s / 8), _MAX_GSO_PACKET_BYTES)
    return 0 if bound < _MIN_GSO_PACKET_BYTES else bound


def setup(stages: Stages, spec: LinkSpec) -> Iterator[str]:
    """Yields lines for `tc -batch` that set up one direction, whose interfaces already have their clsact.

    Packets that enter are copied and the originals dropped, because the copies belong to no socket. Otherwise a
    sender's TCP would see its own packets in the link's queue, as in a card's, and hold back (TCP small queues).
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


def change(
    stages: Stages, before: LinkSpec, spec: LinkSpec, kind: str, seed: Callable[[], int | None] = lambda: None
) -> Iterator[str]:
    """Yields lines for `tc -batch` that change the specification of one direction without losing packets.

    What stays as it is gets no line. `kind` is its queueing discipline; `seed` is called for a change of netem, and
    returns None if netem takes none.
    """
    if _rate(spec) != _rate(before):
        yield f"class change dev {stages.rate} parent {HTB} classid {CLASS} {_rate(spec)}"
    if kind != dualpi2.KIND and _queue(spec, kind) != _queue(before, kind):
        yield f"qdisc change dev {stages.rate} parent {CLASS} handle {QUEUE} {_queue(spec, kind)}"
    if _netem(spec) != _netem(before):
        yield netem(stages, spec, seed())


def netem(stages: Stages, spec: LinkSpec, seed: int | None) -> str:
    """Returns the line for `tc -batch` that sets all of netem, whose random numbers begin anew from a seed."""
    seeded = "" if seed is None else f" seed {seed}"
    return f"qdisc change dev {stages.exit} root handle {NETEM} {_netem(spec)}{seeded}"


def next_seed(seed: int) -> int:
    """Returns the seed that follows one."""
    return int(hashlib.sha256(b"%d" % seed).hexdigest()[:15], 16)


def gate(stages: Stages, is_open: bool) -> str:
    """Returns the line for `tc -batch` that opens or closes the gate of one direction."""
    return f"actions change action gact {'pass' if is_open else 'drop'} index {stages.gate}"


def _rate(spec: LinkSpec) -> str:
    """Returns htb's arguments. Its rate counts each GSO segment from its Ethernet header, and framing."""
    rate_bps = spec.bandwidth_bps or UNLIMITED_BPS
    overhead = f" overhead {spec.framing_bytes}" if spec.framing_bytes else ""
    if _is_exact():  # htb sends a packet whenever the burst is not used up, however long the packet is
        burst = max(1, round(rate_bps * _EXACT_BURST_S / 8))
    else:
        burst = max(spec.frame_bytes, round(rate_bps * _BURST_S / 8))
    return f"htb rate {rate_bps}bit burst {burst} cburst {burst} quantum {_QUANTUM_BYTES}{overhead}"


def _queue(spec: LinkSpec, kind: str) -> str:
    if kind == "pfifo":
        return f"pfifo limit {spec.limit_packets}"
    if kind == "bfifo":
        return f"bfifo limit {spec.queue_bytes}"
    if kind == dualpi2.KIND:
        return kind
    ecn = "ecn" if spec.ecn else "noecn"
    times = "target 5ms interval 100ms"
    if kind == "pie":
        target_s, tupdate_s = (_PIE_S if each is None else each for each in (spec.target_s, spec.tupdate_s))
        times = f"target {target_s * 1e6:.0f}us tupdate {tupdate_s * 1e6:.0f}us"
    return f"{kind} limit {spec.limit_packets} {times} {ecn}"


def _netem(spec: LinkSpec) -> str:
    """Returns netem's arguments. All settings are named, because a change keeps those that are not.

    With `rate`, netem computes a packet's departure from that of the packet before it. This keeps packets in order
    despite jitter and a decreasing delay, and such a high rate takes no time. In virtual time it is the link's rate.
    """
    # In virtual time htb and netem have one rate, and round times down to whole ns: neither is slower.
    rate_bps = spec.bandwidth_bps if _is_exact() and spec.bandwidth_bps else UNLIMITED_BPS
    words = [f"netem limit {_netem_limit(spec)}", *_delay(spec), _loss(spec)]
    words += [f"{field.netem} {_percent(getattr(spec, name))}" for name, field in FIELDS.items() if field.netem]
    overhead = f" {spec.framing_bytes}" if spec.framing_bytes else ""
    return " ".join([*words, f"rate {0 if spec.reordering else rate_bps}bit{overhead}"])


def _is_exact() -> bool:
    return clock_here() is Clock.VIRTUAL


def _delay(spec: LinkSpec) -> Iterator[str]:
    table = spec.jitter_s > 0 and spec.jitter_distribution != "uniform"
    # tc accepts no distribution without a delay, and less than 1 us counts as none.
    yield f"delay {max(spec.delay_s * 1e6, 1 if table else 0):.3f}us {spec.jitter_s * 1e6:.3f}us"
    if table:
        yield f"distribution {spec.jitter_distribution}"


def _loss(spec: LinkSpec) -> str:
    """Combines both kinds of loss in one model, because netem can have only one."""
    if spec.burst_loss is None:
        return f"loss random {_percent(spec.loss)}"
    burst = spec.burst_loss
    bad, good = (1 - (1 - share) * (1 - spec.loss) for share in (burst.loss_bad, burst.loss_good))
    return f"loss gemodel {' '.join(map(_percent, (burst.enter, burst.leave, bad, good)))}"


def _netem_limit(spec: LinkSpec) -> int:
    """Returns room for all packets that can be in propagation, at the smallest size, and for a whole queue."""
    longest_s = spec.delay_s + 5 * spec.jitter_s
    in_flight = (spec.bandwidth_bps or UNLIMITED_BPS) * longest_s / 8 / _MIN_FRAME_BYTES
    waiting = spec.queue_bytes // _MIN_FRAME_BYTES
    return min(round(in_flight * (1 + spec.duplication)) + waiting + _MARGIN_PACKETS, _MAX_LIMIT_PACKETS)


def _percent(share: float) -> str:
    return f"{share * 100:.9g}%"


def _unchangeable(field: str, why: str) -> UsageError:
    return UsageError(f"{field}: it cannot change while a netem link is up: {why}", "use --emulator relay")
