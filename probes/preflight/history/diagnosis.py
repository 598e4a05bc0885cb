"""The limit of a transfer and advice, from a measurement of its path."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from flightpath.units import format_bytes, format_rate
from probes.preflight.history import tcp_models
from probes.preflight.history.past import PastMeasurement
from probes.preflight.records import LimitedBy
from probes.preflight.spec import MAX_STREAMS

_NEAR_LIMIT = 0.7
"""Fraction of a window's rate from which the window is the limit: ramp and pauses account for the rest."""

_LOSS_FACTOR = 2.5
"""Tolerance of models of loss, which are right within a factor of about two (Padhye et al. 1998, figures 7 to 12)."""

_MOSTLY = 50.0
"""Percentage of a sender's busy time; what held it for longer is the limit."""

_OUT_OF_ORDER = 0.5
"""Percentage of packets out of order from which loss or reordering is likely; a single loss causes a window of them."""

_QUEUED = 1.25
_FIND_LOSS = "find where packets are lost: a dirty fibre, a shallow queue, or other traffic"
_ADVICE = {
    LimitedBy.RATE_LIMITED: "measure without --rate",
    LimitedBy.CLIENT_LIMITED: "measure with more streams, on a faster machine, or with nothing else running",
    LimitedBy.CIPHER_LIMITED: "choose a cipher that this processor has instructions for: aes128-gcm@openssh.com",
    LimitedBy.DISK_LIMITED: "measure the path with --to /dev/null; the transfer itself needs a faster disk",
}


class Limit(StrEnum):
    """The most likely limit of a transfer's rate."""

    CLIENT = "client"
    RATE = "rate limit"
    WINDOW = "window"
    LOSS = "loss"
    BOTTLENECK = "bottleneck"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Diagnosis:
    """The likely limit of a measurement.

    Attributes:
        why: a sentence with the figures that show it.
        advice: measures that would help, with numbers; may be empty.
        figures: computed figures by name: rates in bit/s, sizes in B, round trips in ms, loss as a share.
    """

    limit: Limit
    why: str
    advice: tuple[str, ...]
    figures: Mapping[str, float]


def diagnose(past: PastMeasurement, best_bps: float, congestion_control: str = "") -> Diagnosis:
    """Finds the likely limit of a measurement.

    In this order: what the probe itself noticed (client, cipher, disk, a rate limit); a window, if the rate is near
    what it carries per round trip (Equation 2 of the Net-Preflight paper), or if the sending kernel says that it was
    held; loss, if the rate is about what a connection gets with it (Padhye's model for Reno, RFC 9438 for CUBIC and
    similar ones; not for BBR); otherwise the bottleneck, if the round trip shows a queue or the path gave as much as
    ever. In a download the far end sends, and its losses and its send buffer cannot be seen from here.

    Args:
        best_bps: possible goodput: the best that the path ever gave, or the rate that is needed.
        congestion_control: congestion control of the sender, if that is this end.
    """
    if not past.measures_path or past.goodput_bps is None:
        return _by_probe(past)
    figures = _figures(past, best_bps, congestion_control)
    limit_bps = past.configuration.get("rate_limit_bps")
    if limit_bps and figures["goodput"] >= 0.9 * limit_bps:
        why = f"--rate held it at {format_rate(limit_bps)}"
        return Diagnosis(Limit.RATE, why, (_ADVICE[LimitedBy.RATE_LIMITED],), figures)
    return _window(past, figures) or _loss(past, figures, congestion_control) or _bottleneck(past, figures)


def _figures(past: PastMeasurement, best_bps: float, congestion_control: str) -> dict[str, float]:
    metrics, goodput = past.metrics, past.goodput_bps or 0.0
    connections = metrics.get("connections", 1.0) or 1.0
    stream, best = goodput / connections, max(best_bps, goodput)
    figures = {"goodput": goodput, "best": best, "connections": connections, "stream": stream}
    rtt_ms = metrics.get("rtt_min") or metrics.get("rtt")
    if not rtt_ms:
        return figures
    figures |= {"rtt": rtt_ms, "bdp": tcp_models.bdp_bytes(figures["best"], rtt_ms / 1000)}
    figures["in_flight"] = tcp_models.bdp_bytes(figures["stream"], rtt_ms / 1000)
    if window := _window_bytes(past.configuration):
        figures |= {"window": window, "window_limit": tcp_models.window_limit_bps(window, rtt_ms / 1000)}
    loss, mss = metrics.get("loss", 0.0) / 100, metrics.get("mss", 0.0)
    if loss > 0 and mss > 0:
        rtt_s = metrics.get("rtt", rtt_ms) / 1000
        figures |= {"loss": loss, "mathis": tcp_models.mathis_bps(mss, rtt_s, loss)}
        figures["padhye"] = tcp_models.padhye_bps(mss, rtt_s, loss)
        reno = congestion_control == "reno"
        figures["loss_limit"] = figures["padhye"] if reno else tcp_models.cubic_bps(mss, rtt_s, loss)
    return figures


def _window_bytes(configuration: Mapping[str, Any]) -> float | None:
    """Returns the smallest configured window of a connection; Linux grants twice a buffer, and offers half of it."""
    upload = configuration.get("direction") == "upload"
    names = ("send_buffer_bytes",) if upload else ("receive_buffer_bytes", "window_clamp_bytes", "ssh_window_bytes")
    return min((value for name in names if (value := configuration.get(name))), default=None)


