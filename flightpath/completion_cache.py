"""Parsers of commands as data, so that a shell's Tab need not load the modules of a command, which takes seconds.

The first Tab behind a command loads it and keeps its options here; the next ones only read them, until a file of the
command changes. What changes more often than the program (runs, labs, topologies) is looked up each time.
"""

import argparse
import contextlib
import json
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

from flightpath.project import PROJECT, cache_folder

_SHOWN_RUNS = 200
_MN = {"--topo": "TOPO", **dict.fromkeys(("--link", "--switch", "--controller", "--custom", "--test"), "TEXT")}


def remembered(command: str) -> argparse.ArgumentParser | None:
    """Returns the parser of a command, without loading it; None if it is not known yet, or has changed."""
    if command == "mn":  # Mininet's own parser; these are what our networks need
        options = [{"names": [option], "takes": True, "metavar": metavar} for option, metavar in _MN.items()]
        return _made({"actions": options})
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        known = json.loads(_file(command).read_text(encoding="utf-8"))
        if known["version"] == _version():
            return _made(known["parser"])
    return None


def remember(command: str, parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    """Keeps the parser of a command, if its folder can be written; returns it as `remembered` does."""
    described = _described(parser)
    with contextlib.suppress(OSError):
        file = _file(command)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps({"version": _version(), "parser": described}), encoding="utf-8")
    return _made(described)


def _file(command: str) -> Path:
    return cache_folder() / "completion" / f"{command.replace(' ', '-')}.json"


def _version() -> list[Any]:
    """Returns what identifies this copy of Flightpath and the state of its files."""
    floors = (distribution("flightpath").read_text("top_level.txt") or "").split()
    files = (file for floor in floors for file in (PROJECT / floor).rglob("*.py"))
    return [str(PROJECT), max((file.stat().st_mtime_ns for file in files), default=0)]


def _described(parser: argparse.ArgumentParser) -> dict[str, Any]:
    actions = (it for it in parser._actions if it.help is not argparse.SUPPRESS or not it.option_strings)
    return {"actions": [_action(action) for action in actions]}


def _action(action: argparse.Action) -> dict[str, Any]:
    if isinstance(action, argparse._SubParsersAction):
        return {"commands": {name: _described(each) for name, each in action.choices.items()}}
    return {
        "names": list(action.option_strings),
        "takes": action.nargs != 0,
        "several": action.nargs in ("*", "+"),
        "choices": list(map(str, action.choices)) if action.choices else None,
        "metavar": action.metavar if isinstance(action.metavar, str) else "",
        "dest": action.dest,
        "default": str(action.default) if isinstance(action.default, Path) else None,
    }


def _made(described: Mapping[str, Any]) -> argparse.ArgumentParser:
    """Makes a parser that knows as much as a shell's completion needs."""
    parser = argparse.ArgumentParser(add_help=False)
    for action in described["actions"]:
        if "commands" in action:
            commands = parser.add_subparsers()
            for name, each in action["commands"].items():
                commands.add_parser(name, parents=[_made(each)], add_help=False)
        elif action["names"]:
            _add_option(parser, action)
        else:
            several: dict[str, Any] = {"nargs": "*"} if action["several"] else {}
            made = parser.add_argument(action["dest"], choices=action["choices"], **several)
            _complete(made, action["metavar"])
    return parser


def _add_option(parser: argparse.ArgumentParser, action: Mapping[str, Any]) -> None:
    if not action["takes"]:
        parser.add_argument(*action["names"], action="store_true")
        return
    made = parser.add_argument(*action["names"], choices=action.get("choices"), default=action.get("default"))
    _complete(made, action["metavar"])


def _complete(action: argparse.Action, metavar: str) -> None:
    if completer := _COMPLETERS.get(metavar):
        action.completer = completer  # type: ignore[attr-defined]  # argcomplete's


def _runs(parsed_args: argparse.Namespace, **_: object) -> Sequence[str]:
    """Returns the newest runs of a store in a folder, without loading the store."""
    database = Path(getattr(parsed_args, "results", None) or "results/runs") / "flightpath.sqlite"
    query = "SELECT run_id FROM runs ORDER BY started_at DESC LIMIT ?"
    try:
        with contextlib.closing(sqlite3.connect(f"{database.absolute().as_uri()}?mode=ro", uri=True)) as store:
            return ["latest", *(str(run_id) for (run_id,) in store.execute(query, [_SHOWN_RUNS]))]
    except sqlite3.Error:
        return []


def _labs(**_: object) -> Sequence[str]:
    return [folder.name.partition("_")[2] for folder in sorted(PROJECT.glob("labs/lab[0-9]*_*"))]


def _topologies(**_: object) -> Sequence[str]:
    files = (file.stem for file in sorted(PROJECT.glob("topologies/*.py")))
    return [name for name in files if name not in ("__init__", "__main__", "mn")]


_COMPLETERS: Mapping[str, Callable[..., Sequence[str]]] = {"RUN": _runs, "LAB": _labs, "TOPO": _topologies}
"""Functions that return the words for a place, by its metavar."""
