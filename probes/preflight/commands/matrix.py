"""`preflight --from HOSTS --to HOSTS`: measures the paths between many sites, and compares each with its history."""

import dataclasses
import sys
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from pathlib import Path

from flightpath.command_line import ListOption
from flightpath.errors import FlightpathError, MeasurementFailed, UntrustworthyResult, UsageError
from flightpath.parsers import Parser
from flightpath.terminal import visible
from flightpath.units import format_span
from probes.preflight.commands.common import MAX_MEASUREMENTS, add_profile_option, count, of_profiles, show, sites
from probes.preflight.commands.matrix_output import MAX_DRAWN, Measured, as_json, draw, print_matrix
from probes.preflight.history.health import judged
from probes.preflight.history.past import PastMeasurement, load
from probes.preflight.history.profiles import Profile, add_profile, find_profile, load_profile
from probes.preflight.history.recording import SCENARIO, Recording, default_folder
from probes.preflight.measure.environment import environment
from probes.preflight.measure.matrix import HERE, Pair, measure_pairs
from probes.preflight.records import PreflightResult
from probes.preflight.spec import CONNECTION, FAR_END, OUTPUT, TRANSFER, Direction, TransferSpec, add_options
from probes.preflight.target import Target
from results.records import RunStatus
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
  preflight history dtn1/dtn2                            one of them; so do plot, and
  preflight check dtn1/dtn2 --upload --transfer 2TB

exit codes: 0 all measured, and none worse than before, 1 a path is worse or could not be measured, 2 usage, 3 this
machine lacks something, 4 a figure is not the path's (its machine was the limit), 130 interrupted
"""
_SETTINGS = {name: option for name, option in TRANSFER.items() if name not in ("direction", "sink")}


def parser() -> ArgumentParser:
    made = Parser(
        usage="%(prog)s --from HOST,... [--to HOST,...] [OPTION ...]",
        description=_DESCRIPTION,
        epilog=_EPILOG,
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
    drawn = "FILE.png, FILE.svg and FILE.html, in which each path leads to its history (in the store)"
    group.add_argument("--output", type=Path, metavar="FILE", help=drawn)
    add_store_options(group, default_folder(), "it is stored")
    group.add_argument("--forget", action="store_true", help="do not store it, and compare it with nothing")
    add_profile_option(group, "measure what this profile pins; if there is none of this name, add it")
    return made


def run(options: Namespace) -> int:
    texts = {name: vars(options).get(name) for name in TransferSpec.__dataclass_fields__}
    spec = TransferSpec.parse({**texts, "direction": options.direction or Direction.UPLOAD})
    sources, targets = sites(options.sources), sites(options.targets or options.sources)
    _pairs(sources, targets)  # before a profile of them is made
    location = None if options.forget else store_location(options)
    profile = _profile(options.profile, spec, (sources, targets), location) if options.profile else None
    if profile:
        named = [name for name, text in texts.items() if text is not None]
        spec = profile.keeping({name: getattr(spec, name) for name in named})
    how = {"command": options.command, "ssh_config": options.ssh_config, "at_once": options.at_once}
    results, files = measure_matrix((sources, targets), spec, location, profile, output=options.output, **how)
    reported = {"pairs": [as_json(each) for each in results], "files": files}
    show(options, reported, lambda console: print_matrix(console, results, sources, targets, files))
    return _exit_code(results)


def measure_matrix(
    ends: tuple[Sequence[str], Sequence[str]],
    spec: TransferSpec,
    location: StoreLocation | None,
    profile: Profile | None,
    *,
    command: str,
    ssh_config: Path | None,
    at_once: int | None,
    output: Path | None = None,
) -> tuple[list[Measured], list[str]]:
    """Measures, stores and draws the paths between sites, with progress on stderr; returns them and the files.

    Args:
        ends: where the probe runs, and what it measures the path to.
        location: location of the store; None: nothing is stored.
        output: the file to draw into, by default one in the store.
    """
    sources, targets = ends
    pairs = _pairs(sources, targets)
    measured, begun_s = {}, time.monotonic()
    how_many = at_once or len(pairs)
    for pair, result in measure_pairs(pairs, spec, command=command, ssh_config=ssh_config, at_once=how_many):
        measured[pair] = _stored(pair, result, spec, location, profile)
        left_s = (time.monotonic() - begun_s) / len(measured) * (len(pairs) - len(measured))
        left = f", {format_span(left_s)} left" if left_s else ""
        outcome = measured[pair].error or measured[pair].words
        line = f"[{len(measured)}/{len(pairs)}] {pair.source} to {pair.target}: {outcome}{left}"
        print(visible(line), file=sys.stderr)
    results = [measured[pair] for pair in pairs]
    target = output or (location.folder / "preflight-matrix" if location else None)
    return results, draw(results, sources, targets, target) if target else []


def _pairs(sources: Sequence[str], targets: Sequence[str]) -> list[Pair]:
    pairs = [Pair(a, b) for a in sources for b in targets if Pair(a, a).name != Pair(b, b).name]
    if not pairs:
        raise UsageError("--from and --to name one site, and no path", "name another one: --to HOST")
    return pairs


def _profile(
    name: str, spec: TransferSpec, ends: tuple[Sequence[str], Sequence[str]], location: StoreLocation | None
) -> Profile:
    """Returns the profile of a name, which is made if there is none; it must measure the same sites."""
    store, (sources, targets) = Store.open(of_profiles(location)), ends
    profile = find_profile(store, name) or add_profile(store, name, spec, sources=sources, targets=targets)
    if (set(profile.sources), set(profile.targets)) != (set(sources), set(targets)):
        raise UsageError(f"profile {name!r} measures other sites: {profile.words}", "choose another name for these")
    return profile


def _stored(
    pair: Pair,
    result: PreflightResult | FlightpathError,
    spec: TransferSpec,
    location: StoreLocation | None,
    profile: Profile | None,
) -> Measured:
    """Returns a measured pair, stored under its name, and compared with what is stored there."""
    about, name = {**environment(), "from": pair.source}, profile.name if profile else ""
    if isinstance(result, FlightpathError):
        if location and profile:
            user, _, host = pair.target.rpartition("@")
            target = Target(pair.name, user, host)
            Recording(location, target, spec, environment=about, profile=name).abort(RunStatus.FAILED, str(result))
        pasts = _pasts(pair, location, profile) if location else ()
        return Measured(pair, error=str(result), pasts=pasts[-MAX_DRAWN:])
    result = dataclasses.replace(result, target=dataclasses.replace(result.target, name=pair.name))
    if location is None:
        return Measured(pair, result)
    recording = Recording(location, result.target, result.spec, environment=about, profile=name)
    recording.finish(result)
    pasts = _pasts(pair, location, profile)
    return Measured(pair, result, run_id=recording.run_id, judgement=judged(pasts), pasts=pasts[-MAX_DRAWN:])


def _pasts(pair: Pair, location: StoreLocation, profile: Profile | None) -> list[PastMeasurement]:
    """Returns the newest measurements of a path; none if there are none."""
    store = Store.open(location)
    if profile:
        return load_profile(store, profile, pair.name, MAX_MEASUREMENTS)
    return load(store, pair.name, MAX_MEASUREMENTS) if pair.name in store.hosts(SCENARIO) else []


def _exit_code(results: Sequence[Measured]) -> int:
    if any(each.error or each.is_worse for each in results):
        return MeasurementFailed.exit_code
    return 0 if all(each.is_trusted for each in results) else UntrustworthyResult.exit_code
