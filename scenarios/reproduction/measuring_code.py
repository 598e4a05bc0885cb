"""The code that an experiment's measurements depend on: which changes since a run make it a run of another program."""

import ast
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path, PurePath
from typing import Any

from flightpath.errors import FlightpathError
from flightpath.identity import git, identity
from flightpath.project import PROJECT

FLOORS = (
    *("experiments", "execution", "probes", "topologies", "congestion", "controllers", "services", "native"),
    *("flightpath", "scenarios"),
)
"""Floors whose code measures. Of Python that is what an experiment reaches; of all else, such as C, all of it."""

_ROOTS = "execution.guest_executors", "execution.guest_side"
"""Modules that measure any cell."""

_LOADED = {"probes.preflight.__main__": "probes.preflight.measure.measurement"}
"""Modules that a program loads by a name that it puts together; in a host preflight only measures."""

_LEFT_OUT = (
    *("scenarios.command", "scenarios.reproduction", "flightpath.cli", "flightpath.completion"),
    "probes.preflight.commands",
    *("experiments.claims", "experiments.judging"),
    *("experiments.captures", "experiments.recordings", "topologies.capture"),
    *("execution.uml.inspection", "execution.uml.kernel_source"),
)
"""Modules that plan, print, judge (plans are compared, claims judged again), serve `--capture` or `--record`, only look
on, or find the kernel's source (a certificate names its version)."""

_OF_FILES = "experiments.files"
"""Reader of experiment files, which is reached from everywhere but only measures these."""

_USERS = {
    "native/tunnel/": "topologies.testbed.tunnel",
    "services/quic/": "services.quic.implementation",
    "services/s3proxy/": "services.s3proxy.server",
}
"""Folders of files, besides Python's, on which only experiments that import a module depend, and that module."""

_FOLDERS_WITHOUT = "native/recorder/", "scenarios/reproduction/", "experiments/files/template.toml"
_ENDS_WITHOUT = (".md", "claims.py", "figures.py")
"""Folders or files, and ends of files' names, on which no measurement of the record depends."""


def is_same_program(environment: Mapping[str, Any], scenario: str | None, project: Path = PROJECT) -> bool:
    """Tells whether the code that measures an experiment is unchanged since a run of it.

    Changes of texts, tests and pages, of docstrings and comments in Python, and of what only other experiments or
    commands use, do not count.

    Args:
        scenario: one of ours by its name; None for an experiment file.
    """
    ours, commit = identity(project), environment.get("commit")
    if commit == ours.get("commit"):
        return commit is not None or environment.get("flightpath") == ours["flightpath"]
    if not isinstance(commit, str) or not commit.isalnum():  # unknown, of a modified checkout, or no commit at all
        return False
    try:
        changed = git(project, "diff", "--name-only", "--no-renames", "-z", commit, "--", *FLOORS)
    except FlightpathError:  # the commit is not here
        return False
    measuring = _modules(scenario, project)
    return not any(
        _measures(file, measuring) and not _is_same_code(file, commit, project) for file in changed.split("\0") if file
    )


def _measures(file: str, measuring: set[str]) -> bool:
    """Tells whether measurements depend on a file, by the modules that they reach."""
    if file.startswith(_FOLDERS_WITHOUT) or file.endswith(_ENDS_WITHOUT):
        return False
    if file.endswith(".py"):
        return _module(PurePath(file)) in measuring
    return all(module in measuring for folder, module in _USERS.items() if file.startswith(folder))


def _is_same_code(file: str, commit: str, project: Path) -> bool:
    """Tells whether a file of Python differs from that of a commit in docstrings, comments and layout alone."""
    if not file.endswith(".py"):
        return False
    try:
        before, after = git(project, "show", f"{commit}:{file}"), (project / file).read_text(encoding="utf-8")
    except (FlightpathError, FileNotFoundError):  # one of them does not have the file
        return False
    return _code(before) == _code(after)


def _code(source: str) -> str:
    """Returns a form of Python's source that is the same for the same code."""
    return ast.dump(_WithoutDocstrings().visit(ast.parse(source)))


class _WithoutDocstrings(ast.NodeTransformer):
    def visit_Expr(self, node: ast.Expr) -> ast.Expr | None:
        return None if isinstance(node.value, ast.Constant) and isinstance(node.value.value, str) else node


def _modules(scenario: str | None, project: Path) -> set[str]:
    """Returns the modules that measurements of an experiment reach: by imports, or as programs that are started."""
    left_out = _LEFT_OUT if scenario is None else (*_LEFT_OUT, _OF_FILES)
    reached: set[str] = set()
    following = [*_ROOTS, *([f"scenarios.{scenario}"] if scenario else [])]
    while following:
        name = following.pop()
        file = _file(name, project)
        if file is None or name in reached or name.startswith(left_out):
            continue
        reached.add(name)
        following += [*_mentioned(file.read_bytes()), name.rpartition(".")[0], _LOADED.get(name, "")]
    return reached


@cache
def _mentioned(source: bytes) -> tuple[str, ...]:
    """Returns the names in a module that may be modules: its imports, and texts such as those for `python -m`."""

    def names() -> Iterator[str]:
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module:
                yield from (node.module, *(f"{node.module}.{alias.name}" for alias in node.names))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield from (node.value.partition(":")[0], f"{node.value}.__main__")

    return tuple(name for name in set(names()) if name.split(".")[0] in FLOORS)


def _file(module: str, project: Path) -> Path | None:
    """Returns the file of a module of ours; None if there is no such module."""
    if not all(part.isidentifier() for part in module.split(".")):
        return None
    path = project / module.replace(".", "/")
    return next((file for file in (path.with_suffix(".py"), path / "__init__.py") if file.is_file()), None)


def _module(file: PurePath) -> str:
    return ".".join(file.parent.parts if file.name == "__init__.py" else file.with_suffix("").parts)
