"""Debian's PostgreSQL: where the programs of its newest installed version lie."""

import os
from pathlib import Path

from flightpath.errors import MissingCapability
from flightpath.project import SETUP_HINT

INSTALLED = Path("/usr/lib/postgresql")


def programs() -> Path:
    """The folder of PostgreSQL's server programs; of the newest version if there are several.

    Raises:
        MissingCapability: no server is installed.
    """
    folders = [folder for folder in INSTALLED.glob("*/bin") if os.access(folder / "initdb", os.X_OK)]
    if not folders:
        raise MissingCapability(f"PostgreSQL is not installed: there is no server in {INSTALLED}", SETUP_HINT)
    return max(folders, key=lambda folder: [int(part) for part in folder.parent.name.split(".") if part.isdigit()])
