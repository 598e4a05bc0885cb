"""The pairs of paths of the transport league."""

from collections.abc import Mapping
from dataclasses import dataclass

from topologies.links.spec import LinkSpec
from topologies.links.texts import link_specs


@dataclass(frozen=True)
class PathPair:
    """Two paths; `events` happen on the first one, from the start of the load."""

    first: str
    second: str
    events: tuple[str, ...] = ()

    @property
    def links(self) -> list[LinkSpec]:
        """Specifications of both paths."""
        return [link for link in link_specs("paths", (self.first, self.second), 2) if link]


_EQUAL = "bw=50 delay=10ms queue=50ms"
_FAST, _SLOW = "bw=300 delay=10ms queue=50ms", "bw=80 delay=30ms queue=50ms"
_NEAR, _LONG = "bw=1000 delay=1ms queue=10ms", "bw=1000 delay=50ms queue=50ms"
_WIFI, _CELLULAR = "bw=40 delay=3ms jitter=2ms queue=100ms", "bw=20 delay=25ms queue=200ms"
_SATELLITE = "bw=50 delay=20ms queue=50ms"

PATHS: Mapping[str, PathPair] = {
    "equal": PathPair(_EQUAL, _EQUAL),
    "unequal": PathPair(_FAST, _SLOW),
    "swapped": PathPair(_SLOW, _FAST),
    "loss": PathPair(f"{_EQUAL} loss=0.1", f"{_EQUAL} loss=0.1"),
    "heavy_loss": PathPair(f"{_EQUAL} loss=1", f"{_EQUAL} loss=1"),
    "cut": PathPair(_EQUAL, _EQUAL, ("3s h1-eth0 down", "6s h1-eth0 up")),
    "near": PathPair(_NEAR, _NEAR),
    "long": PathPair(_LONG, _LONG),
    "wireless": PathPair(_WIFI, _CELLULAR, ("2s h1-eth0 bandwidth=8Mbit", "4s h1-eth0 bandwidth=40Mbit")),
    "satellite": PathPair(
        _SATELLITE,
        _CELLULAR,
        (
            *("2s h1-eth0 blackhole=on", "2.1s h1-eth0 blackhole=off delay=35ms"),
            *("5s h1-eth0 blackhole=on", "5.1s h1-eth0 blackhole=off delay=20ms"),
        ),
    ),
}
"""By name. `wireless`: Wi-Fi that becomes slow for some time, beside LTE; `satellite`: two handovers, beside LTE."""
