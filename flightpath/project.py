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


SETUP_HINT = (
    f"run `make setup` in {PROJECT}"
    if IS_CHECKOUT
    else "`flightpath doctor` names the command that installs what is missing"
)
"""Hint for a missing program or package."""
