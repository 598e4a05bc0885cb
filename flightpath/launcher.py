"""Choice of the interpreter: `flightpath run NAME` works with any Python, and switches to the project's own.

For `-m` and `-c`, Python puts the current folder first on its path. That folder may be anybody's, and its `json.py`
would run in place of the library's. None of our processes has it there.
"""

import io
import os
import pwd
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import NoReturn

from flightpath.errors import MissingCapability, UsageError
from flightpath.processes import is_machine_root
from flightpath.project import IS_CHECKOUT, PROJECT, SETUP_HINT

# A wheel lies in ENVIRONMENT/lib/pythonX.Y/site-packages.
_ENVIRONMENT = PROJECT / ".venv" if IS_CHECKOUT else PROJECT.parent.parent.parent
_NO_MININET = (
    f"Mininet is not installed for {sys.executable}",
    "install Debian's package mininet, and make the environment with access to it: `python3 -m venv "
    "--system-site-packages`, or `pipx install --system-site-packages`",
)


def use_project_environment(package: str) -> None:
    """Takes the current folder off the path of `python -m PACKAGE…`; re-executes it with `.venv/bin/python` if needed.

    Called when the package is loaded. Does nothing if the package is only imported, or if it is an installed wheel,
    which runs only in its own environment. Ends the process with exit code 3 if the environment does not exist yet, or
    if a scenario lacks Mininet, which no package index has.
    """
    words = sys.orig_argv
    module = words[words.index("-m") + 1] if "-m" in words[:-1] else ""
    if module.partition(".")[0] != package:
        return
    prepare_process()
    options = ["-P"] if _take_folder_off_path() else []
    if IS_CHECKOUT and Path(sys.prefix) != _ENVIRONMENT and not os.environ.get("VIRTUAL_ENV"):
        python = _ENVIRONMENT / "bin" / "python"
        if not python.exists():
            _refuse("Flightpath is not set up here", SETUP_HINT)
        os.execv(python, [str(python), *options, *words[1:]])
    if module.startswith("scenarios.") and find_spec("mininet") is None:
        _refuse(*_NO_MININET)


def require_mininet() -> None:
    """Checks for Mininet, which no package index has.

    Raises:
        MissingCapability: it is not installed for this Python.
    """
    if find_spec("mininet") is None:
        raise MissingCapability(*_NO_MININET)


def prepare_process() -> None:
    """Prepares this process for users without an entry in the password database, and for any stdout.

    As in `docker run --user`, such a user gets a home folder, and a name. What stdout cannot encode is escaped, as on
    stderr. What is closed of stdin, stdout and stderr is /dev/null, or else the next file that is opened would be it.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode))
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors == "strict":
        sys.stdout.reconfigure(errors="backslashreplace")
    ensure_home()


def ensure_home() -> None:
    """Gives a user without an entry in the password database a home folder and a name."""
    try:
        pwd.getpwuid(os.getuid())
    except KeyError:
        for name, value in {"HOME": "/", "LOGNAME": str(os.getuid())}.items():  # as Docker does
            os.environ[name] = os.environ.get(name) or value


def require_trusted_owner() -> None:
    """Checks that root does not run, by a link on PATH, what another user than the caller of sudo may change.

    Raises:
        UsageError: this copy, or a folder that it lies in, belongs to such a user.
    """
    if not is_machine_root() or not Path(sys.argv[0]).is_symlink():
        return
    trusted = {0, int(os.environ.get("SUDO_UID") or 0)}
    for folder in (PROJECT, *PROJECT.parents):
        if (owner := folder.stat().st_uid) not in trusted:
            raise UsageError(
                f"{sys.argv[0]} would run as root what user {owner} may change: {folder} is theirs",
                f"give this copy to root (chown -R root: {folder}), or run `make setup` in a copy of root's",
            )


def project_python() -> str:
    """Returns the Python that has Flightpath's libraries; this one may be Debian's, which runs Mininet's `mn`."""
    python = _ENVIRONMENT / "bin" / "python"
    in_environment = sys.prefix != sys.base_prefix
    return sys.executable if in_environment or not python.exists() else str(python)


def python_module(name: str, *arguments: str) -> list[str]:
    """Returns the command that runs one of our modules, in any folder and without the modules of that folder (-P)."""
    return ["env", f"PYTHONPATH={_paths()}", project_python(), "-P", "-m", name, *arguments]


def safe_path() -> dict[str, str]:
    """Returns variables for our processes that a library starts: with our modules alone on their path."""
    return {"PYTHONPATH": _paths(), "PYTHONSAFEPATH": "1"}


def _paths() -> str:
    """Returns PYTHONPATH, with this checkout first; an empty entry in it would be the current folder."""
    ours = [str(PROJECT)] if IS_CHECKOUT else []  # a wheel's Python finds it behind the standard library
    return os.pathsep.join(dict.fromkeys([*ours, *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]))


def _take_folder_off_path() -> bool:
    """Takes the current folder off the path, unless it is the project's own; returns whether it was there."""
    try:
        has_folder = not sys.flags.safe_path and sys.path[0] == str(Path.cwd()) != str(PROJECT)
    except FileNotFoundError:  # somebody has removed the folder
        return False
    if has_folder:
        del sys.path[0]
    return has_folder


def _refuse(problem: str, hint: str) -> NoReturn:
    print(f"error: {problem}\n  {hint}", file=sys.stderr)
    sys.exit(MissingCapability.exit_code)
