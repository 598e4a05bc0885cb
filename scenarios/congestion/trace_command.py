"""The command `python -m congestion trace`: its options. What it takes to run it is loaded when it runs."""

from argparse import ArgumentParser, Namespace
from pathlib import Path

SUMMARY = "plot window, threshold, round trip and pacing rate on a link"
DESCRIPTION = "Transfers over one emulated link, and plots what the algorithm does with its window."


def add_arguments(parser: ArgumentParser) -> None:
    """Adds the options of the command."""
    parser.add_argument("names", nargs="+", metavar="NAME", help="one after the other, each by itself")
    parser.add_argument("--link", default="20Mbit,20ms,1bdp", help="BANDWIDTH,DELAY[,QUEUE[,LOSS]] (%(default)s)")
    parser.add_argument("--seconds", type=float, default=10.0, help="how long each sends (%(default)g)")
    parser.add_argument("--interval", default="5ms", help="between two looks at the connection (%(default)s)")
    parser.add_argument("--output", type=Path, default=Path(), metavar="DIR", help="for the figures (here)")
    parser.add_argument("--json", action="store_true", help="print what was seen as one JSON object")


def main(options: Namespace) -> int:
    """Runs the command and returns its exit code."""
    from scenarios.congestion import trace

    return trace.main(options)
