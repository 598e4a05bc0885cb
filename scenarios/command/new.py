"""The command `flightpath new`: writes a commented experiment file, their JSON Schema, or a table of a link."""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from flightpath.command_line import run_command
from flightpath.errors import UsageError
from flightpath.launcher import require_mininet
from flightpath.parsers import Parser
from topologies.links.table_models import table_of
from topologies.links.texts import whole

_TEMPLATE = Path(__file__).parents[2] / "experiments/files/template.toml"
_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_DESCRIPTION = """\
Writes an experiment file for you to change: a network, programs in its hosts, what is measured, and what you expect.
It runs as it is, in less than a minute:

  flightpath new experiment queue.toml
  flightpath run queue.toml

docs/experiment-files.md explains every key. Editors complete and check keys by the JSON Schema:

  flightpath new experiment --schema > experiment.schema.json
  and as the first line of the file:  #:schema ./experiment.schema.json
"""


_TABLE_DESCRIPTION = """\
Writes a table of bandwidth, delay and loss over time:

  leo  a link over satellites 550 km high, a new one every 15 s: delay by distance, outages of 100 ms
  lte  one user's link in a cell, every 100 ms: log-normal rates around 20 Mb/s with a memory of 1 s, 25 ms of delay

  flightpath new table lte lte.csv --seconds 6
  flightpath run mptcp_load --event "0s h1-s1 table=lte.csv"

docs/links.md has the models' numbers.
"""


def main(arguments: Sequence[str] | None = None, prog: str = "flightpath new") -> int:
    """Runs the command and returns its exit code."""
    parser = Parser(prog=prog, description="Writes a file to start from.")
    kinds = parser.add_subparsers(metavar="KIND")
    experiment = kinds.add_parser(
        "experiment",
        help="an experiment file",
        description=_DESCRIPTION,
    )
    experiment.add_argument("file", nargs="?", type=Path, default=Path("experiment.toml"), metavar="FILE.toml")
    experiment.add_argument("--schema", action="store_true", help="print the JSON Schema of experiment files instead")
    experiment.add_argument("--keys", action="store_true", help="print all keys as Markdown instead")
    experiment.set_defaults(run_command=_experiment)
    table = kinds.add_parser(
        "table",
        help="a link that changes over time",
        description=_TABLE_DESCRIPTION,
    )
    table.add_argument("model", choices=("leo", "lte"), metavar="MODEL", help="leo or lte")
    table.add_argument("file", type=Path, metavar="FILE.csv")
    table.add_argument("--seconds", default="60", metavar="N", help="length of the table, up to 180 (default 60)")
    table.add_argument("--seed", type=int, default=1, metavar="N", help="seed of its random numbers (default 1)")
    table.set_defaults(run_command=_table)
    return run_command(parser, arguments)


def _experiment(options: argparse.Namespace) -> None:
    require_mininet()
    from experiments.files.keys import markdown_of, schema_of  # with Mininet
    from experiments.files.tables import Experiment

    if options.keys:
        print("\n".join(markdown_of(Experiment)))
        return
    if options.schema:
        schema = {"$schema": _DIALECT, "title": "Experiment file of Flightpath", **schema_of(Experiment)}
        print(json.dumps(schema, indent=2))
        return
    write_new(options.file, _TEMPLATE.read_text(encoding="utf-8"))
    print(f"{options.file}: run it with: flightpath run {options.file}")


def _table(options: argparse.Namespace) -> None:
    if options.file.suffix != ".csv":
        raise UsageError(f"{options.file}: a table ends in .csv", f"for example {options.file.stem or 'table'}.csv")
    _write(options.file, table_of(options.model, whole("--seconds", options.seconds, 1, 180), options.seed))
    print(f'{options.file}: follow it with: --event "0s LINK table={options.file}"')


def write_new(file: Path, text: str, remedy: str = "name another file") -> None:
    """Writes an experiment file where there is no file yet."""
    if file.suffix != ".toml":
        raise UsageError(f"{file}: an experiment file ends in .toml", f"for example {file.stem or 'experiment'}.toml")
    _write(file, text, remedy)


def _write(file: Path, text: str, remedy: str = "name another file") -> None:
    try:
        with file.open("x", encoding="utf-8") as new:
            new.write(text)
    except FileExistsError as error:
        raise UsageError(f"{file} exists already, and was not changed", remedy) from error
    except OSError as error:
        raise UsageError(f"cannot write {file}: {error.strerror}") from error


if __name__ == "__main__":
    sys.exit(main())
