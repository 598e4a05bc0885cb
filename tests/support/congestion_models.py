"""The congestion controls once more, in floating point and from the papers alone, to be driven by what a real flow saw.

A model is told how many segments each moment has acknowledged, at which round trip, and when a loss was repaired. What
its window does then is its own; after a loss it starts from where the kernel, and not the algorithm, has repaired it.
"""

import math
from dataclasses import dataclass, field

from probes.transfers.tcp_flow import CWR, DISORDER, LOSS, OPEN, RECOVERY, FlowTrace
from topologies.links.spec import LinkSpec


class Model:
    """Reno; the others say where they differ."""

    def __init__(self) -> None:
        self.cwnd, self.ssthresh = 10.0, math.inf
        self.base_rtt, self.max_rtt, self.rtt = math.inf, 0.0, 0.0
        self.now = self.last_loss = 0.0
        self._round_left = 10.0
        self._round_rtts: list[float] = []

    def acked(self, segments: int, rtt: float, now: float) -> None:
        """So many ACKs of a segment each came; times in seconds."""
        self._see(rtt, now)
        for _ in range(segments):
            self._round_rtts.append(rtt)
            self._round_left -= 1
            ended, self._round_left = self._round_left < 0, self._round_left if self._round_left >= 0 else self.cwnd
            if ended:
                self.end_round(self._round_rtts)
                self._round_rtts = []
            if self.cwnd < self.ssthresh:
                self.slow_start()
            else:
                self.cwnd += self.increase()

    def lost(self, now: float) -> None:
        """A loss was noticed."""
        self.ssthresh = max(2.0, self.cwnd * self.kept())
        self.last_loss = now

    def repairing(self, segments: int, rtt: float, now: float) -> None:
        """As `acked`, while a loss is repaired."""
        self._see(rtt, now)

    def repaired(self, cwnd: int, ssthresh: int, now: float) -> None:
        """The kernel has repaired a loss, with this result."""
        self.cwnd, self.ssthresh, self.now = float(cwnd), float(ssthresh), now
        self._round_left, self._round_rtts = self.cwnd, []

    def slow_start(self) -> None:
        self.cwnd += 1

    def increase(self) -> float:
        """What an ACK adds in congestion avoidance."""
        return 1 / self.cwnd

    def kept(self) -> float:
        """The share of the window that a loss leaves."""
        return 0.5

    def end_round(self, rtts: list[float]) -> None:
        """A round trip has ended; these it has measured."""

    def _see(self, rtt: float, now: float) -> None:
        self.rtt, self.now = rtt, now
        self.base_rtt, self.max_rtt = min(self.base_rtt, rtt), max(self.max_rtt, rtt)


class Scalable(Model):
    def increase(self) -> float:
        return max(0.01, 1 / self.cwnd)

    def kept(self) -> float:
        return 7 / 8


class HighSpeed(Model):
    """RFC 3649, section 5: the formulas from which its table is made."""

    @staticmethod
    def b(w: float) -> float:
        return 0.5 - 0.4 * (math.log(w) - math.log(38)) / (math.log(83000) - math.log(38)) if w > 38 else 0.5

    @classmethod
    def a(cls, w: float) -> float:
        return max(1.0, w**2 * 2 * cls.b(w) * 0.078 / w**1.2 / (2 - cls.b(w)))

    def increase(self) -> float:
        return self.a(self.cwnd) / self.cwnd

    def kept(self) -> float:
        return 0.5 if self.ssthresh == math.inf else 1 - self.b(self.cwnd)


class Vegas(Model):
    def increase(self) -> float:
        return 0.0

    def end_round(self, rtts: list[float]) -> None:
        rtt = min(rtts)
        queued = self.cwnd * (rtt - self.base_rtt) / self.base_rtt
        if self.cwnd < self.ssthresh:
            if queued > 1:
                self.cwnd = self.ssthresh = min(self.cwnd, self.cwnd * self.base_rtt / rtt + 1)
        elif queued > 4:
            self.cwnd -= 1
            self.ssthresh = min(self.ssthresh, self.cwnd)
        elif queued < 2:
            self.cwnd += 1


class Veno(Model):
    def _is_congested(self) -> bool:
        return self.cwnd * (self.rtt - self.base_rtt) / self.rtt >= 3

    def increase(self) -> float:
        return 0.5 / self.cwnd if self._is_congested() else 1 / self.cwnd

    def kept(self) -> float:
        return 0.5 if self._is_congested() else 0.8


