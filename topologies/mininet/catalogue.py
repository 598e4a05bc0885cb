"""Catalogue of this project's networks: each module of `topologies/` defines one `Topo` class."""

import ast
import importlib
import pkgutil
from pathlib import Path
from typing import TYPE_CHECKING

import topologies
from flightpath.extensions import class_defined_in

if TYPE_CHECKING:
    from mininet.topo import Topo

_OTHER_MODULES = ("__main__", "mn")


def names() -> list[str]:
    """Returns the names of the networks, which are those of their modules, in alphabetical order."""
    modules = pkgutil.iter_modules(topologies.__path__)
    return sorted(it.name for it in modules if not it.ispkg and it.name not in _OTHER_MODULES)


def summary(name: str) -> str:
    """Returns the first line of the docstring of a network's module, without loading it: it needs Mininet."""
    source = Path(topologies.__path__[0], f"{name}.py").read_text(encoding="utf-8")
    return (ast.get_docstring(ast.parse(source)) or "").partition("\n")[0]


def topology(name: str) -> "type[Topo]":
    """Returns a network's class, which takes the parameters of its `build` method.

    Raises:
        TypeError: the module defines no `Topo` class, or several.
    """
    from mininet.topo import Topo

    return class_defined_in(importlib.import_module(f"topologies.{name}"), Topo)
