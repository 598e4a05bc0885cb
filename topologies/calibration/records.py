"""Records of a calibration: links and paths as they were measured before a run."""

from dataclasses import dataclass

from topologies.links.changes import Direction

RATE_NOISE_SHARE, DELAY_NOISE_MS = 0.01, 0.3
"""A larger difference between what was measured and what was specified is more than noise (`experiments.fidelity`)."""

JITTERS = 4
"""Packets that are so many standard deviations apart practically never overtake each other by jitter."""


@dataclass(frozen=True)
class PathCalibration:
    """A path between two hosts, as it was measured before a run.

    Attributes:
        port: the interface's number on both hosts.
        rtt_ms: median of the pings; `expected_rtt_ms` is the sum of the links' delays, there and back.
        rtt_uncertainty_ms: by how much the links' jitter may change it.
        is_judged: False if a link on it has a trace, because a trace's pauses are not specified.
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
    """One direction of a link, as it was measured before a run and as it was specified.

    Attributes:
        direction: seen from the link's first end.
        delay_ms, delay_p99_ms: one way, of small frames, without their serialisation; None if it was not measured.
        expected_delay_ms: as specified.
        delay_uncertainty_ms: by how much the specification's jitter may change the median.
        rate_bps: of a train that kept the link busy; None if it was not measured.
        expected_rate_bps: as specified; None if it is not limited.
        rate_uncertainty: by which share jitter may change the rate.
        max_frame_bytes: the largest super-frame that the link takes; 0 is none, None unknown.
        asked: the specification in words.
        method: of the measurement.
        not_judged: what cannot be compared with this specification, and why.
        unchecked: what could not be compared because the machine was the limit, and why.
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
        """Measured less expected."""
        return None if self.delay_ms is None else self.delay_ms - self.expected_delay_ms

    @property
    def rate_error(self) -> float | None:
        """Measured less expected, as a share of expected."""
        if self.rate_bps is None or not self.expected_rate_bps:
            return None
        return self.rate_bps / self.expected_rate_bps - 1


@dataclass(frozen=True)
class Calibration:
    """The calibration of a testbed: each link, and paths through hosts and switches."""

    links: tuple[LinkCalibration, ...] = ()
    paths: tuple[PathCalibration, ...] = ()
