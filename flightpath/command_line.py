"""Running a command: exit codes, one-line errors, Ctrl-C, and broken pipes."""

import argparse
import errno
import os
import select
import signal
import sys
from collections.abc import Callable, Sequence
from importlib.util import find_spec

from flightpath.commands import search_path
from flightpath.completion import parse
from flightpath.errors import FlightpathError, MissingCapability, UsageError
from flightpath.overrides import override
from flightpath.project import SETUP_HINT

INTERRUPTED = 130
"""Exit code after Ctrl-C, as in shells: 128 plus the number of SIGINT."""

_UNUSABLE = {
    *(errno.ENAMETOOLONG, errno.ENOTDIR, errno.EISDIR, errno.ELOOP, errno.EACCES, errno.EROFS),
    *(errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EMFILE, errno.ENFILE),
}
"""Errors of files and disks that are no mistake in the code."""


class ListOption(argparse.Action):
    """An option that takes values separated by commas; given several times, it adds them up."""

    @override
    def __call__(self, parser: object, namespace: argparse.Namespace, values: object, option: object = None) -> None:
        given = getattr(namespace, self.dest, None)
        setattr(namespace, self.dest, values if given in (None, self.default) else f"{given},{values}")


def sigterm_as_interrupt() -> None:
    """Lets SIGTERM and SIGHUP raise KeyboardInterrupt, so that they clean up as Ctrl-C does."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)


def check_jobs(jobs: int | None) -> None:
    """Raises UsageError if --jobs is below 1; None means the default."""
    if jobs is not None and jobs < 1:
        raise UsageError(f"--jobs: {jobs} is less than 1")


def run_command(parser: argparse.ArgumentParser, arguments: Sequence[str] | None = None) -> int:
    """Parses a command line, runs the command that it names, and returns the exit code.

    Args:
        parser: its subcommands set the default `run_command`, a function that takes the parsed options and returns an
            exit code, or None for 0. Without a subcommand, the help goes to stderr and the exit code is 2.
        arguments: the command line, by default `sys.argv`.

    Raises:
        SystemExit: argparse refused the arguments (exit code 2), or printed help (0).
    """
    options = parse(parser, arguments)
    command = getattr(options, "run_command", None)
    if command is None:
        parser.print_help(sys.stderr)
        return UsageError.exit_code
    return exit_code_of(lambda: command(options))


def exit_code_of(
    command: Callable[[], int | None], *, describe: Callable[[FlightpathError], str] = "error: {}".format
) -> int:
    """Runs a command and returns its exit code; None from the command is 0.

    The command and what it starts find programs in the `sbin` folders too (`search_path`). A FlightpathError, a missing
    Python package, and a file or disk that cannot be used are reported on stderr, without a traceback. Ctrl-C gives
    130. A broken pipe gives 0: the reader, such as a pager or `head`, has seen enough.
    """
    os.environ["PATH"] = search_path()
    try:
        code = command()
        sys.stdout.flush()
        return code or 0
    except BrokenPipeError:
        if not _is_reader_gone():
            raise
        _discard_output()
        return 0
    except KeyboardInterrupt as interrupt:
        print("\n".join(["interrupted", *getattr(interrupt, "__notes__", ())]), file=sys.stderr)
        return INTERRUPTED
    except OSError as error:
        if error.errno not in _UNUSABLE:
            raise
        what = error.filename or "the output, or a file"
        return _reported(FlightpathError(f"cannot use {what}: {error.strerror}"), describe)
    except FlightpathError as error:
        return _reported(error, describe)
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if not package or package in sys.modules or find_spec(package):
            raise  # the package is installed, but lacks a module: a mistake in the code
        missing = MissingCapability(f"the Python package {package} is not installed for {sys.executable}", SETUP_HINT)
        return _reported(missing, describe)


def _reported(error: FlightpathError, describe: Callable[[FlightpathError], str]) -> int:
    """Prints an error, and returns its exit code."""
    print(describe(error), file=sys.stderr)
    try:
        sys.stdout.flush()
    except OSError:
        _discard_output()
    return error.exit_code


def _discard_output() -> None:
    """Discards what stdout still holds: Python would fail to write it when it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _is_reader_gone() -> bool:
    """Returns whether stdout is a pipe without a reader: poll(2) reports POLLERR, even if no event is requested."""
    poll = select.poll()
    poll.register(sys.stdout.fileno(), 0)
    return bool(poll.poll(0))
