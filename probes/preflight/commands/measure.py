"""`preflight [USER@]HOST`: measures a path, shows the progress, and stores the measurement."""

import argparse
import getpass
import json
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from flightpath.errors import FlightpathError, UntrustworthyResult, UsageError
from flightpath.terminal import visible
from probes.preflight.commands.common import add_far_end_options, output, print_line, resolved_target
from probes.preflight.commands.live_line import LiveLine
from probes.preflight.history.recording import Recording, default_folder
from probes.preflight.json_reading import read_json
from probes.preflight.measure.environment import environment
from probes.preflight.records import LimitedBy, PreflightResult
from probes.preflight.spec import (
    CONNECTION,
    DEFAULT_TIME_LIMIT_S,
    OUTPUT,
    TRANSFER,
    Family,
    TransferSpec,
    add_options,
)
from probes.preflight.target import Resolved
from results.records import RunStatus
from results.store.location import StoreLocation, add_store_options, store_location

_DESCRIPTION = """\
Measures the path to a machine by transferring a file over SSH, as an ordinary user at both ends, with nothing to
install at the other. It reports the throughput of the transfer alone (without log-in), what the kernel saw meanwhile,
and whether the path was the limit or this machine; then the figure is not one of the path, and the exit code is 4.

Without REMOTE_FILE, the probe makes a file in a temporary folder at the far end and removes it afterwards. It uses the
agent, key files, known_hosts and ~/.ssh/config of ssh(1); if `ssh HOST` works without a question, so does this."""

_EPILOG = f"""\
sizes: 500MB, 2GB, 64KiB (kB is 1000 bytes, KiB 1024) · rates: 500Mbit, 10Gbit · times: 10s, 2min

examples:
  preflight dtn                                {DEFAULT_TIME_LIMIT_S:g} seconds of download; nothing is left there
  preflight me@dtn.example.org data/run7.tar   all of that file, to /dev/null
  preflight dtn --upload --size 2GB            the other direction
  preflight dtn --streams 8 --iterations 5     eight connections at the same time, five times
  preflight dtn run7.tar --to /scratch/run7.tar   to the disk: is that the limit?
  preflight dtn --receive-buffer 4MiB --congestion-control cubic
  preflight dtn --iperf3                       iperf3 for comparison, if its server runs there

stored measurements:
  preflight history HOST · preflight compare A B · preflight plot HOST · preflight check HOST --transfer 2TB
  (to measure a machine with such a name: preflight USER@history)

exit codes: 0 measured, 1 failed (the message says at what), 2 usage, 3 this machine lacks something,
4 measured, but this machine and not the path was the limit, 130 interrupted
"""
_FAMILIES = {"inet": Family.IPV4, "inet6": Family.IPV6}


def parser() -> ArgumentParser:
    """The command's arguments; `specification` reads those of the transfer."""
    made = ArgumentParser(
        prog="preflight",
        usage="preflight [USER@]HOST [REMOTE_FILE] [OPTION ...]\n       preflight history|compare|plot|check ...",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument("host", metavar="[USER@]HOST", help="a name, an address, or a Host of ~/.ssh/config")
    made.add_argument("remote_file", nargs="?", metavar="REMOTE_FILE", help="download this file instead of a new one")
    add_options(made, "transfer", TRANSFER)
    add_options(made, "connection (by default as the kernel chooses)", CONNECTION)
    add_far_end_options(made)
    group = add_options(made, "output", OUTPUT)
    group.add_argument(
        "--json", action="store_true", help="print one JSON object: {run, goodput_bps, verdict, measurement}"
    )
    add_store_options(group, default_folder(), "it is stored")
    group.add_argument("--forget", action="store_true", help="do not store it")
    group.add_argument(
        "--spec", metavar="FILE", help="read all options of the transfer from JSON (a measurement's `spec`); - is stdin"
    )
    return made


def specification(options: Namespace) -> TransferSpec:
    """The transfer that a command line asks for.

    Raises:
        UsageError: an option cannot be read, or two contradict each other.
    """
    if options.spec is not None:
        try:
            text = sys.stdin.read() if options.spec == "-" else Path(options.spec).read_text(encoding="utf-8")
            return read_json(TransferSpec, text)
        except (OSError, ValueError) as error:
            raise UsageError(f"--spec: {options.spec} is no specification of a transfer: {error}") from error
    return TransferSpec.parse({name: vars(options)[name] for name in TransferSpec.__dataclass_fields__})


def run(options: Namespace) -> int:
    """Measures, and prints the measurement; returns the exit code."""
    spec = specification(options)
    location = None if options.forget else store_location(options)
    result, run_id = measure_and_store(resolved_target(options), spec, location, options)
    with output() as console:
        if options.json:
            summary = {"run": run_id, "goodput_bps": result.goodput_bps, "verdict": result.verdict}
            print(json.dumps({**summary, "measurement": json.loads(result.to_json())}))
        else:
            from probes.preflight.commands.report import print_report

            print_report(console, result)
            if run_id is not None:
                print_line(console, f"stored as {run_id}: preflight history {result.target.name}")
    valid = result.verdict in (LimitedBy.OK, LimitedBy.RATE_LIMITED)
    return 0 if valid else UntrustworthyResult.exit_code


def measure_and_store(
    resolved: Resolved, spec: TransferSpec, location: StoreLocation | None, options: Namespace
) -> tuple[PreflightResult, str | None]:
    """Measures with a live line on stderr; returns the measurement and the id of its run, if there is a store for it.

    Raises:
        FlightpathError: it failed; the iterations that had ended are stored.
    """
    from probes.preflight.measure.measurement import measure  # loads paramiko, which other commands do not need
    from probes.preflight.ssh.session import Access

    if spec.family is Family.ANY:
        spec = replace(spec, family=_FAMILIES.get(resolved.family, Family.ANY))
    recording = Recording(location, resolved.target, spec, environment=environment()) if location else None
    with LiveLine(resolved.target.name) as live:

        def ask(what: str) -> str:
            with live.paused():
                try:
                    return getpass.getpass(f"{what}: ")
                except EOFError:
                    raise UsageError(f"{what}: none was given") from None

        access = Access(
            accept_new_host_key=options.accept_new_host_key or resolved.accept_new,
            hash_names=resolved.hash_names,
            ask=None if options.batch or not sys.stdin.isatty() else ask,
        )
        try:
            result = measure(
                resolved.target,
                spec,
                access=access,
                on_progress=live.update,
                on_iteration=recording.add if recording else None,
            )
        except BaseException as error:
            if recording:
                status = RunStatus.FAILED if isinstance(error, Exception) else RunStatus.INTERRUPTED
                _warn_if_fails(lambda: recording.abort(status))
            raise
    if recording:
        _warn_if_fails(lambda: recording.finish(result))
    return result, recording.run_id if recording else None


def _warn_if_fails(store: Callable[[], None]) -> None:
    """What was measured is worth more than a failure to store it."""
    try:
        store()
    except FlightpathError as error:
        print(f"warning: not completely stored: {visible(error, keep=chr(10))}", file=sys.stderr)
