"""The congestion controls once more, in floating point and from the papers, to be driven by the ACKs that a flow saw.

A model is told of each ACK, its round trip, and when a loss was repaired. What its window does then is its own; after a
loss it starts from where the sender, and not the algorithm, has repaired it.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from probes.transfers.tcp_flow import OPEN, RECOVERY
from tests.support.congestion_simulation import Ack


class Model:
    """Reno; the others say where they differ."""

    diverges = False
    """Whether a difference between two windows grows by itself, so that the model must go on from the real window."""

    def __init__(self) -> None:
        self.cwnd, self.ssthresh = 10.0, math.inf
        self.base_rtt, self.max_rtt, self.rtt = math.inf, 0.0, 0.0
        self.now = self.last_loss = self._round_began = 0.0
        self._round_rtts: list[float] = []

    def acked(self, rtt: float, now: float) -> None:
        """The ACK of a segment came; times in seconds."""
        self._see(rtt, now)
        if round(now - rtt, 6) >= self._round_began:  # the first segment that was sent in it
            self.end_round(self._round_rtts)
            self._round_began, self._round_rtts = now, []
        self.cwnd += 1 if self.cwnd < self.ssthresh else self.increase()

    def lost(self, cwnd: int, now: float) -> None:
        """A loss was noticed at this window."""
        self.cwnd = float(cwnd)
        self.ssthresh = max(2.0, self.cwnd * self.kept())
        self.last_loss = now

    def repairing(self, rtt: float, now: float) -> None:
        """Reacts to an ACK as `acked` does, while a loss is repaired."""
        self._see(rtt, now)

    def repaired(self, segments: int, cwnd: int, ssthresh: int, now: float) -> None:
        """An ACK of so many segments ended the repair, and left this window and threshold."""
        self.cwnd, self.ssthresh, self.now = float(cwnd), float(ssthresh), now
        self._round_began, self._round_rtts = now, []

    def increase(self) -> float:
        """Returns the segments that an ACK adds in congestion avoidance."""
        return 1 / self.cwnd

    def kept(self) -> float:
        """The share of the window that a loss leaves."""
        return 0.5

    def end_round(self, rtts: list[float]) -> None:
        """A round trip has ended; these it has measured."""

    def _see(self, rtt: float, now: float) -> None:
        self.rtt, self.now = rtt, now
        self._round_rtts.append(rtt)
        self.base_rtt, self.max_rtt = min(self.base_rtt, rtt), max(self.max_rtt, rtt)


class Scalable(Model):
    def increase(self) -> float:
        return max(0.01, 1 / self.cwnd)

    def kept(self) -> float:
        return 7 / 8


class HighSpeed(Model):
    """RFC 3649, section 5: the formulas from which its table is made."""

    diverges = True

    @staticmethod
    def b(w: float) -> float:
        return 0.5 - 0.4 * (math.log(w) - math.log(38)) / (math.log(83000) - math.log(38)) if w > 38 else 0.5

    @classmethod
    def a(cls, w: float) -> float:
        return w**2 * 2 * cls.b(w) * 0.078 / w**1.2 / (2 - cls.b(w))

    def increase(self) -> float:
        return max(1.0, self.a(self.cwnd)) / self.cwnd

    def kept(self) -> float:
        return 0.5 if self.ssthresh == math.inf else 1 - self.b(self.cwnd)


class Vegas(Model):
    def increase(self) -> float:
        return 0.0

    def end_round(self, rtts: list[float]) -> None:
        rtt = min(rtts)
        queued = int(self.cwnd * (rtt - self.base_rtt) / self.base_rtt)  # in whole segments, as in Linux
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
        halves = math.ceil(2 * int(self.cwnd) * (self.rtt - self.base_rtt) / self.rtt)  # as Linux rounds them
        return halves >= 2 * 3

    def increase(self) -> float:
        return 0.5 / self.cwnd if self._is_congested() else 1 / self.cwnd

    def kept(self) -> float:
        return 0.5 if self._is_congested() else 0.8


class Illinois(Model):
    def __init__(self) -> None:
        super().__init__()
        self.alpha, self.beta, self._was_high, self._low, self._count = 10.0, 0.5, False, 0, 0

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

    def repaired(self, segments: int, cwnd: int, ssthresh: int, now: float) -> None:
        self.end_round(self._round_rtts)
        super().repaired(segments, cwnd, ssthresh, now)
        self._count = segments - 1

    def increase(self) -> float:
        """Whole segments, whenever alpha / cwnd of one have come together for them, at the alpha of that moment."""
        self._count += 1
        segments = int(self._count * self.alpha / self.cwnd)
        self._count = 0 if segments else self._count
        return segments

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

    def repaired(self, segments: int, cwnd: int, ssthresh: int, now: float) -> None:
        super().repaired(segments, cwnd, ssthresh, now)
        self.last_loss = now


class Westwood(Model):
    """Bandwidth in segments per second; the window that it gives stands when the loss has been repaired."""

    def __init__(self) -> None:
        super().__init__()
        self._since, self._once, self._bandwidth = 0.0, 0.0, 0.0
        self._count = -1  # the first ACK does not count

    def acked(self, rtt: float, now: float) -> None:
        self._estimate(rtt, now)
        super().acked(rtt, now)

    def repairing(self, rtt: float, now: float) -> None:
        self._estimate(rtt, now)
        super().repairing(rtt, now)
        self.ssthresh = max(2.0, self._bandwidth * self.base_rtt)

    def _estimate(self, rtt: float, now: float) -> None:
        if now - self._since > max(rtt, 0.05):
            sample = self._count / (now - self._since)
            if not self._bandwidth:
                self._once = self._bandwidth = sample
            else:
                self._once = (7 * self._once + sample) / 8
                self._bandwidth = (7 * self._bandwidth + self._once) / 8
            self._since, self._count = now, 0
        self._count += 1


class Bic(Model):
    diverges = True
    DELAYED_ACKS = 31 / 16  # Linux takes an ACK for so many segments at least, although it counts segments

    def __init__(self) -> None:
        super().__init__()
        self.last_max = 0.0

    def lost(self, cwnd: int, now: float) -> None:
        self.cwnd = float(cwnd)
        was, kept = self.last_max, 0.8 if self.cwnd > 14 else 0.5
        self.last_max = self.cwnd * (1 + 0.8) / 2 if self.cwnd < was else self.cwnd
        self.ssthresh = self.cwnd * kept

    def increase(self) -> float:
        """One segment for a whole number of ACKs, which is computed anew for each window."""
        return 1 / max(1, int(int(self.cwnd) / self.per_round() / self.DELAYED_ACKS))

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


MODELS = {model.__name__.lower(): model for model in Model.__subclasses__()}


@dataclass(frozen=True)
class Loss:
    """A loss: window before it, and the threshold that it left; time in seconds after the start."""

    at_s: float
    cwnd: int
    ssthresh: int
    predicted: float
    slow_start: bool


@dataclass(frozen=True)
class Round:
    """A round trip in which nothing was lost: window at its start, and how far it was from the model's at its end."""

    at_s: float
    cwnd: int
    off: float
    slow_start: bool


