"""The options of `flightpath congestion trace`; the libraries that it needs are loaded when it runs."""

from argparse import ArgumentParser, Namespace
from pathlib import Path

SUMMARY = "plot window, threshold, round trip and pacing rate on a link"
DESCRIPTION = "Transfers data over one emulated link, and plots what the congestion control does with its window."


def add_arguments(parser: ArgumentParser) -> None:
    """Adds the options of the command."""
    parser.add_argument("names", nargs="+", metavar="NAME", help="congestion controls, measured one after the other")
    what = "the link; the delay is one way (default %(default)s)"
    parser.add_argument("--link", default="20Mbit,20ms,1bdp", metavar="BANDWIDTH,DELAY[,QUEUE[,LOSS]]", help=what)
    parser.add_argument(
        "--seconds", type=float, default=10.0, metavar="N", help="length of each transfer (default %(default)g)"
    )
    parser.add_argument(
        "--interval", default="5ms", metavar="TIME", help="time between two samples (default %(default)s)"
    )
    parser.add_argument(
        "--output", type=Path, default=Path(), metavar="DIR", help="folder for the figures (default: here)"
    )
    parser.add_argument("--json", action="store_true", help="print the samples as one JSON object")


def main(options: Namespace) -> int:
    """Runs the command and returns its exit code."""
    from scenarios.congestion import trace

    return trace.main(options)
