"""The command `flightpath import`: makes an experiment file of another tool's network."""

import argparse
import json
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from flightpath.command_line import run_command
from flightpath.errors import UsageError
from flightpath.launcher import require_mininet
from flightpath.parsers import Parser
from scenarios.command.new import write_new

if TYPE_CHECKING:
    from experiments.imports.imported import Imported

_DESCRIPTION = """\
Turns another tool's network into an experiment file. Comments at its top name what was not imported.

  flightpath import lab.clab.yml > lab.toml   containerlab: nodes, bridges, links
  flightpath import topology.yml              netlab: nodes, links, impairments
  flightpath import network.mn                MiniEdit
  flightpath import mine.py --topo mine,3     Mininet, as mn --custom mine.py
  flightpath import Geant2012.graphml         GraphML, GML, Internet Topology Zoo
  flightpath import lab.clab.yml --run        writes lab.toml, and runs it: pings
                                              between the first and the last host

Addresses and routes follow from the links. Change what is run and measured as you like: docs/experiment-files.md.
"""
_FORMS = "containerlab's or netlab's YAML, MiniEdit's .mn, a .py with Mininet's topologies, .graphml or .gml"


def main(arguments: Sequence[str] | None = None, prog: str = "flightpath import") -> int:
    """Runs the command and returns its exit code."""
    parser = Parser(prog=prog, description=_DESCRIPTION)
    parser.add_argument("file", type=Path, metavar="FILE", help=_FORMS)
    parser.add_argument("--topo", metavar="NAME[,ARGS]", help="which topology of a Python file, as for mn")
    parser.add_argument("--output", type=Path, metavar="FILE.toml", help="write there instead of printing")
    parser.add_argument("--run", action="store_true", help="run it, too; without --output it is named after the file")
    parser.set_defaults(run_command=_import)
    return run_command(parser, arguments)


def _import(options: argparse.Namespace) -> int:
    require_mininet()
    from experiments.imports.imported import experiment_text

    file: Path = options.file
    if not file.is_file():
        raise UsageError(f"there is no file {file}")
    if (options.topo is not None) != (file.suffix == ".py"):
        raise UsageError(f"--topo is for Python files, and {file} needs {'one' if file.suffix == '.py' else 'none'}")
    text = experiment_text(_network(file, options.topo), f"how long is the way through {file.name}?")
    output = options.output or (Path(f"{file.name.partition('.')[0]}.toml") if options.run else None)
    if output is None:
        print(text, end="")
        return 0
    write_new(output, text, "name another file: --output")
    if not options.run:
        print(f"{output}: run it with: {shlex.join(['flightpath', 'run', str(output)])}", file=sys.stderr)
        return 0
    from experiments import catalogue
    from scenarios.command import runner

    runner.main(catalogue.asked_for(str(output)), [], f"flightpath run {output}")


def _network(file: Path, topology: str | None) -> "Imported":
    """Reads the file by its kind; what is no such file after all is a UsageError with its name."""
    from experiments.imports import graphs

    readers: Mapping[str, Callable[[], Imported]] = {
        ".py": lambda: _of_python(file, topology or ""),
        ".mn": lambda: _of_json(file),
        ".graphml": lambda: graphs.read(file),
        ".gml": lambda: graphs.read(file),
        ".yml": lambda: _of_yaml(file),
        ".yaml": lambda: _of_yaml(file),
    }
    if file.suffix not in readers:
        raise UsageError(f"{file}: this kind of file cannot be imported", _FORMS)
    try:
        return readers[file.suffix]()
    except UsageError as error:
        raise UsageError(f"{file}: {error.args[0]}", error.hint) from error
    except (AttributeError, KeyError, TypeError, ValueError, OSError) as error:
        raise UsageError(f"{file} is not as its tool writes it: {type(error).__name__}: {error}", _FORMS) from error


def _of_yaml(file: Path) -> "Imported":
    import yaml

    from experiments.imports import containerlab, netlab

    try:
        content: Any = yaml.safe_load(file.read_text(encoding="utf-8"))
    except yaml.MarkedYAMLError as error:
        line = f"line {error.problem_mark.line + 1}: " if error.problem_mark else ""
        raise UsageError(f"it is no YAML: {line}{error.problem}") from error
    except yaml.YAMLError as error:
        raise UsageError(f"it is no YAML: {str(error).partition(chr(10))[0]}") from error
    if isinstance(content, Mapping) and "topology" in content:
        return containerlab.read(content)
    if isinstance(content, Mapping) and "nodes" in content:
        return netlab.read(content)
    raise UsageError("it has neither containerlab's `topology` nor netlab's `nodes`")


def _of_json(file: Path) -> "Imported":
    from experiments.imports.miniedit import read_miniedit

    return read_miniedit(json.loads(file.read_bytes()))


def _of_python(file: Path, wanted: str) -> "Imported":
    from mininet.util import buildTopo

    from experiments.imports.miniedit import read_topology
    from topologies.mininet.runner import names_in

    known = names_in(str(file)).get("topos", {})
    name = wanted.partition(",")[0]
    if name not in known:
        raise UsageError(f"it has no topology {name!r}", f"its table topos has {', '.join(known) or 'none'}")
    return read_topology(buildTopo(known, wanted), name)


if __name__ == "__main__":
    sys.exit(main())
