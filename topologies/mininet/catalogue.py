"""The networks of this project, found by their modules: each module of `topologies/` defines one `Topo` class."""

import ast
import importlib
import pkgutil
from pathlib import Path
from typing import TYPE_CHECKING

import topologies

if TYPE_CHECKING:
    from mininet.topo import Topo

_OTHER_MODULES = ("__main__", "mn")


def names() -> list[str]:
    """The networks' names, which are the names of their modules, in alphabetical order."""
    modules = pkgutil.iter_modules(topologies.__path__)
    return sorted(it.name for it in modules if not it.ispkg and it.name not in _OTHER_MODULES)


def summary(name: str) -> str:
    """A network in one line: the first of its module's docstring. The module is not loaded: it needs Mininet."""
    source = Path(topologies.__path__[0], f"{name}.py").read_text(encoding="utf-8")
    return (ast.get_docstring(ast.parse(source)) or "").partition("\n")[0]


def topology(name: str) -> "type[Topo]":
    """A network's class, which takes the parameters of its `build` method.

    Raises:
        TypeError: its module defines no `Topo` class, or several.
    """
    from mininet.topo import Topo

    module = importlib.import_module(f"topologies.{name}")
    own = (it for it in vars(module).values() if isinstance(it, type) and it.__module__ == module.__name__)
    classes = [it for it in own if issubclass(it, Topo)]
    if len(classes) != 1:
        raise TypeError(f"{module.__file__} must define one Topo class, and defines {len(classes)}")
    return classes[0]
