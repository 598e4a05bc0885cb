"""`flightpath controller show`: prints or draws what a running controller steers."""

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from controllers.view.client import View, ends_of, find_view
from flightpath.completion import parse
from flightpath.parsers import Parser
from flightpath.terminal import plain, print_table

AUTO = "auto"


def main(arguments: Sequence[str], prog: str) -> int:
    """Prints connections with their subflows and paths; returns the exit code."""
    options = parse(_parser(prog), arguments)
    view = find_view() if options.url == AUTO else View(options.url)
    connections, topology = view.connections(), view.topology()
    if options.draw is not None:
        from controllers.view.drawing import draw  # matplotlib takes a second to load

        draw(connections, topology, options.draw)
    if options.json:
        print(json.dumps({**connections, "topology": topology}, indent=1))
    else:
        show(connections, topology, Console())
    return 0


def show(connections: Mapping[str, Any], topology: Mapping[str, Any], console: Console) -> None:
    """Prints the view as a table with notes."""
    table = Table("connection", "subflow", "", "path", "out of ports", title=f"policy {connections['policy']}")
    for connection in connections["connections"]:
        for number, subflow in enumerate(connection["subflows"]):
            name = f"{connection['id']} {connection['protocol']} {connection['token'] or ''}".rstrip()
            table.add_row("" if number else name, *map(plain, _row(subflow)))  # markup would swallow [fd00::1]
        table.add_section()
    if connections["connections"]:
        print_table(console, table)
    else:
        console.print("no TCP connections now")
    for line in _notes(connections, topology):
        console.print(line, soft_wrap=True)


def _row(subflow: Mapping[str, Any]) -> tuple[str, str, str, str]:
    flags = " ".join(["pending"] * (subflow["state"] == "pending") + ["backup"] * subflow["backup"])
    if subflow["switches"] is None:
        return ends_of(subflow), flags, "chosen by the switches", ""
    return ends_of(subflow), flags, " → ".join(subflow["switches"]), " ".join(map(str, subflow["ports"]))


def _notes(connections: Mapping[str, Any], topology: Mapping[str, Any]) -> Iterator[str]:
    for link in topology["links"]:
        if not link["up"]:
            yield f"[red]link {link['switch']}:{link['port']} - {link['other_switch']}:{link['other_port']} is down"
    if topology["moves"]:
        last = topology["moves"][-1]
        took_ms = (last["done_s"] - last["decided_s"]) * 1000
        yield f"last move: {last['link']} {last['cause']}, {last['moved']} flows in {took_ms:.1f} ms"
    unsteered = {name: number for name, number in connections["syns"].items() if name not in ("steered", "repeated")}
    if unsteered:
        yield "on the shortest path: " + ", ".join(f"{number} {name}" for name, number in unsteered.items())


def _parser(prog: str) -> argparse.ArgumentParser:
    parser = Parser(
        prog=prog,
        description="Shows the connections that a running controller steers, with their subflows and paths.",
    )
    parser.add_argument(
        "--url",
        default=AUTO,
        help="where the controller is: http://127.0.0.1:8653, unix:/path, or auto: the only controller on this "
        "machine, in a sandbox or not (default)",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--draw", type=Path, metavar="FILE", help="draw the topology with its subflows: svg, png, pdf")
    return parser
