"""Programs that a test runs to their end."""

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from flightpath.project import PROJECT


def finished(argv: Sequence[str | Path], **options: Any) -> subprocess.CompletedProcess[str]:
    """Runs a program, in the project's folder unless told otherwise; keeps what it prints as text."""
    return subprocess.run(argv, **{"cwd": PROJECT, "capture_output": True, "text": True, **options})
