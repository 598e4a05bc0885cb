"""`preflight compare`: how the goodput of two measurements, hosts or times differs."""

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from flightpath.errors import MeasurementFailed, UsageError
from flightpath.terminal import plain, print_table
from probes.preflight.commands.common import MAX_MEASUREMENTS, open_store, print_line, query_parser, show
from probes.preflight.history.past import PastMeasurement, changes, describe, host_name, load, load_one
from probes.preflight.history.recording import SCENARIO
from results.comparison.compare import Compared, compare_samples
from results.pages.terminal import print_compared
from results.statistics.robust import share_above
from results.store.store import Store

_COMPARED = 200
"""Maximum number of each side's newest measurements to compare."""


def parser() -> ArgumentParser:
    made = query_parser("compare", "Say by how much two measurements, hosts or times differ.", selection=True)
    made.add_argument("first", metavar="A", help="a run, a host, or HOST@FROM..UNTIL")
    made.add_argument("second", metavar="B")
    return made


def run(options: Namespace) -> int:
    store = open_store(options)
    first, second = _side(store, options.first), _side(store, options.second)
    names = (options.first, options.second if options.second != options.first else f"{options.second} (again)")
    compared = compare_samples((names[0], _values(first)), (names[1], _values(second)), metric="goodput", unit="bit/s")
    show(
        options,
        _as_json(compared, first, second),
        lambda console: _print_comparison(console, compared, first, second),
    )
    return 0


def _side(store: Store, text: str) -> list[PastMeasurement]:
    """Returns the measurements of the path that one side of a comparison names."""
    host, at, time_range = text.rpartition("@")
    if at and ".." in time_range:
        pasts = load(store, host, time_range=time_range)
    elif host_name(text) in store.hosts(SCENARIO):
        pasts = load(store, text, MAX_MEASUREMENTS)
    else:
        pasts = [load_one(store, text)]
    usable = [past for past in pasts if past.measures_path and past.goodputs_bps]
    if not usable:
        raise UsageError(f"{text}: no measurement there measured the path")
    return usable[-_COMPARED:]


def _values(pasts: Sequence[PastMeasurement]) -> Sequence[float]:
    """Returns one value per measurement; the iterations of a single one."""
    return pasts[0].goodputs_bps if len(pasts) == 1 else [past.goodput_bps for past in pasts if past.goodput_bps]


def _as_json(compared: Compared, *sides: Sequence[PastMeasurement]) -> dict[str, Any]:
    """Returns the comparison as JSON; changes are shares of the first side's goodput."""
    effect, (before, after) = compared.comparisons[0].effect, sides
    if effect is None:
        raise MeasurementFailed("the goodputs cannot be compared: they are too small or too large to compute with")
    change = effect.change
    low, high = (None if bound is None else bound / 100 for bound in (change.low, change.high))
    return {
        "first": {"name": compared.before, "goodput_bps": effect.before, "runs": [past.run_id for past in before]},
        "second": {"name": compared.after, "goodput_bps": effect.after, "runs": [past.run_id for past in after]},
        "change": {"value": change.value / 100, "low": low, "high": high},
        "second_ahead": share_above(_values(before), _values(after)),
        "p_value": effect.p,
        "differs": changes(before[-1], after[-1]),
        "sentence": " ".join([*compared.sentences, compared.sentence]),
    }


def _print_comparison(console: Console, compared: Compared, *sides: Sequence[PastMeasurement]) -> None:
    table = Table("", "measurements", "from", "to", "configuration")
    for name, pasts in zip((compared.before, compared.after), sides, strict=True):
        kinds = list(dict.fromkeys(describe(past.configuration) for past in pasts))
        times = (f"{past.at.astimezone():%Y-%m-%d %H:%M}" for past in (pasts[0], pasts[-1]))
        kind = kinds[0] if len(kinds) == 1 else f"{kinds[-1]}, and {len(kinds) - 1} more"
        table.add_row(plain(name), str(len(pasts)), *times, plain(kind))
    print_table(console, table)
    for change in changes(sides[0][-1], sides[1][-1]):
        print_line(console, f"differs: {change}")
    if all(len(pasts) == 1 for pasts in sides):
        print_line(console, "The values are iterations: the interval is about these two moments only.")
    print_compared(console, compared)
