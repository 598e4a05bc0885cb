"""Windows of programs in a network's hosts: where they are possible."""

import os
import shutil

from flightpath.errors import UsageError

_INSTEAD = "run the command here: `h1 COMMAND`, or `h1 COMMAND > FILE &` to go on meanwhile"
_PROGRAMS = {"xterm": "xterm", "gterm": "gnome-terminal"}


def require_display(terminal: str = "") -> None:
    """Checks that a window can be opened, and that a terminal of Mininet's name is installed.

    Raises:
        UsageError: there is no display, it is another machine's, which cannot be reached from a sandbox, or the
            terminal is missing.
    """
    display = os.environ.get("DISPLAY", "")
    if not display:
        raise UsageError("there is no display for windows (DISPLAY is not set)", _INSTEAD)
    if display.partition(":")[0] not in ("", "unix"):
        raise UsageError(f"the display {display} is another machine's, which a sandbox cannot reach", _INSTEAD)
    program = _PROGRAMS.get(terminal)
    if program and shutil.which(program) is None:
        raise UsageError(f"{program} is not installed", f"install it, or {_INSTEAD}")
