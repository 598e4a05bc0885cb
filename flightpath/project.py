"""Where this copy of Flightpath lies: a checkout, or `site-packages` if it was installed from a wheel."""

import os
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1]
"""The folder of all packages; subprocesses run in it so that `python -m PACKAGE` finds them."""

IS_CHECKOUT = (PROJECT / "Makefile").is_file()


def build_folder() -> Path:
    """Where files go that are built on this machine (JMeter, BPF objects): `build/`, or `~/.cache/flightpath`."""
    if IS_CHECKOUT:
        return PROJECT / "build"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "flightpath"


SETUP_HINT = (
    f"run `make setup` in {PROJECT}"
    if IS_CHECKOUT
    else "`python3 -m topologies doctor` names the command that installs what is missing"
)
"""What to do about a missing program or package."""
