"""What limits a transfer, and what would help: without it a slow path would leave its user to guess."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from flightpath.units import format_bytes, format_rate
from probes.preflight.memory import models
from probes.preflight.memory.history import Past
from probes.preflight.records import Verdict
from probes.preflight.spec import MAX_STREAMS

_NEAR_LIMIT = 0.7
"""From this share of what a window allows, the window is the limit: a connection's ramp and pauses cost the rest."""

_LOSS_FACTOR = 2.5
"""Models of loss are right within a factor of about two (Padhye et al. 1998, figures 7 to 12)."""

_MOSTLY = 50.0
"""Per cent of the busy time that a sender was held, from which what held it is the limit."""

_ASTRAY = 0.5
"""Per cent of packets out of order from which they are worth a word: a single loss makes a window of them."""

_QUEUED = 1.25
_FIND_LOSS = "find where packets are lost: a dirty fibre, a shallow queue, or other traffic"
_GENTLE = ("bbr",)


class Limit(StrEnum):
    """What a transfer's rate is most likely limited by."""

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
        limit: which.
        why: in a sentence, with the figures that show it.
        advice: what would help, with numbers; empty if nothing at this end would.
        figures: what was computed, by name: rates in bit/s, sizes in B, round trips in ms, loss as a share.
    """

    limit: Limit
    why: str
    advice: tuple[str, ...]
    figures: Mapping[str, float]


def diagnose(past: Past, best_bps: float, congestion_control: str = "") -> Diagnosis:
    """What limited a measurement, by what it saw of the path.

    In this order: what the probe itself saw (client, cipher, disk, a rate that was asked for); a window, if the rate is
    near what it carries in a round trip (Equation 2 of the Net-Preflight paper), or if the sending kernel says that it
    was held; loss, if the rate is about what a connection gets with it (Padhye's model for Reno, RFC 9438 for CUBIC and
    its like; not for BBR); otherwise the bottleneck, if a queue shows in the round trip or the path gave as much as
    ever. In a download the far end sends, and its losses and its buffer cannot be seen from here.

    Args:
        past: the measurement.
        best_bps: what should be possible: the best that the path gave, or the rate that is needed.
        congestion_control: the algorithm of the sender, where it is this end.
    """
    if not past.measures_path or past.goodput_bps is None:
        return _of_probe(past)
    figures = _figures(past, best_bps, congestion_control)
    return (
        _of_rate(past, figures)
        or _of_window(past, figures)
        or _of_loss(past, figures, congestion_control)
        or _of_bottleneck(past, figures)
    )


def _figures(past: Past, best_bps: float, congestion_control: str) -> dict[str, float]:
    known, goodput = past.metrics, past.goodput_bps or 0.0
    figures = {"goodput": goodput, "best": max(best_bps, goodput), "connections": known.get("connections", 1.0) or 1.0}
    figures["stream"] = goodput / figures["connections"]
    rtt_ms = known.get("rtt_min") or known.get("rtt")
    if not rtt_ms:
        return figures
    figures |= {"rtt": rtt_ms, "bdp": models.bdp_bytes(figures["best"], rtt_ms / 1000)}
    figures["in_flight"] = models.bdp_bytes(figures["stream"], rtt_ms / 1000)
    if window := _window_bytes(past.configuration):
        figures |= {"window": window, "window_limit": models.window_limit_bps(window, rtt_ms / 1000)}
    loss, mss = known.get("loss", 0.0) / 100, known.get("mss", 0.0)
    if loss > 0 and mss > 0:
        rtt_s = known.get("rtt", rtt_ms) / 1000
        figures |= {"loss": loss, "mathis": models.mathis_bps(mss, rtt_s, loss)}
        figures["padhye"] = models.padhye_bps(mss, rtt_s, loss)
        reno = congestion_control == "reno"
        figures["loss_limit"] = figures["padhye"] if reno else models.cubic_bps(mss, rtt_s, loss)
    return figures


def _window_bytes(configuration: Mapping[str, Any]) -> float | None:
    """The smallest window that was asked for, of one connection; Linux grants twice a buffer, and offers half of it."""
    names = ["send_buffer_bytes"] if configuration.get("direction") == "upload" else []
    names += [] if names else ["receive_buffer_bytes", "window_clamp_bytes", "ssh_window_bytes"]
    return min((value for name in names if (value := configuration.get(name))), default=None)


def _of_probe(past: Past) -> Diagnosis:
    why = "; ".join(past.reasons) or "nothing was transferred that could be timed"
    if past.verdict is Verdict.RATE_LIMITED:
        return Diagnosis(Limit.RATE, why, ("measure without --rate",), {})
    advice = {
        Verdict.CLIENT_LIMITED: "measure from a machine with more processor time, with more streams, or nothing else",
        Verdict.CIPHER_LIMITED: "choose a cipher that this processor does in hardware: aes128-gcm@openssh.com",
        Verdict.DISK_LIMITED: "measure the path with --to /dev/null; the transfer itself needs a faster disk",
    }.get(past.verdict)
    limit = Limit.CLIENT if advice else Limit.UNKNOWN
    return Diagnosis(limit, why, (advice,) if advice else (), {})


def _of_rate(past: Past, figures: dict[str, float]) -> Diagnosis | None:
    asked = past.configuration.get("rate_limit_bps")
    if not asked or figures["goodput"] < 0.9 * asked:
        return None
    return Diagnosis(Limit.RATE, f"--rate held it at {format_rate(asked)}", ("measure without --rate",), figures)


def _of_window(past: Past, figures: dict[str, float]) -> Diagnosis | None:
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


def _window_advice(past: Past, figures: dict[str, float]) -> tuple[str, ...]:
    if "rtt" not in figures:
        return ("use more streams",)
    # A window hides what lies beyond it: if nothing better was ever seen, say what twice as much takes.
    wanted = figures["best"] if figures["best"] > 1.1 * figures["goodput"] else 2 * figures["goodput"]
    needed = format_bytes(models.bdp_bytes(wanted, figures["rtt"] / 1000))
    streams = models.streams_for(wanted, figures["stream"])
    buffer = "--send-buffer" if past.direction == "upload" else "--receive-buffer"
    return (
        f"{format_rate(wanted)} over one connection needs a window of {needed} (the bandwidth-delay product): "
        f"{buffer} {needed} or larger, or none, so that the kernel chooses; both ends must allow it "
        f"(net.ipv4.tcp_rmem, tcp_wmem)",
        f"or {_streams(streams)} with windows as they are",
    )


def _of_loss(past: Past, figures: dict[str, float], congestion_control: str) -> Diagnosis | None:
    limit = figures.get("loss_limit")
    if not limit or congestion_control.startswith(_GENTLE) or figures["stream"] > _LOSS_FACTOR * limit:
        return None
    if figures["stream"] < limit / _LOSS_FACTOR:
        return None  # so little that this loss does not explain it
    why = (
        f"{figures['loss']:.2g} of the packets were sent again; at {past.metrics.get('rtt', figures['rtt']):.3g} ms "
        f"that leaves a connection about {format_rate(figures['mathis'])} (Mathis), "
        f"{format_rate(figures['padhye'])} with timeouts (Padhye) if it is Reno, "
        f"{format_rate(limit)} as modelled here; it got {format_rate(figures['stream'])}"
    )
    streams = models.streams_for(figures["best"], figures["stream"])
    advice = [
        _FIND_LOSS,
        "try --congestion-control bbr (where the kernel has it), which does not slow down at single losses",
    ]
    if figures["connections"] < streams <= MAX_STREAMS:
        advice.insert(1, f"{_streams(streams)} share the losses, and reach {format_rate(figures['best'])}")
    return Diagnosis(Limit.LOSS, why, tuple(advice), figures)


def _of_bottleneck(past: Past, figures: dict[str, float]) -> Diagnosis:
    rtt, least = past.metrics.get("rtt", 0.0), past.metrics.get("rtt_min", 0.0)
    advice = _capacity_advice(past, figures)
    if least > 0 and rtt >= _QUEUED * least:
        why = f"a queue stands on the way: the round trip grew from {least:.3g} to {rtt:.3g} ms under load"
        return Diagnosis(Limit.BOTTLENECK, why, advice, figures)
    if (astray := past.metrics.get("out_of_order", 0.0)) >= _ASTRAY:
        why = f"{astray:.2g} % of the packets came out of order without a queue: they are lost, or overtake each other"
        return Diagnosis(Limit.LOSS, why, (_FIND_LOSS, *advice), figures)
    if figures["goodput"] >= 0.9 * figures["best"]:
        why = f"{format_rate(figures['goodput'])} is about the best that this path ever gave"
        return Diagnosis(Limit.BOTTLENECK, why, advice, figures)
    unseen = "the far end (its disk, its send buffer, its losses)" if past.direction == "download" else "the far end"
    why = f"neither window nor loss nor a queue shows; what is left is other traffic, or {unseen}"
    return Diagnosis(Limit.UNKNOWN, why, advice, figures)


def _capacity_advice(past: Past, figures: dict[str, float]) -> tuple[str, ...]:
    if "bdp" not in figures:
        return ()
    advice = [
        f"{format_rate(figures['best'])} at {figures['rtt']:.3g} ms is a bandwidth-delay product of "
        f"{format_bytes(figures['bdp'])}: windows at both ends must be allowed that much "
        f"(one stream; now {format_bytes(figures['in_flight'])} are in flight on each connection)"
    ]
    if figures["best"] > 1.1 * figures["goodput"]:
        streams = min(MAX_STREAMS, max(2, models.streams_for(figures["best"], figures["stream"])))
        advice.append(f"measure with --streams {streams}: if that gives more, a limit of single connections is at work")
    return tuple(advice)


def _streams(count: int) -> str:
    more = "" if count <= MAX_STREAMS else f", more than the {MAX_STREAMS} that are possible,"
    return f"{count} streams{more}"
