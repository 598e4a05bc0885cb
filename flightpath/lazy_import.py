"""Modules that are loaded when they are first used: a command that needs none of them does not wait for them."""

import sys
from importlib.util import LazyLoader, find_spec, module_from_spec
from types import ModuleType


def lazily(name: str) -> ModuleType:
    """The module, which is loaded as soon as something in it is asked for.

    For a large library that only some runs of a module need, in more than one place (in one place, an import there
    says the same). Annotations must not name it: with `from __future__ import annotations` they do not.

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
