"""Memory limits around relay, tunnel and import: what takes too much ends with a reason, and nothing else does."""

import time
from collections.abc import Iterator

from flightpath.processes import memory_bytes
from tests.campaign.apart import outcomes_apart
from tests.campaign.memory.group import memory_group
from tests.campaign.outcome import Outcome

_BACK_WITHIN_S = 15
CASES = ("relay", "tunnel", "import")
MOST_GONE = 256 << 20
"""Of the machine's available memory after a case: more has not come back."""


def run(short: bool) -> Iterator[Outcome]:
    """Runs each case in a sandbox and a control group of its own."""
    for case in CASES:
        before = memory_bytes()["MemAvailable"]
        with memory_group(case) as group:
            if group is None:
                why = "nothing was tried: this user may not make memory control groups here"
                yield Outcome(f"memory: {case}", "0 limits", why)
                continue
            words = (case, group.folder, group.version, *(["--short"] if short else []))
            yield from outcomes_apart(f"memory: {case}", "tests.campaign.memory", *words)
        if (gone := _gone(before)) > MOST_GONE:
            fault = f"{gone >> 20} MiB of the machine's memory have not come back"
            yield Outcome(f"memory: {case}, afterwards", "1 look", faults=(fault,))


def _gone(before: int) -> int:
    """How much less memory is available than before, as soon as that is little, or after a while."""
    end_s = time.monotonic() + _BACK_WITHIN_S
    while (gone := before - memory_bytes()["MemAvailable"]) > MOST_GONE and time.monotonic() < end_s:
        time.sleep(0.2)
    return gone
