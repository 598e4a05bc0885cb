"""Lines from the keyboard for a program in a virtual-time kernel, while its clock stands still.

It writes a prompt into the folder that the guest shares, and stops its clock; the process outside reads a line, writes
it into that folder, and lets the clock go on (`execution/uml/terminal.py`).
"""

import os
from pathlib import Path

PROMPT, LINE = "keyboard-prompt", "keyboard-line"
"""Files in the shared folder."""

GO = "go"
"""Line after which the clock keeps real pace again."""

_SHARED = "FLIGHTPATH_SHARED"
"""`flightpath.calls.SHARED`, which `mn` cannot import: it runs with Debian's Python."""

_HOLD = Path("/sys/kernel/um-ext-time/bc-message")
"""File in the guest that stops its clock, within a write to it (`execution/uml/clock_controller.py`)."""


def line_from_outside(prompt: str) -> str:
    """Returns a line that somebody types while the clock of this kernel stands still."""
    shared = Path(os.environ[_SHARED])
    (shared / PROMPT).write_text(prompt, encoding="utf-8")
    _HOLD.write_text("1", encoding="ascii")
    return (shared / LINE).read_text(encoding="utf-8")