class Illinois(Model):
    def __init__(self) -> None:
        super().__init__()
        self.alpha, self.beta, self._was_high, self._low = 10.0, 0.5, False, 0

    def end_round(self, rtts: list[float]) -> None:
        da, dm = sum(rtts) / len(rtts) - self.base_rtt, self.max_rtt - self.base_rtt
        d1, d2, d3 = dm / 100, dm / 10, 0.8 * dm
        if da > d1:
            k = (dm - d1) * 0.3 * 10 / (10 - 0.3)
            self.alpha, self._was_high = k / (k / 10 + da - d1), True
        elif not self._was_high or self._low + 1 >= 5:
            self.alpha, self._was_high, self._low = 10.0, False, 0
        else:
            self._low += 1
        self.beta = 1 / 8 if da <= d2 else 1 / 2 if da >= d3 else 1 / 8 + 3 / 8 * (da - d2) / (d3 - d2)

    def increase(self) -> float:
        return self.alpha / self.cwnd

    def kept(self) -> float:
        return 1 - self.beta


class HTcp(Model):
    """draft-leith-tcp-htcp, with adaptive back-off left to the flow: see `kept`."""

    def __init__(self) -> None:
        super().__init__()
        self._count, self._alpha = 0, 1.0

    def alpha(self) -> int:
        """In whole segments, as the authors' own program has it."""
        since = max(0.0, self.now - self.last_loss - 1)
        alpha = int(1 + 10 * since + (since / 2) ** 2)
        return max(1, int(alpha * min(max(self.base_rtt / 0.1, 0.1), 2.0)))

    def increase(self) -> float:
        """A segment more whenever alpha / cwnd of one have come together for it; then alpha is looked at again."""
        if self._count * self._alpha >= self.cwnd:
            self._count, self._alpha = 0, self.alpha()
            return 1.0
        self._count += 1
        return 0.0

    def repaired(self, cwnd: int, ssthresh: int, now: float) -> None:
        super().repaired(cwnd, ssthresh, now)
        self.last_loss = now


class Westwood(Model):
    """Bandwidth in segments per second; the window that it gives stands when the loss has been repaired."""

    def __init__(self) -> None:
        super().__init__()
        self._since, self._count, self._once, self._bandwidth = None, 0, 0.0, 0.0

    def acked(self, segments: int, rtt: float, now: float) -> None:
        self._estimate(segments, rtt, now)
        super().acked(segments, rtt, now)

    def repairing(self, segments: int, rtt: float, now: float) -> None:
        self._estimate(segments, rtt, now)
        super().repairing(segments, rtt, now)
        self.ssthresh = max(2.0, self._bandwidth * self.base_rtt)

    def _estimate(self, segments: int, rtt: float, now: float) -> None:
        self._since = now if self._since is None else self._since
        if now - self._since > max(rtt, 0.05):
            sample = self._count / (now - self._since)
            if not self._bandwidth:
                self._once = self._bandwidth = sample
            else:
                self._once = (7 * self._once + sample) / 8
                self._bandwidth = (7 * self._bandwidth + self._once) / 8
            self._since, self._count = now, 0
        self._count += segments


class Bic(Model):
    DELAYED_ACKS = 31 / 16  # Linux takes an ACK for so many segments at least, although it counts segments

    def __init__(self) -> None:
        super().__init__()
        self.last_max = 0.0

    def lost(self, now: float) -> None:
        was, kept = self.last_max, 0.8 if self.cwnd > 14 else 0.5
        self.last_max = self.cwnd * (1 + 0.8) / 2 if self.cwnd < was else self.cwnd
        self.ssthresh = self.cwnd * kept

    def increase(self) -> float:
        return self.per_round() * self.DELAYED_ACKS / self.cwnd

    def per_round(self) -> float:
        """Distances and steps in whole segments: a search ends at one."""
        distance = int(self.last_max) - int(self.cwnd)
        step = distance // 4
        if distance > 0:
            return 16.0 if step > 16 else step if step > 1 else 1 / 5
        if -distance < 4:
            return 1 / 5
        return -distance / 3 if -distance < 48 else 16.0


class Elastic(Model):
    def increase(self) -> float:
        return math.sqrt(self.max_rtt / self.rtt * self.cwnd) / self.cwnd


MODELS: dict[str, type[Model]] = {
    "bic": Bic,
    "elastic": Elastic,
    "highspeed": HighSpeed,
    "htcp": HTcp,
    "illinois": Illinois,
    "scalable": Scalable,
    "vegas": Vegas,
    "veno": Veno,
    "westwood": Westwood,
}


