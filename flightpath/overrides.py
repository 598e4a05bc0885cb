"""The decorator `override` (PEP 698), which `typing` has from Python 3.12 on."""

import sys
from collections.abc import Callable
from typing import TypeVar

_Method = TypeVar("_Method", bound=Callable[..., object])

if sys.version_info >= (3, 12):
    from typing import override
else:

    def override(method: _Method) -> _Method:
        """Marks a method that overrides one of a base class and has its docstring."""
        return method


__all__ = ["override"]
