"""Arguments, store and output of several commands."""

from __future__ import annotations

import argparse
import json
import os
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from flightpath import terminal
from flightpath.errors import UsageError
from flightpath.parsers import Parser
from flightpath.terminal import plain
from probes.preflight.history.recording import default_folder
from probes.preflight.spec import FAR_END, add_options, read_fields
from probes.preflight.url import is_url, split_url
from results.store.location import StoreLocation, add_store_options, store_location
from results.store.ownership import writing_to

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from probes.preflight.history.past import PastMeasurement
    from probes.preflight.history.profiles import Profile
    from results.store.store import Store

MAX_MEASUREMENTS = 300
"""Maximum number of a far end's newest measurements to read: enough for sixty under the same conditions."""

_SELECTION = """\
A measurement is named by its run, as `history` shows it, or an unambiguous beginning of that. A host may be followed
by a time range: dtn@2026-11-01..2026-11-08, dtn@7d.. (the last seven days), dtn@..7d (all before them).
"""


def query_parser(
    name: str, description: str, epilog: str = "", *, selection: bool = False, has_json: bool = True
) -> ArgumentParser:
    """Returns a parser for a command on stored measurements; `selection`: the epilog says how to name them."""
    parser = Parser(
        prog=f"preflight {name}",
        description=description,
        epilog=(f"{_SELECTION}\n" if selection else "") + (epilog or "exit codes: 0 done, 1 the store failed, 2 usage"),
    )
    add_store_options(parser, default_folder(), "measurements are stored")
    if has_json:
        parser.add_argument("--json", action="store_true", help="print one JSON object instead")
    return parser


def add_far_end_options(parser: ArgumentParser) -> None:
    """Adds the options that say how to reach the far end; `far_end` reads them."""
    group = add_options(parser, "far end", FAR_END)
    group.add_argument(
        "--ca", metavar="FILE", help="trust only these authorities' certificates, for https:// and s3://"
    )
    group.add_argument("-p", "--port", type=int, metavar="PORT", help="port of the SSH server")
    group.add_argument("-l", "--user", metavar="USER", help="user to log in as")
    group.add_argument(
        "-i", "--identity", action="append", default=[], metavar="FILE", help="try this private key first; repeatable"
    )
    group.add_argument("-F", "--ssh-config", metavar="FILE", help="read this instead of ~/.ssh/config and the system's")
    group.add_argument(
        "--accept-new-host-key",
        action="store_true",
        help="add the key of an unknown host to known_hosts; a changed key is always refused",
    )
    group.add_argument("--batch", action="store_true", help="never ask for a passphrase or password")


def add_profile_option(parser: Any, purpose: str) -> None:
    parser.add_argument("--profile", default="", metavar="NAME", help=purpose)


def selected(options: Namespace, store: Store, last: int) -> tuple[str, list[PastMeasurement]]:
    """Returns the far end that HOST or --profile names, and its newest measurements, those of the profile alone."""
    from probes.preflight.history.past import host_name, load
    from probes.preflight.history.profiles import get_profile, load_profile

    if not options.profile:
        if not options.host:
            raise UsageError("no path is named", "name its HOST, or a profile: --profile NAME")
        return host_name(options.host), load(store, options.host, last)
    profile = get_profile(store, options.profile)
    path = profile.path(options.host)
    if pasts := load_profile(store, profile, path, last):
        return path, pasts
    way = f"--from {','.join(profile.sources)}" if profile.sources else ""
    raise UsageError(
        f"nothing was measured of {path} under profile {profile.name!r} yet",
        " ".join(["measure it: preflight", *filter(None, [way]), f"--profile {profile.name}"]),
    )


