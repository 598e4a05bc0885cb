"""Attempts of a hostile submission in the confinement of submissions: prints what it could do and see, as JSON."""

import contextlib
import json
import os
import socket
import subprocess
import sys
from pathlib import Path

from flightpath.project import PROJECT


def succeeds(action) -> bool:
    with contextlib.suppress(OSError):
        action()
        return True
    return False


def main() -> None:
    seen = {str(folder): sorted(each.name for each in folder.iterdir()) for folder in map(Path, sys.argv[2].split())}
    found = {
        "reads passwords": succeeds(lambda: Path("/etc/shadow").read_bytes()),
        "asks git": subprocess.run(["git", "-C", PROJECT, "log"], capture_output=True, check=False).returncode == 0,
        "writes into the project": succeeds(lambda: (PROJECT / "labs/evil").touch()),
        "writes into the submission": succeeds(lambda: Path("/submission/evil").touch()),
        "writes programs": succeeds(lambda: Path("/usr/bin/evil").touch()),
        "connects to this machine": succeeds(lambda: socket.create_connection(("127.0.0.1", int(sys.argv[1])), 1)),
        "becomes another user": succeeds(lambda: os.setuid(0)),
        "sees other processes": len([each for each in Path("/proc").iterdir() if each.name.isdecimal()]) > 4,
        "fills the disk": succeeds(lambda: _fill(Path("/tmp/large"))),
    }
    print(json.dumps([found, seen]), flush=True)
    if sys.argv[3:] == ["forever"]:
        while True:
            print("x" * 10_000)


def _fill(file: Path) -> None:
    with file.open("wb") as opened:
        for _ in range(1024):
            opened.write(bytes(1 << 20))


if __name__ == "__main__":
    main()
