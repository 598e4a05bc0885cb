"""Hostile input: ten minutes for each parser of bytes from outside (`tests/fuzz`)."""

import os
import sys
from collections.abc import Iterator

from flightpath.errors import MissingCapability
from tests.campaign.outcome import Outcome
from tests.fuzz.running import KNOWN, Tried, fuzz_all, require_libfuzzer

_SECONDS, _SHORT_SECONDS = 600, 1


def run(short: bool) -> Iterator[Outcome]:
    """A line for each target; without libFuzzer, those in C try as many inputs as the tests, always the same."""
    try:
        require_libfuzzer()
        has_libfuzzer = True
    except MissingCapability as error:
        print(f"warning: {error}", file=sys.stderr)
        has_libfuzzer = False
    seconds = _SHORT_SECONDS if short else _SECONDS
    for tried in fuzz_all(KNOWN, seconds, os.cpu_count() or 1, libfuzzer=has_libfuzzer):
        yield _outcome(tried)


def _outcome(tried: Tried) -> Outcome:
    faults = (tried.fault,) if tried.fault else ()
    return Outcome(f"fuzzing: {tried.target}", f"{tried.inputs} inputs", tried.figures, faults)
