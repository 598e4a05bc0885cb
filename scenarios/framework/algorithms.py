"""Which congestion controls a run can have: what a kernel lacks is named and left out, never replaced in silence."""

import sys
from collections.abc import Sequence

import congestion
from flightpath.errors import MissingCapability, UsageError


def obtainable(asked: Sequence[str]) -> tuple[str, ...]:
    """Those that this machine has or can load; each of the others is named on stderr with the reason.

    Raises:
        MissingCapability: none of them can be had.
    """
    kept, lacking = [], {}
    for name in asked:
        try:
            congestion.ensure(name)
        except MissingCapability as error:
            lacking[name] = error
        else:
            kept.append(name)
    for name, error in lacking.items():
        print(f"skipped: {name}: {error}", file=sys.stderr)
    if not kept:
        raise next(iter(lacking.values()), UsageError("no congestion control was asked for"))
    return tuple(kept)
