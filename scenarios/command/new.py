"""The command `flightpath new`: writes a commented experiment file, or the JSON Schema of such files."""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from flightpath.command_line import run_command
from flightpath.errors import UsageError
from flightpath.launcher import require_mininet

_TEMPLATE = Path(__file__).parents[2] / "experiments/files/template.toml"
_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_DESCRIPTION = """\
Writes an experiment of your own, to be changed: a network, programs in its hosts, what is measured, and what you
expect. It runs as it stands, in less than a minute of this machine:

  flightpath new experiment queue.toml
  flightpath run queue.toml

docs/experiment-files.md explains every key. Editors complete and check the keys with the JSON Schema:

  flightpath new experiment --schema > experiment.schema.json
  and in the first line of the file:  #:schema ./experiment.schema.json
"""


def main(arguments: Sequence[str] | None = None, prog: str = "flightpath new") -> int:
    """Runs the command and returns its exit code."""
    parser = argparse.ArgumentParser(prog=prog, description="Writes a file to begin with.")
    kinds = parser.add_subparsers(metavar="KIND")
    experiment = kinds.add_parser(
        "experiment",
        help="an experiment file",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    experiment.add_argument("file", nargs="?", type=Path, default=Path("experiment.toml"), metavar="FILE.toml")
    experiment.add_argument("--schema", action="store_true", help="print the JSON Schema of experiment files instead")
    experiment.add_argument("--keys", action="store_true", help="print all keys as Markdown instead")
    experiment.set_defaults(run_command=_experiment)
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


def write_new(file: Path, text: str, remedy: str = "name another file") -> None:
    """Writes an experiment file where there is no file yet."""
    if file.suffix != ".toml":
        raise UsageError(f"{file}: an experiment file ends in .toml", f"for example {file.stem or 'experiment'}.toml")
    try:
        with file.open("x", encoding="utf-8") as new:
            new.write(text)
    except FileExistsError as error:
        raise UsageError(f"{file} is there already, and was not touched", remedy) from error
    except OSError as error:
        raise UsageError(f"cannot write {file}: {error.strerror}") from error


if __name__ == "__main__":
    sys.exit(main())
