"""The catalogue of labs: each folder `labs/labNN_NAME` has a module `lab` with one subclass of `Lab`."""

import importlib
import inspect
import pkgutil
from functools import cache
from pathlib import Path

import labs
from flightpath.errors import UsageError
from flightpath.extensions import class_defined_in
from labs.framework.lab import Lab


@cache
def all_labs() -> tuple[Lab, ...]:
    """Returns all labs, in the order of the course."""
    names = sorted(module.name for module in pkgutil.iter_modules(labs.__path__) if module.name.startswith("lab"))
    return tuple(class_defined_in(importlib.import_module(f"labs.{name}.lab"), Lab)() for name in names)


def find(word: str | int) -> Lab:
    """Returns the lab with a number, or whose folder has this name."""
    for lab in all_labs():
        if str(word) in (str(lab.number), f"{lab.number:02}", folder_of(lab).name, short_name(lab)):
            return lab
    raise UsageError(f"there is no lab {word!r}", "flightpath lab list")


def folder_of(lab: Lab) -> Path:
    return Path(inspect.getfile(type(lab))).parent


def short_name(lab: Lab) -> str:
    """Returns the lab's name without the number, for example `queues`."""
    return folder_of(lab).name.partition("_")[2]
