"""Where this copy of Flightpath lies: a checkout, or `site-packages` if it was installed from a wheel."""

import os
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1]
"""The folder of all packages; subprocesses run in it so that `python -m PACKAGE` finds them."""

IS_CHECKOUT = (PROJECT / "Makefile").is_file()


def cache_folder() -> Path:
    """Where this user's files go that any copy of Flightpath can use: `~/.cache/flightpath`, as XDG says."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "flightpath"


def build_folder() -> Path:
    """Where files go that are built on this machine (JMeter, BPF objects): `build/`, or `~/.cache/flightpath`."""
    return PROJECT / "build" if IS_CHECKOUT else cache_folder()


SETUP_HINT = (
    f"run `make setup` in {PROJECT}"
    if IS_CHECKOUT
    else "`python3 -m topologies doctor` names the command that installs what is missing"
)
"""What to do about a missing program or package."""
