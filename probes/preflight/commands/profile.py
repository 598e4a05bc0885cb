"""`preflight profile`: names for what is measured, so that the next measurement is like those before it."""

from argparse import ArgumentParser, Namespace
from dataclasses import asdict, replace
from datetime import UTC, datetime
from typing import Any

from rich.console import Console
from rich.table import Table

from flightpath.command_line import ListOption
from flightpath.errors import UsageError
from flightpath.terminal import plain, print_table
from flightpath.units import counted, format_span
from probes.preflight.commands.common import open_store, print_line, query_parser, show, sites, take_url
from probes.preflight.history.past import ends_of, load_one
from probes.preflight.history.profiles import (
    Profile,
    add_profile,
    adopt,
    get_profile,
    load_profile,
    profiles,
    remove_profile,
    repetition,
)
from probes.preflight.spec import CONNECTION, OUTPUT, TRANSFER, Direction, TransferSpec, add_options
from results.store.location import store_location
from results.store.store import Store

_EPILOG = """\
examples:
  preflight profile add nersc --host dtn01.nersc.example --size 2GB --streams 4
  preflight profile add mesh --from dtn1,dtn2,dtn3 --time 5s        the paths between them (they send)
  preflight profile add nersc --like RUN                            what a stored measurement measured
  preflight profile adopt                                           a profile of each history that has none
  preflight --profile nersc
  preflight check --profile nersc --measure
  preflight predict --profile nersc

Under a profile nothing but its settings is measured, and nothing else moves its baseline. Its history begins with the
unnamed measurements that measured the same before it was made.
"""
_PINNED = {**TRANSFER, **CONNECTION, **OUTPUT}


def parser() -> ArgumentParser:
    made = query_parser("profile", "Name and pin what is measured; list, show and remove such profiles.", _EPILOG)
    made.usage = "%(prog)s ACTION [NAME] [OPTION ...]"
    made.add_argument("action", choices=("add", "list", "show", "remove", "adopt"))
    made.add_argument("name", nargs="?", metavar="NAME", help="the profile; of adopt: only the histories of this host")
    where = made.add_argument_group("what `add` pins").add_mutually_exclusive_group()
    where.add_argument("--host", metavar="[USER@]HOST", help="the far end of one path, or its URL")
    where.add_argument("--from", dest="sources", action=ListOption, metavar="HOSTS", help="where probes run: A,B,...")
    where.add_argument("--like", metavar="RUN", help="host and settings of a stored measurement")
    made.add_argument("--to", dest="targets", action=ListOption, metavar="HOSTS", help="of --from: far ends (the same)")
    pinned = {name: option for name, option in _PINNED.items() if name != "sink"}
    add_options(made, "settings that `add` pins", pinned)
    made.set_defaults(remote_file=None)  # only a URL names one
    made.add_argument("--download", action="store_true", help="of --from: fetch data instead of sending it")
    return made


def run(options: Namespace) -> int:
    name: str = options.name
    if not name and options.action in ("add", "show", "remove"):
        raise UsageError(f"profile {options.action}: of which name?", f"preflight profile {options.action} NAME")
    if options.action == "add":
        added = _add(Store.open(store_location(options)), options)
        show(options, _as_json(added), lambda console: print_line(console, f"added {added.name}: {added.words}"))
        return 0
    store = open_store(options)
    if options.action == "remove":
        remove_profile(store, name)
        show(options, {"removed": name}, lambda console: print_line(console, f"removed {name}; measurements stay"))
        return 0
    if options.action == "show":
        chosen = [get_profile(store, name)]
    else:
        chosen = adopt(Store.open(store_location(options)), name) if options.action == "adopt" else profiles(store)
    known = [_as_json(each) | _history(store, each) for each in chosen]
    as_json = known[0] if options.action == "show" else {"profiles": known}
    show(options, as_json, lambda console: _print(console, chosen, known, options.action))
    return 0


def _add(store: Store, options: Namespace) -> Profile:
    take_url(options)
    given = {name: vars(options)[name] for name in (*_PINNED, "remote_file") if name != "sink"}
    if options.like:
        if any(value is not None for value in given.values()):
            raise UsageError("--like: the settings are those of the run", "leave out the other settings, or --like")
        past = load_one(store, options.like)
        settings = repetition(past.run_id, past.configuration)
        if settings is None:
            raise UsageError(f"{past.run_id} was measured by another version", "name the settings instead")
        spec = replace(settings.spec, **settings.left_out)
        if ends := ends_of(past.host):
            source, target = ends
            return add_profile(store, options.name, spec, sources=[source], targets=[target])
        return add_profile(store, options.name, spec, host=past.host)
    if options.sources:
        direction = Direction.DOWNLOAD if options.download else Direction.UPLOAD
        sources = sites(options.sources)
        targets = sites(options.targets) if options.targets else sources
        spec = TransferSpec.parse({**given, "direction": direction})
        return add_profile(store, options.name, spec, sources=sources, targets=targets)
    if not options.host or options.targets or options.download:
        raise UsageError("profile add: of which path?", "name its end (--host HOST), or sites (--from A,B [--to C])")
    return add_profile(store, options.name, TransferSpec.parse(given), host=options.host)


def _history(store: Store, profile: Profile) -> dict[str, Any]:
    pasts = [past for path in profile.paths for past in load_profile(store, profile, path, 1000)]
    return {"measurements": len(pasts), "newest": max((past.at.isoformat() for past in pasts), default=None)}


def _as_json(profile: Profile) -> dict[str, Any]:
    return {
        "profile": profile.name,
        "host": profile.host or None,
        "from": list(profile.sources),
        "to": list(profile.targets),
        "since": profile.since.isoformat(),
        "configuration": {**asdict(profile.settings.spec), **profile.settings.left_out},
    }


def _print(console: Console, chosen: list[Profile], known: list[dict[str, Any]], action: str) -> None:
    if not chosen:
        none = "every history has a profile, or is a single measurement" if action == "adopt" else "there is no profile"
        print_line(console, f"{none}; preflight profile --help shows how to add one")
        return
    table = Table("profile", "measures", "measurements", "newest", "since")
    for profile, facts in zip(chosen, known, strict=True):
        newest = datetime.fromisoformat(facts["newest"]) if facts["newest"] else None
        table.add_row(
            plain(profile.name),
            plain(profile.words),
            str(facts["measurements"]),
            f"{format_span((datetime.now(UTC) - newest).total_seconds())} ago" if newest else "-",
            f"{profile.since.astimezone():%Y-%m-%d}",
        )
    print_table(console, table)
    if action == "adopt":
        print_line(console, f"{counted(len(chosen), 'profile')} made of what was measured before")
