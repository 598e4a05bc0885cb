"""Makes the programs of the QUIC implementations, once per machine, version and recipe (`python -m services.quic`)."""

import fcntl
import shutil
import sys
import tempfile
from pathlib import Path

from services.quic.implementation import Implementation
from services.quic.implementations import IMPLEMENTATIONS


def build() -> None:
    """Builds what is not built yet, each in a folder of its own that is complete or not there.

    Raises:
        MissingCapability: Rust is missing or too old, or another program is missing.
        CommandFailed: a build failed; with the compiler's last words.
    """
    for implementation in IMPLEMENTATIONS.values():
        home = implementation.home
        home.parent.mkdir(parents=True, exist_ok=True)
        with (home.parent / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not home.exists():
                _build(implementation, home)
        print(f"QUIC: {implementation.name} {implementation.version} in {home}", file=sys.stderr)


def _build(implementation: Implementation, home: Path) -> None:
    with tempfile.TemporaryDirectory(prefix=f".{home.name}-", dir=home.parent) as scratch:
        new = Path(scratch) / "home"
        implementation.build(new)
        shutil.move(new, home)
