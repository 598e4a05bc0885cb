"""Facts of a fidelity certificate, as they are stored, checked before anything is made of them.

Another version of Flightpath may have written them, or they may come from an untrusted export. A missing fact has a
default; an invalid one is left out and reported.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from results.records import Certificate

Direction = Literal["a_to_b", "b_to_a"]
Number = Annotated[float, Field(ge=-1e15, le=1e15)]
"""Number with bounds, so that sums and ratios are finite."""

Count = Annotated[int, Field(ge=0)]


class _Fact(BaseModel):
    model_config = ConfigDict(frozen=True)


class LinkSpecification(_Fact):
    """Configuration of a link in each direction, and its emulator; named by its interfaces (`h1-eth0:s1-eth1`)."""

    a_to_b: str = "-"
    b_to_a: str = "-"
    emulator: str = "-"


class LinkBeforeLoad(_Fact):
    """One direction of a link as measured before the load."""

    link: str
    direction: Direction
    asked: str | None = None
    rate_bps: Number | None = None
    expected_rate_bps: Number | None = None
    delay_ms: Number | None = None
    expected_delay_ms: Number | None = None
    max_frame_bytes: Count | None = None
    unchecked: list[str] | None = None
    not_judged: list[str] | None = None

    @property
    def rate_error(self) -> float | None:
        """Relative deviation of the measured rate from the expected one."""
        if self.rate_bps is None or not self.expected_rate_bps:
            return None
        return self.rate_bps / self.expected_rate_bps - 1


class Lateness(_Fact):
    """Percentiles of the lateness of packets that leave a link, in us."""

    p50: Number
    p99: Number
    max: Number


class LinkDuringLoad(_Fact):
    """Counters of one direction of a link, from the beginning to the end of the load."""

    packets: Count | None = None
    bytes: Count | None = None
    rate_bps: Number | None = None
    drops: dict[str, Count | None] | None = None
    lateness_us: Lateness | None = None
    lateness_histogram: list[Count] | None = None
    max_frame_bytes: Count | None = None
    cpu_percent: Number | None = None


class RoundTrip(_Fact):
    """A round trip between two hosts, over their interfaces of one number, before the load."""

    source: str
    target: str
    port: int | str
    rtt_ms: Number | None = None
    expected_rtt_ms: Number | None = None


class HappenedEvent(_Fact):
    """A change of a link, as text that begins with its time in seconds since the load began: `0.6s h1-s1 down`."""

    event: str
    happened_at_s: Number | None = None


class Facts(_Fact):
    """The facts that tables and drawings show, by their names in the certificate."""

    links: dict[str, LinkSpecification] = {}
    links_before_load: list[LinkBeforeLoad] = []
    links_during_load: dict[str, dict[Direction, LinkDuringLoad]] = {}
    paths_before_load: list[RoundTrip] = []
    congestion_control: dict[str, Any] = {}
    load_s: Number | None = None
    load_began_ns: Count | None = None
    events: list[HappenedEvent] = []
    idle_cpu_percent: list[Number] = []
    steal_percent: list[Number] = []


def read_facts(certificate: Certificate) -> tuple[Facts, list[str]]:
    """Returns a certificate's facts, and the problem of each fact that is left out."""
    evidence = {name: fact for name, fact in certificate.found.items() if fact is not None}
    try:
        return Facts.model_validate(evidence), []
    except ValidationError as error:
        problems = {
            str(problem["loc"][0]): f"{'.'.join(map(str, problem['loc']))}: {problem['msg'].lower()}"
            for problem in reversed(error.errors(include_url=False, include_input=False))
        }
        usable = {name: fact for name, fact in evidence.items() if name not in problems}
        return Facts.model_validate(usable), list(problems.values())
