"""`preflight service`: profiles measured by the system, with alerts and files for other displays."""

import contextlib
import getpass
import io
import os
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console

from flightpath.errors import FlightpathError, MissingCapability, UntrustworthyResult, UsageError
from flightpath.launcher import python_module
from flightpath.terminal import visible
from flightpath.units import format_bytes, parse_bytes, parse_span
from probes.preflight.commands.common import (
    add_far_end_options,
    added_settings,
    count,
    open_store,
    print_line,
    query_parser,
    show,
)
from probes.preflight.history.profiles import Profile, get_profile
from probes.preflight.history.recording import default_folder
from probes.preflight.service.measuring import Report, alone, beyond_limit, lines, planned_bytes, tell
from probes.preflight.service.units import Installation, Schedule, has_systemd, uninstall
from probes.preflight.spec import TRANSFER, add_options
from results.store.location import store_location
from results.store.store import Store

_DAILY_LIMIT = "100GB"
_EPILOG = """\
`install` writes a systemd service and timer of this user (with --system: of the system), and starts them; where there
is no systemd, a line of the user's crontab. Two measurements by the system never overlap. `run` is what they run: it
measures, writes the file for Prometheus, and runs the alert command when an alert begins or ends. An alert begins when
two measurements in a row were worse, failed, or were limited by this machine.

The alert command gets FLIGHTPATH_PROFILE, FLIGHTPATH_STATE (alert, recovered), FLIGHTPATH_VERDICT and
FLIGHTPATH_REASON in its environment, and JSON with all paths on stdin.

examples:
  preflight service install nersc --every 6h --textfile /var/lib/prometheus/node-exporter
  preflight service install nersc --every 6h --alert 'mail -s "$FLIGHTPATH_VERDICT" noc@example.org'
  sudo flightpath preflight service install nersc --every 1h --system --run-as me
  preflight service uninstall nersc
  systemctl --user list-timers 'flightpath-preflight-*'

exit codes of `run`: 0 healthy, or too few measurements to say, or not measured because of --daily-limit or another
measurement, 1 worse than before, 2 usage, 3 this machine lacks something, 4 not measured, not to be trusted, or the
alert command failed
"""
_PATHS = {"results", "ssh_config", "textfile", "ca"}
_ONLY_HERE = {"system", "run_as", "cron", "spread", "json", "accept_new_host_key", "batch"}
"""Options that `run` does not need."""


def parser() -> ArgumentParser:
    made = query_parser("service", "Let the system measure a profile.", _EPILOG)
    made.add_argument("action", choices=("install", "uninstall", "run", "show"), help="show: units, without installing")
    made.add_argument("name", metavar="PROFILE")
    when = made.add_argument_group("when, and how much")
    when.add_argument("--every", default="6h", metavar="TIME", help="a part of an hour or a day: 10min, 1h, 1d (6h)")
    when.add_argument("--spread", metavar="TIME", help="begin up to so much later (a quarter of it, at most 30min)")
    when.add_argument(
        "--daily-limit", default=_DAILY_LIMIT, metavar="SIZE", help=f"bytes within 24 hours ({_DAILY_LIMIT})"
    )
    tell = made.add_argument_group("who is told")
    tell.add_argument("--alert", metavar="COMMAND", help="run by a shell when an alert begins or ends")
    tell.add_argument("--textfile", type=Path, metavar="DIR", help="write Prometheus' text format there")
    how = made.add_argument_group("how it is installed")
    how.add_argument("--system", action="store_true", help="units of the system (as root), not of this user")
    how.add_argument("--run-as", metavar="USER", help="user of the system's units (the one who called sudo)")
    how.add_argument("--cron", action="store_true", help="a crontab's line even if there is systemd")
    files = {name: option for name, option in TRANSFER.items() if name in ("sink", "remote_folder")}
    add_options(made, "measurement (files that a profile does not bring)", files)
    made.add_argument("--remote-file", metavar="FILE", help="of the profile, which does not bring it")
    made.add_argument(
        "--command", default="preflight", metavar="WORDS", help="of a matrix: what starts preflight at its sites"
    )
    made.add_argument("--at-once", type=count, metavar="N", help="of a matrix: maximum of parallel measurements")
    add_far_end_options(made)
    return made


