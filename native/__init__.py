"""The C programs, and where they are once they have been built."""

from pathlib import Path

from flightpath.commands import SETUP_HINT
from flightpath.errors import MissingCapability

_BUILD = Path(__file__).resolve().parent / "build"


def binary(name: str) -> Path:
    """The path of a program, for example `relay`.

    Raises:
        MissingCapability: it has not been built on this machine.
    """
    path = _BUILD / name
    if not path.is_file():
        raise MissingCapability(f"the program {path} has not been built", SETUP_HINT)
    return path
