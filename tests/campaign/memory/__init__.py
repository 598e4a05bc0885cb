"""Memory limits around relay and tunnel: what takes too much ends with a reason, and nothing else does."""

from collections.abc import Iterator

from tests.campaign.apart import outcomes_apart
from tests.campaign.memory.group import memory_group
from tests.campaign.outcome import Outcome

CASES = ("relay", "tunnel")


def run(short: bool) -> Iterator[Outcome]:
    """Runs each case in a sandbox and a control group of its own."""
    for case in CASES:
        with memory_group(case) as group:
            if group is None:
                why = "nothing was tried: this user may not make memory control groups here"
                yield Outcome(f"memory: {case}", "0 limits", why)
                continue
            words = (case, group.folder, group.version, *(["--short"] if short else []))
            yield from outcomes_apart(f"memory: {case}", "tests.campaign.memory", *words)
