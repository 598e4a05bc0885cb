"""The command `preflight`: without it only programs could measure a path."""

import contextlib
import json
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FrameType

from rich.console import Console

from flightpath.errors import FlightpathError, UntrustworthyResult
from probes.preflight.commands import commands
from probes.preflight.commands.options import parser, specification
from probes.preflight.commands.show import show
from probes.preflight.commands.views import visible
from probes.preflight.records import PreflightResult, Verdict
from probes.preflight.ssh.target import resolve
from results.store.location import store_location

INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Measures, or asks the memory; returns the exit code. Results go to stdout, everything else to stderr."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if words and words[0] in commands.COMMANDS:
        with _interruptible():
            try:
                return commands.main(words)
            except KeyboardInterrupt:
                return _interrupted()
    made = parser()
    if not words:
        made.print_help(sys.stderr)
        return 2
    options = made.parse_args(words)
    with _interruptible():
        try:
            return _measure(options)
        except KeyboardInterrupt as interrupt:
            return _interrupted(*getattr(interrupt, "__notes__", ()))
        except FlightpathError as error:
            # Parts of it may be the far end's own words.
            print("\n".join(visible(each) for each in f"error: {error}".split("\n")), file=sys.stderr)
            return error.exit_code


def exit_code(result: PreflightResult) -> int:
    """0 for a figure of the path (or of the rate that was asked for), 4 for one of this machine."""
    return 0 if result.verdict in (Verdict.OK, Verdict.RATE_LIMITED) else UntrustworthyResult.exit_code


def _measure(options) -> int:  # noqa: ANN001 (argparse's own)
    from probes.preflight.commands.terminal import (
        measure_and_remember,  # paramiko: what only asks the memory does without
    )

    spec = specification(options)
    resolved = resolve(
        options.target,
        port=options.port,
        user=options.user,
        identities=options.identity,
        configuration=options.ssh_config,
    )
    place = None if options.forget else store_location(options)
    result, run = measure_and_remember(
        resolved, spec, place, accept_new_host_key=options.accept_new_host_key, batch=options.batch
    )
    _print(result, run, as_object=options.json)
    return exit_code(result)


def _print(result: PreflightResult, run: str | None, *, as_object: bool) -> None:
    try:
        if as_object:
            told = {"run": run, "goodput_bps": result.goodput_bps, "verdict": result.verdict}
            print(json.dumps({**told, "measurement": json.loads(result.to_json())}))
        else:
            console = Console()
            show(console, result)
            if run is not None:
                console.print(f"remembered as {run}: preflight history {result.target.name}", highlight=False)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _interrupted(*notes: str) -> int:
    print("\n".join(["interrupted", *notes]), file=sys.stderr)
    return INTERRUPTED


@contextmanager
def _interruptible() -> Iterator[None]:
    """A Ctrl-C, and a polite end from outside, stop the measurement and leave time to tidy up at the far end.

    The first does so; a second says that tidying goes on; only a third gives it up.
    """
    seen = 0

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        nonlocal seen
        seen += 1
        if seen == 2:
            print("\ntidying up at the far end; once more leaves its temporary folder there", file=sys.stderr)
        else:
            raise KeyboardInterrupt

    before = {}
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        with contextlib.suppress(ValueError):  # not the main thread: whoever calls from there has his own way
            before[number] = signal.signal(number, interrupt)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


if __name__ == "__main__":
    sys.exit(main())
