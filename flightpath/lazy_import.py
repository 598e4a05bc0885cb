"""Lazy imports: large libraries are loaded when they are first used, so that other commands start without them."""

import sys
from importlib.util import LazyLoader, find_spec, module_from_spec
from types import ModuleType


def lazy_import(name: str) -> ModuleType:
    """Returns a module that is loaded when one of its attributes is first read.

    Meant for a large library that several functions of a module need, but not every run. (If only one function needs
    it, import it there.) Annotations may name it only under `from __future__ import annotations`.

    Raises:
        ModuleNotFoundError: it is not installed.
    """
    if name in sys.modules:
        return sys.modules[name]
    spec = find_spec(name)
    if spec is None:
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)
    spec.loader = LazyLoader(spec.loader)
    module = module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module
