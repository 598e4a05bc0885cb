"""The C programs: without them links would depend on kernel modules that many machines lack."""

from pathlib import Path

from flightpath.commands import SETUP_HINT
from flightpath.errors import MissingCapability

_BUILD = Path(__file__).resolve().parent / "build"


def binary(name: str) -> Path:
    """The path of one of this folder's programs, for example `relay`.

    Raises:
        MissingCapability: it has not been built on this machine.
    """
    path = _BUILD / name
    if not path.is_file():
        raise MissingCapability(f"the program {path} has not been built", SETUP_HINT)
    return path
