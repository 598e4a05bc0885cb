"""`python -m controllers.applications`: runs applications for os-ken or Ryu in a process of its own."""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from controllers.applications.ryu_names import understand_ryu
from controllers.parent_death import end_with_parent
from flightpath.command_line import exit_code_of
from flightpath.parsers import Parser

LEARNING_SWITCH = "controllers.applications.learning_switch"


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs applications until a signal comes or the parent ends; an application's own error shows its traceback."""
    parser = Parser(
        prog="python -m controllers.applications",
        description="Runs applications for os-ken or Ryu, as `osken-manager` does. Ends with its parent process.",
    )
    parser.add_argument("--listen", required=True, metavar="HOST:PORT", help="where switches connect")
    parser.add_argument("--folder", default=".", help="in which the applications run, and their paths begin")
    options, words = parser.parse_known_args(arguments)
    return exit_code_of(lambda: _run(options, words), describe="controllers: {}".format)


def _run(options: argparse.Namespace, words: Sequence[str]) -> int:
    end_with_parent()
    host, port = options.listen.rsplit(":", 1)
    os.chdir(options.folder)
    # Not earlier: os-ken replaces parts of the standard library by its own when its manager is loaded.
    import controllers.openflow.library  # noqa: F401 - settles which event loop os-ken has

    understand_ryu()
    from os_ken.cmd.manager import main as manage

    applications = list(words) if any(not word.startswith("-") for word in words) else [*words, LEARNING_SWITCH]
    sys.path[:0] = [str(Path(word).resolve().parent) for word in applications if _is_file(word)]
    manage(["--ofp-listen-host", host, "--ofp-tcp-listen-port", port, *applications], prog="osken-manager")
    return 0


def _is_file(word: str) -> bool:
    return not word.startswith("-") and (word.endswith(".py") or "/" in word)


if __name__ == "__main__":
    sys.exit(main())
