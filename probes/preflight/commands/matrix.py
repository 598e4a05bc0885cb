"""`preflight --from HOSTS --to HOSTS`: measures the paths between many sites, and compares each with its history."""

import argparse
import dataclasses
import sys
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from flightpath.command_line import ListOption
from flightpath.errors import FlightpathError, MeasurementFailed, UntrustworthyResult, UsageError
from flightpath.terminal import plain, print_table, visible
from flightpath.units import counted, format_rate, format_span
from probes.preflight.commands.common import MAX_MEASUREMENTS, add_profile_option, count, print_line, save_figure, show
from probes.preflight.history.past import comparable, load
from probes.preflight.history.profiles import Profile, add_profile, find_profile, load_profile
from probes.preflight.history.recording import Recording, default_folder
from probes.preflight.history.regression_check import Judgement, Standing, judge
from probes.preflight.measure.environment import environment
from probes.preflight.measure.matrix import HERE, Pair, measure_pairs
from probes.preflight.records import LimitedBy, PreflightResult
from probes.preflight.spec import CONNECTION, FAR_END, OUTPUT, TRANSFER, Direction, TransferSpec, add_options
from results.figures.matrix import matrix
from results.records import Verdict
from results.store.location import StoreLocation, add_store_options, store_location
from results.store.store import Store

_DESCRIPTION = f"""\
Measures the path between each pair of sites, as many at once as have no end in common, and says which paths are worse
than usual. The probe runs on the hosts of --from, where SSH starts it without a question; {HERE} is this machine.
Each path is stored here as SOURCE/TARGET."""

_EPILOG = """\
examples:
  preflight --from dtn1,dtn2,dtn3                        all six paths between them
  preflight --from localhost,dtn1 --to site-a,site-b --iterations 3 --output paths.png
  preflight history dtn1/dtn2 · preflight check dtn1/dtn2 --upload --transfer 2TB · preflight plot dtn1/dtn2

exit codes: 0 all measured, and none worse than before, 1 a path is worse or could not be measured, 2 usage, 3 this
machine lacks something, 4 a figure is not the path's (its machine was the limit), 130 interrupted
"""
_SETTINGS = {name: option for name, option in TRANSFER.items() if name not in ("direction", "sink")}
_LEGEND = (
    "goodput, and its change against what the path usually gives; * a machine was the limit, not the path; "
    "failed: not measured, for the reason below"
)
_COLOURS = {Standing.BELOW: "red", Standing.ABOVE: "green"}


@dataclass(frozen=True)
class Measured:
    """A path of the matrix.

    Attributes:
        result: None if it could not be measured.
        error: reason why the path could not be measured; empty otherwise.
        run_id: run in the store; None if it is not stored.
        judgement: comparison with the path's history; None if it was not measured, or its history is not read.
    """

    pair: Pair
    result: PreflightResult | None = None
    error: str = ""
    run_id: str | None = None
    judgement: Judgement | None = None

    @property
    def goodput_bps(self) -> float | None:
        return self.result.goodput_bps if self.result else None

    @property
    def is_trusted(self) -> bool:
        return self.result is not None and self.result.verdict in (LimitedBy.OK, LimitedBy.RATE_LIMITED)

    @property
    def is_worse(self) -> bool:
        """Whether the path gives less than it used to."""
        return self.judgement is not None and self.judgement.standing is Standing.BELOW

    @property
    def words(self) -> str:
        """The figure, and what is remarkable about it."""
        if self.goodput_bps is None:
            return "failed" if self.error else "-"
        change = self.judgement.change if self.judgement else None
        text = format_rate(self.goodput_bps) + ("" if self.is_trusted else "*")
        return text if change is None else f"{text} {100 * change:+.0f}%"


