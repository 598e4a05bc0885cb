"""The virtual-time kernel, for tests that need one."""

import contextlib
import sys
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from execution.uml import kernel
from flightpath.errors import FlightpathError
from flightpath.project import PROJECT
from tests.support.finished import finished
from tests.support.process_list import mentioning

VIRTUAL = [sys.executable, "-m", "execution.virtual"]
"""The command `flightpath virtual`."""


def run_virtual(
    *words: str, options: tuple[str, ...] = (), typed: str = "", cwd: Path = PROJECT
) -> CompletedProcess[str]:
    """Runs a command in the virtual-time kernel."""
    return finished([*VIRTUAL, *options, "--", *words], cwd=cwd, input=typed, errors="surrogateescape")


def require_uml_kernel() -> None:
    try:
        kernel.find()
    except FlightpathError as error:
        pytest.skip(str(error).replace("\n", ": "))


def uml_kernels(folder: Path) -> dict[int, Path]:
    """PIDs of kernels whose commands may write to this folder or to one in it, and the folders that they share."""
    shared = {pid: shared_folder(pid) for pid in mentioning("init=")}
    return {pid: path for pid, path in shared.items() if path and _may_write(path, folder)}


def shared_folder(pid: int) -> Path | None:
    """The folder that a virtual-time kernel shares with this machine; None if it has ended."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cwd").readlink()
    return None


def _may_write(shared: Path, folder: Path) -> bool:
    with contextlib.suppress(FileNotFoundError):  # it has ended meanwhile
        links = [path for path in shared.glob("writable-*") if path.is_symlink()]  # without one, nothing is kept
        return any(link.readlink().is_relative_to(folder) for link in links)
    return False
