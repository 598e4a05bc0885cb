"""Soak: tunnel, relay, controller and dashboard at full load for long; memory stays flat, and counters add up."""

import json
import subprocess
import sys
from collections.abc import Iterator

from flightpath.commands import end
from flightpath.project import PROJECT
from tests.campaign.outcome import Outcome

AMOUNTS = {"tunnel": (3, 300), "relay": (12, 3600), "controller": (5_000, 1_000_000), "dashboard": (8, 300)}
"""Sizes of the short form and of the full one: seconds of traffic, connections, seconds of a run."""


def run(short: bool) -> Iterator[Outcome]:
    """Runs each piece in a process and a sandbox of its own: whatever ends the campaign ends what they started."""
    for name, (little, much) in AMOUNTS.items():
        argv = [sys.executable, "-m", "tests.campaign.soak", name, str(little if short else much)]
        process = subprocess.Popen(argv, cwd=PROJECT, stdout=subprocess.PIPE, text=True)
        try:
            for line in process.stdout:
                yield Outcome(**json.loads(line))
            if code := process.wait():
                fault = f"it ended with exit code {code}: repeat it with `{' '.join(argv)}`"
                yield Outcome(f"soak: {name}", "not finished", faults=(fault,))
        finally:
            end(process, grace_s=20)
            process.stdout.close()
