"""Records of a calibration: measurements of links and paths before a run."""

from dataclasses import dataclass

from topologies.links.changes import Direction

RATE_NOISE_SHARE, DELAY_NOISE_MS = 0.01, 0.3
"""Largest deviations from a specification that count as noise (`experiments.fidelity`)."""

JITTERS = 4
"""Distance, in standard deviations, at which packets practically never overtake each other by jitter."""


@dataclass(frozen=True)
class PathCalibration:
    """Measurement of a path between two hosts before a run.

    Attributes:
        port: number of the interface on both hosts.
        rtt_ms: median of the pings; `expected_rtt_ms` is the sum, there and back, of the links' delays and of the time
            that a ping takes at their rates.
        rtt_uncertainty_ms: possible change of the round trip by the links' jitter, and what ping(8) rounds.
        is_judged: False if a link of the path has a trace, because a trace's pauses are not specified.
    """

    source: str
    target: str
    port: int
    rtt_ms: float
    expected_rtt_ms: float
    rtt_uncertainty_ms: float = 0.0
    is_judged: bool = True


@dataclass(frozen=True)
class LinkCalibration:
    """Measurement of one direction of a link before a run, with its specification.

    Attributes:
        direction: direction as seen from the link's first end.
        delay_ms, delay_p99_ms: one-way delay of small frames without their serialisation; None if not measured.
        delay_uncertainty_ms: possible change of the median by the specified jitter.
        rate_bps: rate of a train that kept the link busy; None if not measured.
        expected_rate_bps: specified rate; None if it is not limited.
        rate_uncertainty: possible relative change of the rate by jitter.
        max_frame_bytes: size of the largest GSO packet that the link accepts; 0 is none, None unknown.
        asked: the specification in words.
        not_judged: quantities that cannot be compared with this specification, and why.
        unchecked: quantities that could not be compared because the machine was the limit, and why.
    """

    link: str
    direction: Direction
    delay_ms: float | None
    delay_p99_ms: float | None
    expected_delay_ms: float
    delay_uncertainty_ms: float = 0.0
    rate_bps: float | None = None
    expected_rate_bps: float | None = None
    rate_uncertainty: float = 0.0
    max_frame_bytes: int | None = None
    asked: str = ""
    method: str = ""
    not_judged: tuple[str, ...] = ()
    unchecked: tuple[str, ...] = ()

    @property
    def delay_error_ms(self) -> float | None:
        return None if self.delay_ms is None else self.delay_ms - self.expected_delay_ms

    @property
    def rate_error(self) -> float | None:
        """Measured minus expected rate, relative to the expected one."""
        if self.rate_bps is None or not self.expected_rate_bps:
            return None
        return self.rate_bps / self.expected_rate_bps - 1


@dataclass(frozen=True)
class Calibration:
    """Calibration of a testbed: each link, and paths through hosts and switches."""

    links: tuple[LinkCalibration, ...] = ()
    paths: tuple[PathCalibration, ...] = ()
