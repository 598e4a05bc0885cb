"""Changes of links during a recording, as the certificate of its cell has them."""

from flightpath.errors import UsageError
from flightpath.units import parse_duration
from results.recording.file import Recording
from results.records import CellResult
from results.summary.facts import read_facts


def link_changes(cell: CellResult, recording: Recording) -> list[tuple[float, str]]:
    """Returns when links were changed, in seconds since the recording began, and what was changed.

    Only in virtual time a certificate says when the load began, from which its events count.
    """
    facts, _ = read_facts(cell.certificate)
    began_ns = recording.description.get("began_monotonic_ns")
    if facts.load_began_ns is None or not isinstance(began_ns, int):
        return []
    found = []
    for each in facts.events:
        when, _, what = each.event.partition(" ")
        try:
            time_s = parse_duration(when, "event") + (facts.load_began_ns - began_ns) / 1e9
        except UsageError:  # another version may have written it
            continue
        if each.happened_at_s is not None and 0 <= time_s <= recording.duration_s:
            found.append((time_s, what))
    return sorted(found)
