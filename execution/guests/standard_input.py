"""Standard input for a command in a guest: copied to its end before the guest starts."""

import os
import select
import shutil
import sys
from pathlib import Path

_NOTE_AFTER_S = 2.0


def copy_to(target: Path) -> None:
    """Copies this process's standard input into a file; nothing of a terminal or of a closed descriptor."""
    try:
        source = os.fdopen(os.dup(0), "rb")
    except OSError:  # it is closed
        return
    with source:
        if source.isatty():
            return
        if not select.select([source], [], [], _NOTE_AFTER_S)[0]:
            print("waiting for the end of standard input (for none: < /dev/null)", file=sys.stderr, flush=True)
        with target.open("wb") as copy:
            shutil.copyfileobj(source, copy)
