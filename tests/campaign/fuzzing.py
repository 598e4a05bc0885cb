"""Hostile input: ten minutes for each parser of bytes from outside (`tests/fuzz`)."""

import os
import sys
from collections.abc import Iterator

from flightpath.errors import MissingCapability
from tests.campaign.outcome import Outcome
from tests.fuzz.running import KNOWN, fuzz_all, require_libfuzzer

_SECONDS, _SHORT_SECONDS = 600, 1


def run(short: bool) -> Iterator[Outcome]:
    """A line for each target; without libFuzzer, those in C try as many inputs as the tests, always the same."""
    has_libfuzzer = True
    try:
        require_libfuzzer()
    except MissingCapability as error:
        print(f"warning: {error}", file=sys.stderr)
        has_libfuzzer = False
    seconds = _SHORT_SECONDS if short else _SECONDS
    for tried in fuzz_all(KNOWN, seconds, os.cpu_count() or 1, libfuzzer=has_libfuzzer):
        faults = (tried.fault,) if tried.fault else ()
        yield Outcome(f"fuzzing: {tried.target}", f"{tried.inputs} inputs", tried.figures, faults)
