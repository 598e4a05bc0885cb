"""The processes of this machine, for tests of what runs and what is left behind."""

import os
from pathlib import Path


def command_lines() -> dict[int, list[str]]:
    """The words of every other process's command line, by its PID; zombies have none."""
    lines = {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            words = (entry / "cmdline").read_bytes().decode(errors="replace").split("\0")
        except OSError:
            continue
        if words != [""] and int(entry.name) != os.getpid():
            lines[int(entry.name)] = words
    return lines
