"""`make campaign`: looks for faults that no single test would find, by doing harm for hours.

Each part prints lines: what it tried, what it saw, and how many faults it found; a fault is told below its line with
what repeats it. `--short` is the form for CI: about five minutes in all.
"""

import argparse
import signal
import subprocess
import sys
import time
from collections.abc import Sequence

from flightpath.command_line import exit_code_of
from tests.campaign import cluster, kills, soak
from tests.campaign.outcome import Part

PARTS: dict[str, Part] = {"kills": kills.run, "soak": soak.run, "cluster": cluster.run}

MAX_PARTS = 2
"""Default number of parts that run side by side: most of the time they wait."""


def main() -> int:
    """Runs the chosen parts; returns 1 if one of them found a fault, or could not be tried."""
    parser = argparse.ArgumentParser(prog="python -m tests.campaign", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)} (all)")
    parser.add_argument("--short", action="store_true", help="about five minutes in all")
    parser.add_argument("--jobs", type=int, default=MAX_PARTS, metavar="N", help=f"parts at once (default {MAX_PARTS})")
    options = parser.parse_args()
    if unknown := set(options.parts) - set(PARTS):
        parser.error(f"unknown part {', '.join(sorted(unknown))}: known are {', '.join(PARTS)}")
    if len(options.parts) == 1:
        return _one(options.parts[0], options.short)
    return _side_by_side(options.parts or list(PARTS), options.short, max(1, options.jobs))


def _one(name: str, short: bool) -> int:
    begun_s, faults = time.monotonic(), 0
    for outcome in PARTS[name](short):
        print(outcome.line, *(f"  {fault}" for fault in outcome.faults), sep="\n", flush=True)
        faults += len(outcome.faults)
    print(f"({name} took {time.monotonic() - begun_s:.0f} s)", file=sys.stderr, flush=True)
    return 1 if faults else 0


def _side_by_side(parts: Sequence[str], short: bool, jobs: int) -> int:
    """Runs each part in a process of its own, which a Ctrl-C at the terminal reaches too."""
    waiting, running, codes = list(parts), [], []
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                argv = [sys.executable, "-m", "tests.campaign", waiting.pop(0), *(["--short"] if short else [])]
                running.append(subprocess.Popen(argv))
            codes += [process.returncode for process in running if process.poll() is not None]
            running = [process for process in running if process.returncode is None]
            time.sleep(0.2)
    finally:
        for process in running:
            process.send_signal(signal.SIGINT)
            process.wait()
    return 1 if any(codes) else 0


if __name__ == "__main__":
    sys.exit(exit_code_of(main))
