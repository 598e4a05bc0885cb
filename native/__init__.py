"""The C programs: links, tunnel, network namespaces, and the loader of BPF programs."""

import os
from pathlib import Path

from flightpath.errors import MissingCapability
from flightpath.project import IS_CHECKOUT, SETUP_HINT

_SOURCES = Path(__file__).resolve().parent
_BUILD = _SOURCES / "build"
BUILD_COMMAND = "make native" if IS_CHECKOUT else f"make -C {_SOURCES}"
_HINT = SETUP_HINT if IS_CHECKOUT else f"build it (packages: gcc libc6-dev libssl-dev libbpf-dev): {BUILD_COMMAND}"


def preloading(library: str) -> dict[str, str]:
    """Returns variables that preload one of this folder's libraries into a program, besides those preloaded already.

    Its folder's path may have spaces, at which LD_PRELOAD is split; LD_LIBRARY_PATH is not.
    """
    ours = {"LD_PRELOAD": library, "LD_LIBRARY_PATH": str(binary(library).parent)}
    return {name: ":".join(filter(None, [os.environ.get(name), value])) for name, value in ours.items()}


def preloading_command(library: str) -> list[str]:
    """Returns the words before a command that preload one of this folder's libraries, after `mptcpize run` too.

    That preloads a library of its own, and forgets those that were preloaded before.
    """
    script = (
        'export LD_LIBRARY_PATH="${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$0" LD_PRELOAD="${LD_PRELOAD:+$LD_PRELOAD:}$1"; '
        'shift; exec "$@"'
    )
    return ["sh", "-c", script, str(binary(library).parent), library]


def binary(name: str) -> Path:
    """Returns the path of one of this folder's programs, for example `relay`.

    Raises:
        MissingCapability: it has not been built on this machine.
    """
    path = _BUILD / name
    if not path.is_file():
        raise MissingCapability(f"the program {path} has not been built", _HINT)
    return path
