"""Ryu's names for os-ken: applications that import `ryu.…` run without a change.

os-ken is Ryu's continuation with the same interface. What it has left out (`ryu.app.wsgi`, and the samples in
`ryu.app`) is looked for among the modules in Python's path, so that a sample which builds on another one finds it in
the folder that both are in.
"""

import importlib
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType

from flightpath.overrides import override

_SAMPLES = "os_ken.app."


def understand_ryu() -> None:
    """Lets every `import ryu.…` find os-ken's module of the same name, and `RyuApp` os-ken's base class."""
    sys.meta_path.insert(0, _RyuFinder())
    sys.meta_path.append(_SampleFinder())
    manager = importlib.import_module("os_ken.base.app_manager")
    vars(manager)["RyuApp"] = manager.OSKenApp


class _RyuFinder(MetaPathFinder):
    """Finds `ryu.NAME` as `os_ken.NAME`."""

    @override
    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname.partition(".")[0] != "ryu":
            return None
        name = "os_ken" + fullname.removeprefix("ryu")
        if find_spec(name) is None:
            raise ModuleNotFoundError(f"os-ken, which continues Ryu, has no {fullname}", name=fullname)
        return ModuleSpec(fullname, _Alias(name), is_package=True)


class _SampleFinder(MetaPathFinder):
    """Finds `os_ken.app.NAME`, if os-ken has no such module, as `NAME`."""

    @override
    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        name = fullname.removeprefix(_SAMPLES)
        if not fullname.startswith(_SAMPLES) or "." in name or find_spec(name) is None:
            return None
        return ModuleSpec(fullname, _Alias(name))


class _Alias(Loader):
    """Gives a module under a second name."""

    def __init__(self, name: str) -> None:
        self._name = name

    @override
    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = importlib.import_module(self._name)
        # The import system writes the second name into the module; os-ken recognises an application's classes by it.
        self._own = {
            name: getattr(module, name, None) for name in ("__name__", "__spec__", "__loader__", "__package__")
        }
        return module

    @override
    def exec_module(self, module: ModuleType) -> None:
        vars(module).update(self._own)
