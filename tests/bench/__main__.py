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
    *("throughput", "exactness", "cost", "scale", "preflight", "tunnel", "steering", "request", "virtual", "weeks"),
    *("growth", "virtual_growth", "updates"),
)
"""Modules with a function `measure(number)`, which measures a round: it yields figures, and what it is about to do."""


def main(sections: list[str], rounds: int, as_object: bool) -> int:
    """Measures the sections, prints medians; returns 1 if something that is demanded does not hold."""
    found: dict[tuple[str, str], Figure] = {}
    for name in sections:
        for number in range(1, rounds + 1):
            for each in import_module(f"tests.bench.{name}").measure(number):
                if isinstance(each, str):
                    print(f"{name}: round {number}: {each}", file=sys.stderr)
                elif (earlier := found.setdefault((each.section, each.name), each)) is not each:
                    earlier.values.extend(each.values)
    figures = list(found.values())
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
