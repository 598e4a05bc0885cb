"""`make bench`: how fast and how exact the links are on this machine, beside a bare veth pair, in one run.

Absolute figures move with the machine; the ratio to the veth pair that was measured just before does not. Run it on a
machine that does nothing else.
"""

import argparse
import sys
from importlib import import_module

from tests.bench.figures import Figure, as_json, machine, show
from topologies.sandbox import sandbox

SECTIONS = (
    *("throughput", "exactness", "cost", "scale", "preflight", "tunnel", "results", "steering", "request", "virtual"),
    *("weeks", "growth", "virtual_growth", "updates"),
)
"""Modules with a function `measure(rounds)`, which yields messages about its progress, and lists of figures."""


def main(sections: list[str], rounds: int, as_object: bool) -> int:
    """Measures the sections, prints medians; returns 1 if something that is demanded does not hold."""
    figures: list[Figure] = []
    for name in sections:
        for progress in import_module(f"tests.bench.{name}").measure(rounds):
            if isinstance(progress, str):
                print(f"{name}: {progress}", file=sys.stderr)
            else:
                figures += progress
    if as_object:
        print(as_json(figures))
    else:
        show(figures)
        print(" · ".join(f"{key} {value}" for key, value in machine().items()))
    return 1 if any(figure.holds is False for figure in figures) else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("sections", nargs="*", metavar="SECTION", help=f"of {', '.join(SECTIONS)} (all)")
    parser.add_argument("--rounds", type=int, default=5, metavar="N", help="measure everything N times (default 5)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args()
    if unknown := set(options.sections) - set(SECTIONS):
        parser.error(f"unknown section {', '.join(unknown)}: known are {', '.join(SECTIONS)}")
    if options.rounds < 1:
        parser.error("--rounds: at least 1")
    chosen = options.sections or list(SECTIONS)
    sys.exit(sandbox.run_inside(lambda: main(chosen, options.rounds, options.json)))