def parser() -> ArgumentParser:
    made = ArgumentParser(
        usage="%(prog)s --from HOST,... [--to HOST,...] [OPTION ...]",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument(
        "--from",
        dest="sources",
        action=ListOption,
        required=True,
        metavar="HOSTS",
        help="where the probe runs: A,B,...",
    )
    made.add_argument(
        "--to",
        dest="targets",
        action=ListOption,
        metavar="HOSTS",
        help="what it measures the path to (those of --from)",
    )
    made.add_argument(
        "--command", default="preflight", metavar="WORDS", help="that starts it there (preflight), as in a shell"
    )
    made.add_argument("-F", "--ssh-config", type=Path, metavar="FILE", help="for reaching the hosts of --from")
    made.add_argument(
        "--at-once",
        type=count,
        metavar="N",
        help="maximum of parallel measurements (as many as have no common end); 1 where paths share a bottleneck",
    )
    transfer = add_options(made, "transfer (data goes from the hosts of --from to those of --to)", _SETTINGS)
    transfer.add_argument(
        "--download",
        dest="direction",
        action="store_const",
        const=Direction.DOWNLOAD,
        help="fetch data instead: it goes from the hosts of --to to those of --from",
    )
    add_options(made, "connection (by default as the kernel chooses)", CONNECTION)
    add_options(made, "far end", FAR_END)
    group = add_options(made, "output", OUTPUT)
    group.add_argument("--json", action="store_true", help="print one JSON object: {pairs: [{from, to, ...}], files}")
    group.add_argument("--output", type=Path, metavar="FILE", help="draw it into FILE.png and FILE.svg (in the store)")
    add_store_options(group, default_folder(), "it is stored")
    group.add_argument("--forget", action="store_true", help="do not store it, and compare it with nothing")
    add_profile_option(group, "measure what this profile pins; if there is none of this name, add it")
    return made


def run(options: Namespace) -> int:
    texts = {name: vars(options).get(name) for name in TransferSpec.__dataclass_fields__}
    spec = TransferSpec.parse({**texts, "direction": options.direction or Direction.UPLOAD})
    sources, targets = _sites(options.sources), _sites(options.targets or options.sources)
    pairs = [Pair(a, b) for a in sources for b in targets if Pair(a, a).name != Pair(b, b).name]
    if not pairs:
        raise UsageError("--from and --to name one site, and no path", "name another one: --to HOST")
    location = None if options.forget else store_location(options)
    profile = _profile(options.profile, spec, (sources, targets), location) if options.profile else None
    if profile:
        named = [name for name, text in texts.items() if text is not None]
        spec = profile.keeping({name: getattr(spec, name) for name in named})
    measured, begun_s = {}, time.monotonic()
    how = {"command": options.command, "ssh_config": options.ssh_config, "at_once": options.at_once or len(pairs)}
    for pair, result in measure_pairs(pairs, spec, **how):
        measured[pair] = _stored(pair, result, location, profile)
        left_s = (time.monotonic() - begun_s) / len(measured) * (len(pairs) - len(measured))
        left = f", {format_span(left_s)} left" if left_s else ""
        outcome = measured[pair].error or measured[pair].words
        print(
            visible(f"[{len(measured)}/{len(pairs)}] {pair.source} to {pair.target}: {outcome}{left}"), file=sys.stderr
        )
    results = [measured[pair] for pair in pairs]
    folder = location.folder if location else None
    target = options.output or (folder / "preflight-matrix" if folder else None)
    files = _drawn(results, sources, targets, target) if target else []
    as_json = {"pairs": [_as_json(each) for each in results], "files": files}
    show(options, as_json, lambda console: _print(console, results, sources, targets, files))
    return _exit_code(results)


def _sites(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",")]
    if bad := [name for name in names if not name or name.startswith("-") or name.endswith("@")]:
        raise UsageError(f"{text!r} is no list of hosts: {bad[0]!r}", "accepted form: HOST,USER@HOST,...")
    return list(dict.fromkeys(names))


def _profile(
    name: str, spec: TransferSpec, sites: tuple[Sequence[str], Sequence[str]], location: StoreLocation | None
) -> Profile:
    """Returns the profile of a name, which is made if there is none; it must measure the same sites."""
    if location is None:
        raise UsageError("--profile: what is not stored belongs to no profile", "leave out --profile or --forget")
    store, (sources, targets) = Store.open(location), sites
    profile = find_profile(store, name) or add_profile(store, name, spec, sources=sources, targets=targets)
    if (set(profile.sources), set(profile.targets)) != (set(sources), set(targets)):
        raise UsageError(f"profile {name!r} measures other sites: {profile.words}", "choose another name for these")
    return profile