def profile_of(options: Namespace, location: StoreLocation | None) -> Profile | None:
    """Returns the profile that a measurement's options name; None without one, or if it is to be made.

    If HOST is missing, it becomes the profile's.
    """
    if not options.profile:
        if not options.host:
            raise UsageError("no machine is named", "name its HOST, or a profile: --profile NAME")
        return None
    from probes.preflight.history.profiles import find_profile  # with the store, which few measurements need so early
    from results.store.store import Store

    profile = find_profile(Store.open(of_profiles(location)), options.profile)
    if profile is None:
        if not options.host:
            hint = "add it: preflight profile add NAME --host HOST"
            raise UsageError(f"there is no profile {options.profile!r}", hint)
        return None
    if profile.sources:
        ends = f"--from {','.join(profile.sources)} --to {','.join(profile.targets)}"
        hint = f"measure it: preflight {ends} --profile {profile.name}"
        raise UsageError(f"profile {profile.name!r} is a matrix", hint)
    profile.path(options.host)
    options.host = options.host or profile.host
    return profile


def take_url(options: Namespace) -> None:
    """Takes the file (or, if it ends with `/`, the folder) out of a HOST that is a URL: `https://HOST/FILE`."""
    if not options.host or not is_url(options.host):
        return
    name, path = split_url(options.host)
    if path:
        setting = "remote_folder" if path.endswith("/") else "remote_file"
        if getattr(options, setting) is not None:
            raise UsageError(f"{options.host} and {getattr(options, setting)!r} both name a file", "name one of them")
        setattr(options, setting, path)
    options.host = name


def added_settings(options: Namespace) -> dict[str, Any]:
    """Returns what a command line may add to settings that are measured again: files and folders, and time limits."""
    from probes.preflight.history.profiles import FILES_AND_FOLDERS

    names = (*FILES_AND_FOLDERS, "connect_limit_s", "stall_limit_s")
    return read_fields({name: getattr(options, name) for name in names})


def count(text: str) -> int:
    """Returns a number of measurements, for `argparse`."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of measurements, 1 or more")
    return min(int(text), 2**31)


def of_profiles(location: StoreLocation | None) -> StoreLocation:
    """Returns the store of a measurement under a profile; raises UsageError if there is to be none."""
    if location is None:
        raise UsageError("--profile: what is not stored belongs to no profile", "leave out --profile or --forget")
    return location


def sites(text: str) -> list[str]:
    """Returns the hosts of a list, for SSH."""
    names = [name.strip() for name in text.split(",")]
    if urls := [name for name in names if is_url(name)]:
        raise UsageError(f"{urls[0]}: a matrix is of hosts with SSH", f"measure it alone: preflight {urls[0]}")
    if bad := [name for name in names if not name or name.startswith("-") or name.endswith("@")]:
        raise UsageError(f"{text!r} is no list of hosts: {bad[0]!r}", "accepted form: HOST,USER@HOST,...")
    return list(dict.fromkeys(names))


def open_store(options: Namespace) -> Store:
    """Returns the store that a command reads."""
    from results.store.backend import NoStore  # slow to load, and a measurement that is not stored needs none of it
    from results.store.store import Store

    try:
        return Store.open(store_location(options), create=False)
    except NoStore as error:
        raise UsageError(
            f"no measurement is stored yet: {error.args[0]}",
            "measure first: preflight [USER@]HOST; or name the store: --results DIR or --store URL",
        ) from error


@contextmanager
def output() -> Iterator[Console]:
    """Yields the console for results; it does not matter if their reader, for example `head`, closes the pipe early."""
    try:
        yield Console()
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def show(options: Namespace, as_json: Any, as_text: Callable[[Console], None]) -> None:
    """Prints an answer: one JSON object if `--json` asks for it, text otherwise."""
    with output() as console:
        if options.json:
            print(json.dumps(as_json, indent=2))
        else:
            as_text(console)


def save_figure(figure: Figure, target: Path) -> list[str]:
    """Writes a figure as FILE.png and FILE.svg; returns their paths."""
    from results.figures import style  # matplotlib, which few commands need

    with writing_to(target):
        name = target.stem if target.suffix in (".png", ".svg") else target.name
        return [str(path) for path in style.save(figure, target.parent, name)]


def print_line(console: Console, text: str, style: str = "") -> None:
    """Prints a line that may contain text from outside; a terminal's width wraps it between words."""
    terminal.print_line(console, plain(text, style))