@dataclass
class Course:
    """A flow beside its model."""

    losses: list[Loss] = field(default_factory=list)
    rounds: list[Round] = field(default_factory=list)


def course(acks: Sequence[Ack], model: Model) -> Course:
    """Drives a model by the ACKs of a flow, and cuts both into round trips and losses.

    A round trip ends with the ACK of the first segment that was sent in it.
    """
    found = Course()
    begin: Ack | None = None  # of this round trip
    loss: Ack | None = None  # the last one before the loss that is being repaired
    before = acks[0]
    for ack in acks:
        now, rtt = ack.at_us / 1e6, ack.rtt_us / 1e6
        if ack.state == OPEN and loss is None:
            model.acked(rtt, now)
            if begin and ack.at_us - ack.rtt_us >= begin.at_us:
                found.rounds.append(_round(begin, ack, model))
                begin = None
            begin = begin or ack
        elif ack.state == RECOVERY:
            if loss is None:
                loss, begin = before, None
                model.lost(before.cwnd, now)
            model.repairing(rtt, now)
        elif ack.state == OPEN and loss:
            found.losses.append(
                Loss(loss.at_us / 1e6, loss.cwnd, ack.ssthresh, model.ssthresh, loss.cwnd < loss.ssthresh)
            )
            model.repaired(ack.una - before.una, ack.cwnd, ack.ssthresh, now)
            loss = None
        before = ack
    return found


def _round(begin: Ack, end: Ack, model: Model) -> Round:
    off = abs(end.cwnd - model.cwnd)
    if model.diverges and int(model.cwnd) != end.cwnd:
        model.cwnd = float(end.cwnd)
    return Round(begin.at_us / 1e6, begin.cwnd, off, begin.cwnd < begin.ssthresh)