@dataclass(frozen=True)
class Loss:
    """A loss in a trace: window before it, and the threshold that it left; times in seconds after the start."""

    at_s: float
    repaired_s: float
    cwnd: int
    ssthresh: int
    predicted: float
    slow_start: bool


@dataclass(frozen=True)
class Round:
    """A round trip in which nothing was lost: how much the window grew, really and in the model."""

    at_s: float
    seconds: float
    rtt: float
    cwnd: int
    growth: float
    predicted: float
    slow_start: bool


@dataclass
class Course:
    """A trace beside its model."""

    losses: list[Loss] = field(default_factory=list)
    rounds: list[Round] = field(default_factory=list)


def course(trace: FlowTrace, model: Model, link: LinkSpec) -> Course:
    """Drives a model by a trace, and cuts both into round trips and losses.

    Round trips are the link's own, of what was in flight when a segment was sent: those that a busy machine measures
    have its pauses in them. Where a model has come to be a whole segment off, it goes on from the real window.

    Args:
        link: with a bandwidth and a queue, over which nothing else went.
    """
    told, times = trace.columns, [at_s - trace.times_s[0] for at_s in trace.times_s]
    rtts = _round_trips(trace, times, link)
    found = Course()
    lost_at: int | None = None  # the sample before the loss that is being repaired
    thresholds: set[int] = set()
    before: tuple[int, float] | None = None  # sample and model's window at which this round trip began
    for i in range(1, len(times)):
        segments = told["delivered"][i] - told["delivered"][i - 1]
        if told["ca_state"][i] in (CWR, RECOVERY, LOSS):
            if lost_at is None:
                lost_at, before, thresholds = i - 1, None, set()
                if model.cwnd >= model.ssthresh:
                    model.cwnd = float(told["cwnd"][i - 1])
                model.lost(times[i])
            thresholds.add(told["ssthresh"][i])
            model.repairing(segments, rtts[i], times[i])
        elif told["ca_state"][i] == DISORDER:
            before = None
        elif lost_at is not None:
            if len(thresholds) == 1:  # otherwise there were several, one after another
                found.losses.append(_loss(trace, times, lost_at, i, model.ssthresh))
            model.repaired(told["cwnd"][i], told["ssthresh"][i], times[i])
            lost_at = None
        elif told["ca_state"][i] == OPEN:
            model.acked(segments, rtts[i], times[i])
            if before and times[i] - times[before[0]] >= rtts[i]:
                found.rounds.append(_round(trace, times, before[0], i, rtts[i], model.cwnd - before[1]))
                before = None
                if abs(model.cwnd - told["cwnd"][i]) >= 1:
                    model.cwnd = float(told["cwnd"][i])
            before = before or (i, model.cwnd)
    return found


def _round_trips(trace: FlowTrace, times: list[float], link: LinkSpec) -> list[float]:
    """Of the segments that were acknowledged last at each sample, in seconds."""
    told, shortest = trace.columns, trace.min_rtt_ms / 1e3
    longest = shortest + link.queue_bytes * 8 / link.bandwidth_bps
    segment_s = link.frame_bytes * 8 / link.bandwidth_bps
    flights = map(min, told["unacked"], told["cwnd"])
    own = [min(max(shortest, flight * segment_s), longest) for flight in flights]
    rtts, sent = [], 0
    for i in range(len(times)):
        while sent < i and times[sent + 1] + own[sent + 1] <= times[i]:
            sent += 1
        rtts.append(own[sent])
    return rtts


def _loss(trace: FlowTrace, times: list[float], before: int, after: int, predicted: float) -> Loss:
    told = trace.columns
    return Loss(
        at_s=times[before],
        repaired_s=times[after],
        cwnd=told["cwnd"][before],
        ssthresh=told["ssthresh"][after],
        predicted=predicted,
        slow_start=_in_slow_start(trace, before),
    )


def _round(trace: FlowTrace, times: list[float], begin: int, end: int, rtt: float, predicted: float) -> Round:
    told = trace.columns
    return Round(
        at_s=times[begin],
        seconds=times[end] - times[begin],
        rtt=rtt,
        cwnd=told["cwnd"][begin],
        growth=told["cwnd"][end] - told["cwnd"][begin],
        predicted=predicted,
        slow_start=_in_slow_start(trace, begin),
    )


def _in_slow_start(trace: FlowTrace, sample: int) -> bool:
    return trace.columns["cwnd"][sample] < trace.columns["ssthresh"][sample]
