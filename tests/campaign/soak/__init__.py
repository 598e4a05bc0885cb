"""Soak: tunnel, relay, controller and dashboard at full load for long; memory stays flat, and counters add up."""

from collections.abc import Iterator

from tests.campaign.apart import outcomes_apart
from tests.campaign.outcome import Outcome

AMOUNTS = {"tunnel": (3, 300), "relay": (12, 3600), "controller": (5_000, 1_000_000), "dashboard": (8, 300)}
"""How much of each is the short form, and the full one: seconds of traffic, connections, seconds of a run."""


def run(short: bool) -> Iterator[Outcome]:
    """Runs each piece in a sandbox of its own."""
    for name, (little, much) in AMOUNTS.items():
        yield from outcomes_apart(f"soak: {name}", "tests.campaign.soak", name, little if short else much)
