"""Settings of steering, from options or, for `osken-manager`, from environment variables.

FLIGHTPATH_POLICY        how paths are chosen, for example `widest`
FLIGHTPATH_NETWORK       file with the description of the network; without it the network is discovered
FLIGHTPATH_REST          where the view is served, separated by commas: 127.0.0.1:8653,unix:/path
FLIGHTPATH_PROBE_PERIOD  time between two probes of a link, for example `50ms`; `0s` sends none
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from controllers.addresses import DEFAULT_REST
from controllers.forwarding.link_monitor import ProbePlan
from controllers.subflows.policies import DEFAULT_POLICY, policy_named
from flightpath.errors import UsageError
from flightpath.units import parse_duration


@dataclass(frozen=True)
class Settings:
    """Settings of steering.

    Args:
        network: file with the description of the network; None: the network is discovered.
        rest: where the view is served: loopback addresses `127.0.0.1:8653`, or `unix:/path`.
        rate_per_s, burst: how many SYNs and SYN/ACKs of a host's port are handled, in the long run and at once. Only a
            fraction of what the controller can do, because others must wait meanwhile. For FINs and RSTs the limits are
            three times as high.
    """

    policy: str = DEFAULT_POLICY
    network: Path | None = None
    rest: tuple[str, ...] = (DEFAULT_REST,)
    probes: ProbePlan = field(default_factory=ProbePlan)
    rate_per_s: float = 100.0
    burst: int = 100

    def __post_init__(self) -> None:
        policy_named(self.policy)

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> "Settings":
        """Returns the settings in environment variables, and defaults for the others; may raise a UsageError."""
        policy, network, rest, period = (
            environment.get(f"FLIGHTPATH_{name}") for name in ("POLICY", "NETWORK", "REST", "PROBE_PERIOD")
        )
        return cls(
            policy=policy or DEFAULT_POLICY,
            network=Path(network) if network else None,
            rest=tuple(rest.split(",")) if rest else (DEFAULT_REST,),
            probes=probe_plan(period) if period else ProbePlan(),
        )


def probe_plan(period: str) -> ProbePlan:
    """Returns the plan with this time between two probes of a link, for example `100ms`; may raise a UsageError."""
    period_s = parse_duration(period, "probe period")
    if 0 < period_s < 0.01:
        raise UsageError(f"probe period: {period} is too short", "at least 10ms; 0s sends no probes")
    return ProbePlan(period_s)
