"""Requirements of windows of programs in a network's hosts."""

import os
import shutil

from flightpath.errors import UsageError

_ALTERNATIVE = "run the command here: `h1 COMMAND`, or `h1 COMMAND > FILE &` to continue meanwhile"
_PROGRAMS = {"xterm": "xterm", "gterm": "gnome-terminal"}


def require_display(terminal: str = "") -> None:
    """Checks that a window can be opened, and that the terminal (by Mininet's name) is installed."""
    display = os.environ.get("DISPLAY", "")
    if not display:
        raise UsageError("there is no display for windows (DISPLAY is not set)", _ALTERNATIVE)
    if display.partition(":")[0] not in ("", "unix"):
        raise UsageError(f"the display {display} is another machine's, which a sandbox cannot reach", _ALTERNATIVE)
    program = _PROGRAMS.get(terminal)
    if program and shutil.which(program) is None:
        raise UsageError(f"{program} is not installed", f"install it, or {_ALTERNATIVE}")
