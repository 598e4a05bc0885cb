"""Choice of the interpreter: `flightpath run NAME` works with any Python, and switches to the project's own."""

import os
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import NoReturn

from flightpath.errors import MissingCapability
from flightpath.project import IS_CHECKOUT, PROJECT, SETUP_HINT

# A wheel lies in ENVIRONMENT/lib/pythonX.Y/site-packages.
_ENVIRONMENT = PROJECT / ".venv" if IS_CHECKOUT else PROJECT.parents[2]
_NO_MININET = (
    f"Mininet is not installed for {sys.executable}",
    "install Debian's package mininet, and make the environment with access to it: `python3 -m venv "
    "--system-site-packages`, or `pipx install --system-site-packages`",
)


def use_project_environment(package: str) -> None:
    """Re-executes `python -m PACKAGE…` with `.venv/bin/python` if another Python runs it.

    Called when the package is loaded. Does nothing if the package is only imported, or if it is an installed wheel,
    which runs only in its own environment. Ends the process with exit code 3 if the environment does not exist yet, or
    if a scenario lacks Mininet, which no package index has.
    """
    words = sys.orig_argv
    module = words[words.index("-m") + 1] if "-m" in words[:-1] else ""
    if module.partition(".")[0] != package:
        return
    if IS_CHECKOUT and Path(sys.prefix) != _ENVIRONMENT and not os.environ.get("VIRTUAL_ENV"):
        python = _ENVIRONMENT / "bin" / "python"
        if not python.exists():
            _refuse("Flightpath is not set up here", SETUP_HINT)
        os.execv(python, [str(python), *words[1:]])
    if module.startswith("scenarios.") and find_spec("mininet") is None:
        _refuse(*_NO_MININET)


def require_mininet() -> None:
    """Checks for Mininet, which no package index has.

    Raises:
        MissingCapability: it is not installed for this Python.
    """
    if find_spec("mininet") is None:
        raise MissingCapability(*_NO_MININET)


def project_python() -> str:
    """Returns the Python that has Flightpath's libraries; this one may be Debian's, which runs Mininet's `mn`."""
    python = _ENVIRONMENT / "bin" / "python"
    in_environment = sys.prefix != sys.base_prefix
    return sys.executable if in_environment or not python.exists() else str(python)


def _refuse(problem: str, hint: str) -> NoReturn:
    print(f"error: {problem}\n  {hint}", file=sys.stderr)
    sys.exit(MissingCapability.exit_code)
