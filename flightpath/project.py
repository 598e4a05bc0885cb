"""Folders of this copy of Flightpath: a checkout, or `site-packages` for a wheel."""

import os
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1]
"""Folder of all packages."""

IS_CHECKOUT = (PROJECT / "Makefile").is_file()


def cache_folder() -> Path:
    """Returns the folder of files that all copies of Flightpath share: `~/.cache/flightpath`, or in XDG_CACHE_HOME."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "flightpath"


def build_folder() -> Path:
    """Returns the folder of files built on this machine (JMeter, BPF objects): `build/`, or `cache_folder()`."""
    return PROJECT / "build" if IS_CHECKOUT else cache_folder()


BUILT_IN_SANDBOX = Path("/run/flightpath/built")
"""`build_folder()` in a sandbox."""


def same_path_everywhere(path: Path) -> Path:
    """Returns a path in `build_folder()` as it is in each sandbox, wherever this copy lies; outside one, unchanged.

    A program keeps its paths in memory, and in virtual time a longer one may give it other random numbers.
    """
    folder = build_folder()
    inside = BUILT_IN_SANDBOX / path.relative_to(folder) if path.is_relative_to(folder) else path
    return inside if inside.exists() else path


SETUP_HINT = (
    f"run `make setup` in {PROJECT}"
    if IS_CHECKOUT
    else "`flightpath doctor` names the command that installs what is missing"
)
"""Hint for a missing program or package."""
