"""The command `preflight`: measures a path, or reads stored measurements."""

import contextlib
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from types import FrameType

from flightpath.command_line import exit_code_of
from flightpath.completion import OWN_PARSERS, is_completing, parse, take_word
from flightpath.launcher import prepare_process, require_trusted_owner
from flightpath.terminal import visible

QUERIES = OWN_PARSERS["preflight"] or ()
"""The commands that are named by the first argument; any other is a far end to be measured, or begins with `--from`."""


def main(arguments: Sequence[str] | None = None, prog: str = "preflight") -> int:
    """Runs a command; returns the exit code. Results go to stdout, everything else to stderr."""
    prepare_process()
    words = list(sys.argv[1:] if arguments is None else arguments)
    if is_completing() and (word := take_word(QUERIES)):
        words = [word]
    query = words[0] if words and words[0] in QUERIES else None
    default = "matrix" if any(word.partition("=")[0] == "--from" for word in words) else "measure"
    command = import_module(f"probes.preflight.commands.{query or default}")
    parser = command.parser()
    parser.prog = f"{prog} {query}" if query else prog
    if not words and not is_completing():
        parser.print_help(sys.stderr)
        return 2
    options = parse(parser, words[1:] if query else words)

    def run() -> int | None:
        require_trusted_owner()
        with _interruptible():
            return command.run(options)

    return exit_code_of(run, describe=lambda error: f"error: {visible(error, keep=chr(10))}")


@contextmanager
def _interruptible() -> Iterator[None]:
    """Turns Ctrl-C, SIGTERM and SIGHUP into KeyboardInterrupt, which leaves time to clean up at the far end.

    A second one only says that the cleaning goes on; a third ends it.
    """
    count = 0

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        nonlocal count
        count += 1
        if count == 2:
            print("\ncleaning up at the far end; once more leaves the temporary folder there", file=sys.stderr)
        else:
            raise KeyboardInterrupt

    with contextlib.ExitStack() as stack:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with contextlib.suppress(ValueError):  # not in the main thread, where the caller handles signals
                stack.callback(signal.signal, number, signal.signal(number, interrupt))
        yield


if __name__ == "__main__":
    sys.exit(main())
