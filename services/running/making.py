"""Programs that are made once per machine, in a folder of their own that is complete or not there."""

import fcntl
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path


def make_once(home: Path, make: Callable[[Path], None], lock_name: str) -> None:
    """Makes a folder unless it is there; another process that does so meanwhile is waited for.

    Args:
        make: fills a new folder, whose path it gets, which is then moved to `home`.
        lock_name: file beside it, which is locked meanwhile.
    """
    home.parent.mkdir(parents=True, exist_ok=True)
    with (home.parent / lock_name).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if home.exists():
            return
        with tempfile.TemporaryDirectory(prefix=f".{home.name}-", dir=home.parent) as scratch:
            new = Path(scratch) / "home"
            make(new)
            shutil.move(new, home)
