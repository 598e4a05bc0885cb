"""`python -m labs.framework.inside FOLDER`: makes the experiments that a file requests, in a sandbox.

It runs where students' work is tried: mostly in the virtual-time kernel.
"""

import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from pydantic import TypeAdapter

from flightpath.errors import FlightpathError
from labs.framework.experiments import Request, failed
from labs.framework.lab import Measured, Work
from labs.framework.work import MAX_BYTES, read
from topologies.sandbox import sandbox
from topologies.sandbox.sandbox import TEMPORARY


def main(folder: Path) -> int:
    """Reads the requests in a folder, and writes what was measured there; returns the exit code."""
    requests = TypeAdapter(list[Request]).validate_json((folder / "requests.json").read_bytes())
    return sandbox.run_inside(lambda: _measure_all(requests, folder / "measured.json"), keep=[folder])


def _measure_all(requests: Sequence[Request], target: Path) -> int:
    target.write_bytes(TypeAdapter(list[Measured]).dump_json(list(_measured(requests))))
    return 0


def _measured(requests: Sequence[Request]) -> Iterator[Measured]:
    for request in requests:
        try:
            submission = read(Path(request.folder))
            parameters = submission.variant.parameters(submission.lab)
            work, lab = submission.work, submission.lab
            yield lab.measure(parameters, Work(_readable(work.folder), lab.tried(work.answers)))
        except FlightpathError as error:
            yield failed(error)


def _readable(folder: Path) -> Path:
    """Copies a student's files so that unprivileged programs can read them, and returns the copy's folder."""
    target = TEMPORARY / "work"
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(mode=0o755)
    for file in folder.rglob("*"):
        if file.is_file() and not file.is_symlink() and file.stat().st_size <= MAX_BYTES:
            copy = target / file.relative_to(folder)
            copy.parent.mkdir(parents=True, exist_ok=True, mode=0o755)
            copy.write_bytes(file.read_bytes())
            copy.chmod(0o755)
    return target


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
