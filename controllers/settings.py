"""What can be set of steering: without it `osken-manager`, which passes no arguments on, could not set anything.

FLIGHTPATH_POLICY=widest FLIGHTPATH_PROBE_PERIOD=50ms osken-manager controllers/steering.py
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from controllers.forwarding.link_monitor import ProbePlan
from controllers.subflows.policies import DEFAULT_POLICY, policy_named
from flightpath.errors import UsageError
from flightpath.units import parse_duration

DEFAULT_REST = "127.0.0.1:8653"
ENVIRONMENT = {
    "policy": "FLIGHTPATH_POLICY",
    "network": "FLIGHTPATH_NETWORK",
    "rest": "FLIGHTPATH_REST",
    "probe_period": "FLIGHTPATH_PROBE_PERIOD",
}


@dataclass(frozen=True)
class Settings:
    """How steering works.

    Args:
        policy: name of one of `controllers.subflows.policies.POLICIES`.
        network: file with the network's description; None finds the network out.
        rest: where the view is served: loopback addresses `127.0.0.1:8653`, or `unix:/path`.
        probes: how links are watched.
        rate_per_s, burst: SYNs and SYN/ACKs that are looked at from a host's port, in the long run and at once: a
            fraction of what the controller can do, for others wait meanwhile. Of FINs and RSTs three times as many.

    Raises:
        UsageError: there is no such policy.
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
        """What the variables of `ENVIRONMENT` say, and else the defaults.

        Raises:
            UsageError: a value cannot be read.
        """
        told = {name: environment[variable] for name, variable in ENVIRONMENT.items() if environment.get(variable)}
        return cls(
            policy=told.get("policy", DEFAULT_POLICY),
            network=Path(told["network"]) if "network" in told else None,
            rest=tuple(told["rest"].split(",")) if "rest" in told else (DEFAULT_REST,),
            probes=ProbePlan(probe_period_s(told["probe_period"])) if "probe_period" in told else ProbePlan(),
        )


def probe_period_s(text: str) -> float:
    """The time between two probes of a link, from `100ms`.

    Raises:
        UsageError: cannot be read, or is too short to be kept.
    """
    period_s = parse_duration(text, "probe period")
    if 0 < period_s < 0.01:
        raise UsageError(f"probe period: {text} is too short", "at least 10ms; 0s sends no probes")
    return period_s
