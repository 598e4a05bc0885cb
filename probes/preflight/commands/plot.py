"""`preflight plot`: a figure of the goodput of a far end over time."""

from argparse import ArgumentParser, Namespace
from pathlib import Path

from flightpath.errors import UsageError
from probes.preflight.commands.common import count, open_store, output, print_json, query_parser
from probes.preflight.history.past import host_name, load


def parser() -> ArgumentParser:
    """The command's arguments."""
    made = query_parser("plot", "Draw the goodput of a far end over time, and print the paths of the figures.")
    made.add_argument("host", metavar="HOST")
    made.add_argument("--last", type=count, metavar="N", help="only the newest N (all)")
    made.add_argument("--output", type=Path, metavar="FILE", help="FILE.png and FILE.svg (in the store's folder)")
    return made


def run(options: Namespace) -> int:
    """Writes the figures; returns the exit code."""
    store, host = open_store(options), host_name(options.host)
    pasts = load(store, options.host, options.last)
    if not any(past.goodput_bps for past in pasts):
        raise UsageError(f"no measurement of {host} has a goodput to draw")
    from probes.preflight.commands.figure import file_name, plot_history

    target: Path = options.output or store.folder / file_name(host)
    name = target.stem if target.suffix in (".png", ".svg") else target.name
    try:
        files = [str(path) for path in plot_history(host, pasts, target.parent, name)]
    except OSError as error:
        raise UsageError(f"cannot write {target}: {error.strerror or error}", "choose another --output") from error
    if options.json:
        print_json({"host": host, "files": files})
    else:
        with output():
            print(*files, sep="\n")
    return 0