def run(options: Namespace) -> int:
    if options.action == "run":
        return _run(options)
    if options.system and not options.run_as:
        options.run_as = os.environ.get("SUDO_USER") or getpass.getuser()
    if options.run_as and not options.system:
        raise UsageError("--run-as: is for units of the system", "add --system")
    if options.action == "uninstall":
        removed = uninstall(options.name, system=options.system)
        if not removed:
            raise UsageError(f"nothing is installed for profile {options.name!r}", "units of the system: --system")
        show(options, {"removed": removed}, lambda console: _print(console, "removed", removed))
        return 0
    if options.system and options.results == default_folder():
        options.results = Path(f"~{options.run_as}/.local/share/flightpath").expanduser()
    profile = get_profile(open_store(options), options.name)
    every_s, spread_s = parse_span(options.every, "--every"), options.spread and parse_span(options.spread, "--spread")
    schedule = Schedule.parse(every_s, spread_s or None)
    _require_within_limit(profile, schedule, parse_bytes(options.daily_limit, "--daily-limit"))
    profile.keeping(added_settings(options))
    command = python_module("probes.preflight", "service", "run", profile.name, *_words(options))
    installation = Installation(profile.name, schedule, command, options.run_as or "")
    cron = options.cron or not has_systemd()
    if options.action == "show":
        texts = {"crontab": installation.cron_line()} if options.cron else installation.units()
        show(options, texts, lambda _: print("\n".join(f"# {name}\n{text}" for name, text in texts.items())))
        return 0
    if cron and options.system:
        raise MissingCapability("--system: this machine does not run systemd", "install as that user: a crontab's line")
    installed = installation.install(cron=cron)
    show(options, {"installed": installed}, lambda console: _print(console, "installed", installed))
    if not cron and not options.system:
        always = f"loginctl enable-linger {getpass.getuser()}"
        print(f"note: units of a user run while the user is logged in; always: {always}", file=sys.stderr)
    return 0


def _print(console: Console, done: str, what: list[str]) -> None:
    for each in what:
        print_line(console, f"{done}: {each}")


def _require_within_limit(profile: Profile, schedule: Schedule, limit_bytes: int) -> None:
    planned = planned_bytes(profile)
    if planned and planned * schedule.per_day > limit_bytes:
        raise UsageError(
            f"{schedule.per_day} measurements a day of {format_bytes(planned)} are more than --daily-limit "
            f"({format_bytes(limit_bytes)})",
            "measure less often (--every), or allow more (--daily-limit)",
        )


def _words(options: Namespace) -> Iterator[str]:
    """Yields the options that `run` needs, files with their whole path: it starts in another folder."""
    for action in parser()._actions:
        value = vars(options).get(action.dest)
        if not action.option_strings or action.dest in _ONLY_HERE or value in (None, [], False, action.default):
            continue
        for each in value if isinstance(value, list) else [value]:
            whole = Path(each).expanduser().absolute() if action.dest in {*_PATHS, "identity"} else each
            yield from (action.option_strings[-1], str(whole))


def _run(options: Namespace) -> int:
    """Measures a profile once, writes the file for Prometheus, and runs the alert command."""
    location = store_location(options)
    store = Store.open(location)
    profile = get_profile(store, options.name)
    limit_bytes = parse_bytes(options.daily_limit, "--daily-limit")
    with alone(location.folder, parse_span(options.every, "--every") / 2) as free:
        if not free or beyond_limit(store, profile, limit_bytes):
            why = f"it would move more than {format_bytes(limit_bytes)} within a day" if free else "another one goes on"
            print(f"{profile.name}: not measured: {why}", file=sys.stderr)
            return 0
        try:
            _measure(options, profile)
        except FlightpathError as error:
            if error.exit_code in (UsageError.exit_code, MissingCapability.exit_code):
                raise
            print(f"error: {visible(error, keep=chr(10))}", file=sys.stderr)
    report = Report.of(store, profile)
    show(options, report.as_json(), lambda _: print("\n".join(lines(report))))
    if options.textfile:
        from probes.preflight.service.metrics import write_textfile

        try:
            write_textfile(store, options.textfile)
        except OSError as error:
            raise UntrustworthyResult(f"--textfile: cannot write {options.textfile}: {error.strerror}") from error
    if options.alert:
        tell(options.alert, report)
    return report.exit_code


def _measure(options: Namespace, profile: Profile) -> None:
    spec, location = profile.keeping(added_settings(options)), store_location(options)
    if profile.sources:
        from probes.preflight.commands.matrix import measure_matrix

        how = {"command": options.command, "ssh_config": options.ssh_config, "at_once": options.at_once}
        with contextlib.redirect_stderr(io.StringIO()):  # cron would mail it
            measure_matrix((profile.sources, profile.targets), spec, location, profile, **how)
        return
    from probes.preflight.commands.measure import measure_and_store  # loads what only a measurement needs

    options.host, options.profile, options.batch = profile.host, profile.name, True
    measure_and_store(spec, location, options)
