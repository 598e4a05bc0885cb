"""Pieces of the campaign in processes and sandboxes of their own: whatever ends the campaign ends what they started."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import asdict

from flightpath import libc
from flightpath.commands import end
from flightpath.project import PROJECT
from tests.campaign.outcome import Outcome
from topologies.sandbox import sandbox


def outcomes_apart(name: str, module: str, *words: object) -> Iterator[Outcome]:
    """Runs `python -m MODULE WORDS`, which calls `tell`; yields what it tells, and one with a fault if it fails.

    Args:
        name: of the piece, for that fault.
        module, words: what to run.
    """
    argv = [sys.executable, "-m", module, *map(str, words)]
    process = subprocess.Popen(argv, cwd=PROJECT, stdout=subprocess.PIPE, text=True)
    try:
        for line in process.stdout:
            outcome = json.loads(line)
            yield Outcome(**{**outcome, "faults": tuple(outcome["faults"])})
        if code := process.wait():
            fault = f"it ended with exit code {code}: repeat it with `{' '.join(argv)}`"
            yield Outcome(name, "not finished", faults=(fault,))
    finally:
        end(process, grace_s=20)
        process.stdout.close()


def tell(outcomes: Iterable[Outcome]) -> int:
    """Prints outcomes for `outcomes_apart`, from inside a sandbox; returns the exit code."""
    libc.request_signal_at_parents_end(signal.SIGTERM)

    def main() -> int:
        for outcome in outcomes:
            print(json.dumps(asdict(outcome)), flush=True)
        return 0

    return sandbox.run_inside(main)
