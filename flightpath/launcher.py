"""`python3 -m scenarios.NAME` with any Python: continues in the project's own environment."""

import os
import sys
from pathlib import Path

from flightpath.project import PROJECT

_ENVIRONMENT = PROJECT / ".venv"
_MISSING_CAPABILITY = 3


def use_project_environment(package: str) -> None:
    """Continues this command with `.venv/bin/python` if it was started as `python -m PACKAGE…` with another Python.

    Does nothing where a package is only imported. Ends with exit code 3 if there is no environment yet.
    """
    words = sys.orig_argv
    module = words[words.index("-m") + 1] if "-m" in words[:-1] else ""
    if module.split(".")[0] != package or Path(sys.prefix) == _ENVIRONMENT or os.environ.get("VIRTUAL_ENV"):
        return
    python = _ENVIRONMENT / "bin" / "python"
    if not python.exists():
        print(f"error: Flightpath is not set up here\n  run `make setup` in {PROJECT}", file=sys.stderr)
        sys.exit(_MISSING_CAPABILITY)
    os.execv(python, [str(python), *words[1:]])


def project_python() -> str:
    """The Python that has the project's libraries, also where this one is another (Mininet's `mn` runs Debian's)."""
    python = _ENVIRONMENT / "bin" / "python"
    in_environment = sys.prefix != sys.base_prefix
    return sys.executable if in_environment or not python.exists() else str(python)
