"""`make campaign`: looks for faults that no single test would find, by doing harm for an hour and a half.

Each part prints a line: what it tried, what it saw, and how many faults it found; a fault is told below its line with
what repeats it. `--short` is the form for CI: about five minutes in all.
"""

import argparse
import sys
import time

from tests.campaign import clocks, fuzzing, kills, memory, soak, unreliable_stores
from tests.campaign.outcome import Outcome, Part

PARTS: dict[str, Part] = {
    "kills": kills.run,
    "clock": clocks.run,
    "stores": unreliable_stores.run,
    "memory": memory.run,
    "soak": soak.run,
    "fuzzing": fuzzing.run,
}


def main() -> int:
    """Runs the chosen parts one after the other; returns 1 if one of them found a fault."""
    parser = argparse.ArgumentParser(prog="python -m tests.campaign", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)} (all)")
    parser.add_argument("--short", action="store_true", help="about five minutes in all")
    options = parser.parse_args()
    if unknown := set(options.parts) - set(PARTS):
        parser.error(f"unknown part {', '.join(sorted(unknown))}: known are {', '.join(PARTS)}")
    outcomes: list[Outcome] = []
    for name in options.parts or PARTS:
        begun_s = time.monotonic()
        for outcome in PARTS[name](options.short):
            _show(outcome)
            outcomes.append(outcome)
        print(f"({name} took {time.monotonic() - begun_s:.0f} s)", file=sys.stderr, flush=True)
    return 1 if any(outcome.faults for outcome in outcomes) else 0


def _show(outcome: Outcome) -> None:
    print(outcome.line, *(f"  {fault}" for fault in outcome.faults), sep="\n", flush=True)


if __name__ == "__main__":
    sys.exit(main())
