"""`make fuzz`: looks for inputs that crash what reads bytes from outside, or that it reads wrongly.

Those in C run with libFuzzer. An input that fails is kept in build/fuzz; --input reads it once more.
"""

import argparse
import os
import sys
from pathlib import Path

from flightpath.errors import MissingCapability
from tests.fuzz.running import KNOWN, fuzz_all, repeat, require_libfuzzer
from tests.fuzz.targets import VARIATIONS


def main() -> int:
    """Prints a line for each target; returns 1 if one of them failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=f"of {', '.join(KNOWN)} (all)")
    parser.add_argument("--seconds", type=int, default=60, metavar="N", help="for each target (60)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), metavar="N", help="targets at once (%(default)s)")
    parser.add_argument("--input", type=Path, metavar="FILE", help="only read this, which failed before")
    options = parser.parse_args()
    targets = options.targets or KNOWN
    if unknown := set(targets) - set(KNOWN):
        parser.error(f"unknown target {', '.join(sorted(unknown))}: known are {', '.join(KNOWN)}")
    if options.jobs < 1 or options.seconds < 1:
        parser.error("--jobs and --seconds are at least 1")
    if options.input and len(targets) != 1:
        parser.error("--input belongs to one target")
    try:
        if set(targets) & set(VARIATIONS):
            require_libfuzzer()
    except MissingCapability as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    return repeat(targets[0], options.input) if options.input else _fuzz(targets, options.seconds, options.jobs)


def _fuzz(targets: list[str], seconds: int, jobs: int) -> int:
    failed = False
    for tried in fuzz_all(targets, seconds, jobs):
        print(tried.line, flush=True)
        print(tried.log, end="", file=sys.stderr, flush=True)
        failed |= bool(tried.fault)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