def _stored(
    pair: Pair, result: PreflightResult | FlightpathError, location: StoreLocation | None, profile: Profile | None
) -> Measured:
    """Returns a measured pair, stored under its name, and compared with what is stored there."""
    if isinstance(result, FlightpathError):
        return Measured(pair, error=str(result))
    result = dataclasses.replace(result, target=dataclasses.replace(result.target, name=pair.name))
    if location is None:
        return Measured(pair, result)
    about = {**environment(), "from": pair.source}
    name = profile.name if profile else ""
    recording = Recording(location, result.target, result.spec, environment=about, profile=name)
    recording.finish(result)
    store = Store.open(location, create=False)
    pasts = (
        load_profile(store, profile, pair.name, MAX_MEASUREMENTS)
        if profile
        else load(store, pair.name, MAX_MEASUREMENTS)
    )
    rates = [past.goodput_bps for past in comparable(pasts, pasts[-1]) if past.goodput_bps]
    trusted = pasts[-1].measures_path and bool(pasts[-1].goodputs_bps)
    return Measured(pair, result, run_id=recording.run_id, judgement=judge(rates) if trusted else None)


def _exit_code(results: Sequence[Measured]) -> int:
    if any(each.error or each.is_worse for each in results):
        return MeasurementFailed.exit_code
    return 0 if all(each.is_trusted for each in results) else UntrustworthyResult.exit_code


def _drawn(results: Sequence[Measured], sources: Sequence[str], targets: Sequence[str], target: Path) -> list[str]:
    rates = {each.pair: each.goodput_bps for each in results if each.goodput_bps}
    if not rates:
        return []
    trusted = all(each.is_trusted for each in results if each.result)
    figure = matrix(
        {(pair.source, pair.target): rate for pair, rate in rates.items()},
        {(each.pair.source, each.pair.target): visible(each.words) for each in results},
        sources,
        targets,
        title="Goodput between sites",
        badge=visible(_summary(results)),
        legend=f"{_LEGEND.partition('; failed')[0]}; the darker a cell, the slower",
        verdict=Verdict.FAITHFUL if trusted else Verdict.DEGRADED,
    )
    return save_figure(figure, target)


def _summary(results: Sequence[Measured]) -> str:
    counts = {
        "measured": sum(each.result is not None for each in results),
        "worse than usual": sum(each.is_worse for each in results),
        "failed": sum(bool(each.error) for each in results),
        "limited by a machine": sum(each.result is not None and not each.is_trusted for each in results),
    }
    parts = [f"{count} {what}" for what, count in counts.items() if count]
    return f"{counted(len(results), 'path')}: {', '.join(parts)}"


def _print(
    console: Console, results: Sequence[Measured], sources: Sequence[str], targets: Sequence[str], files: Sequence[str]
) -> None:
    by_pair: Mapping[Pair, Measured] = {each.pair: each for each in results}
    table = Table("from \\ to", box=None, pad_edge=False)
    for name in targets:
        table.add_column(plain(name))
    for a in sources:
        row = (by_pair.get(Pair(a, b)) for b in targets)
        table.add_row(plain(a), *(Text(visible(each.words), _colour(each)) if each else Text("") for each in row))
    print_table(console, table)
    print_line(console, _LEGEND, "italic")
    print_line(console, _summary(results))
    for each in results:
        if each.is_worse and each.judgement and each.judgement.usual_bps:
            usual = format_rate(each.judgement.usual_bps)
            print_line(console, f"{each.pair.source} to {each.pair.target}: worse than usual ({usual})", "red")
        if each.error:
            print_line(console, f"{each.pair.source} to {each.pair.target}: {each.error}", "red")
        elif not each.is_trusted and each.result:
            print_line(console, f"* {each.pair.source} to {each.pair.target}: {each.result.verdict}", "yellow")
    for file in files:
        console.print(plain(file), soft_wrap=True)


def _colour(each: Measured) -> str:
    if each.error or not each.is_trusted:
        return "red" if each.error else "yellow"
    return _COLOURS.get(each.judgement.standing, "") if each.judgement else ""


def _as_json(each: Measured) -> dict[str, Any]:
    judgement = each.judgement
    return {
        "from": each.pair.source,
        "to": each.pair.target,
        "run": each.run_id,
        "goodput_bps": each.goodput_bps,
        "verdict": each.result.verdict if each.result else None,
        "standing": judgement.standing if judgement else None,
        "usual_bps": judgement.usual_bps if judgement else None,
        "error": each.error or None,
    }