def _by_probe(past: PastMeasurement) -> Diagnosis:
    why = "; ".join(past.reasons) or "nothing was transferred that could be timed"
    advice = (_ADVICE[past.verdict],) if past.verdict in _ADVICE else ()
    limit = Limit.RATE if past.verdict is LimitedBy.RATE_LIMITED else Limit.CLIENT if advice else Limit.UNKNOWN
    return Diagnosis(limit, why, advice, {})


def _window(past: PastMeasurement, figures: dict[str, float]) -> Diagnosis | None:
    limit = figures.get("window_limit")
    if limit and figures["stream"] >= _NEAR_LIMIT * limit:
        why = (
            f"a window of {format_bytes(figures['window'])} per round trip of {figures['rtt']:.3g} ms carries "
            f"{format_rate(limit)} (Equation 2), and a connection got {format_rate(figures['stream'])}"
        )
        return Diagnosis(Limit.WINDOW, why, _window_advice(past, figures), figures)
    for name, what in (("window_limited", "the far end's window"), ("send_buffer_limited", "this end's send buffer")):
        if past.metrics.get(name, 0.0) >= _MOSTLY:
            why = f"{what} held the sender {past.metrics[name]:.0f} % of the time"
            return Diagnosis(Limit.WINDOW, why, _window_advice(past, figures), figures)
    return None


def _window_advice(past: PastMeasurement, figures: dict[str, float]) -> tuple[str, ...]:
    if "rtt" not in figures:
        return ("use more streams",)
    # A window hides what the path could do; if nothing better was ever seen, the advice is for twice as much.
    wanted = figures["best"] if figures["best"] > 1.1 * figures["goodput"] else 2 * figures["goodput"]
    needed = format_bytes(tcp_models.bdp_bytes(wanted, figures["rtt"] / 1000))
    streams = tcp_models.streams_for(wanted, figures["stream"])
    buffer = "--send-buffer" if past.direction == "upload" else "--receive-buffer"
    return (
        f"{format_rate(wanted)} over one connection needs a window of {needed} (the bandwidth-delay product): "
        f"{buffer} {needed.replace(' ', '')} or larger, or none, so that the kernel chooses; both ends must allow it "
        f"(net.ipv4.tcp_rmem, tcp_wmem)",
        f"or {_streams(streams)} with windows as they are",
    )


def _loss(past: PastMeasurement, figures: dict[str, float], congestion_control: str) -> Diagnosis | None:
    limit = figures.get("loss_limit")
    if not limit or congestion_control.startswith("bbr"):
        return None
    if not limit / _LOSS_FACTOR <= figures["stream"] <= _LOSS_FACTOR * limit:
        return None  # this loss does not explain the rate
    why = (
        f"{figures['loss']:.2g} of the packets were sent again; at {past.metrics.get('rtt', figures['rtt']):.3g} ms "
        f"that leaves a connection about {format_rate(figures['mathis'])} (Mathis), "
        f"{format_rate(figures['padhye'])} with timeouts (Padhye) if it is Reno, "
        f"{format_rate(limit)} as modelled here; it got {format_rate(figures['stream'])}"
    )
    streams = tcp_models.streams_for(figures["best"], figures["stream"])
    advice = [
        _FIND_LOSS,
        "try --congestion-control bbr (if the kernel has it), which does not slow down at single losses",
    ]
    if figures["connections"] < streams <= MAX_STREAMS:
        advice.insert(1, f"{_streams(streams)} share the losses, and reach {format_rate(figures['best'])}")
    return Diagnosis(Limit.LOSS, why, tuple(advice), figures)


def _bottleneck(past: PastMeasurement, figures: dict[str, float]) -> Diagnosis:
    rtt, least = past.metrics.get("rtt", 0.0), past.metrics.get("rtt_min", 0.0)
    advice = _capacity_advice(figures)
    if least > 0 and rtt >= _QUEUED * least:
        why = f"there is a queue on the path: the round trip grew from {least:.3g} to {rtt:.3g} ms under load"
        return Diagnosis(Limit.BOTTLENECK, why, advice, figures)
    if (share := past.metrics.get("out_of_order", 0.0)) >= _OUT_OF_ORDER:
        why = f"{share:.2g} % of the packets came out of order without a queue: they are lost or reordered"
        return Diagnosis(Limit.LOSS, why, (_FIND_LOSS, *advice), figures)
    if figures["goodput"] >= 0.9 * figures["best"]:
        why = f"{format_rate(figures['goodput'])} is about the best that this path ever gave"
        return Diagnosis(Limit.BOTTLENECK, why, advice, figures)
    far_end = "the far end (its disk, its send buffer, its losses)" if past.direction == "download" else "the far end"
    why = f"there is no sign of a window limit, loss or a queue; other traffic may be the cause, or {far_end}"
    return Diagnosis(Limit.UNKNOWN, why, advice, figures)


def _capacity_advice(figures: dict[str, float]) -> tuple[str, ...]:
    if "bdp" not in figures:
        return ()
    advice = (
        f"{format_rate(figures['best'])} at {figures['rtt']:.3g} ms is a bandwidth-delay product of "
        f"{format_bytes(figures['bdp'])}: both ends must allow windows of that size "
        f"(one stream; now {format_bytes(figures['in_flight'])} are in flight on each connection)"
    )
    if figures["best"] <= 1.1 * figures["goodput"]:
        return (advice,)
    streams = min(MAX_STREAMS, max(2, tcp_models.streams_for(figures["best"], figures["stream"])))
    return advice, f"measure with --streams {streams}: if that gives more, something limits single connections"


def _streams(count: int) -> str:
    more = "" if count <= MAX_STREAMS else f", more than the {MAX_STREAMS} that are possible,"
    return f"{count} streams{more}"
