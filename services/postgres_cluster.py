"""A new PostgreSQL cluster, from the archive that `make setup` makes of one: in virtual time initdb takes five seconds.

`python -m services.postgres_cluster` makes the archive.
"""

import hashlib
import shutil
import sys
import tempfile
from pathlib import Path

from flightpath.command_line import exit_code_of
from flightpath.commands import postgresql_programs as programs
from flightpath.commands import require, run
from flightpath.project import build_folder
from services.running.privileges import Privileges

SUPERUSER = "postgres"
CLUSTER = "cluster"
"""Name of a cluster's folder."""
_OPTIONS = (
    *("--no-sync", "--no-instructions", "--locale=C", "--encoding=UTF8", "--wal-segsize=4"),
    *("--auth=trust", f"--username={SUPERUSER}"),
)


def make_cluster(folder: Path, privileges: Privileges) -> Path:
    """Makes a cluster in a folder, which belongs to the server's user, and returns the cluster's own folder."""
    ready = _archive()
    if ready.exists():  # read by this process: the project may lie in a home folder that is closed to the server's user
        run([*privileges.prefix(), require("tar"), "--extract"], stdin=ready, cwd=folder)
    else:
        run([*privileges.prefix(), str(programs() / "initdb"), *_OPTIONS, str(folder / CLUSTER)], cwd=folder)
    return folder / CLUSTER


def archive_cluster() -> None:
    """Makes the archive, unless there is one for the installed version."""
    target = _archive()
    if target.exists():
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name, tempfile.TemporaryDirectory(dir=target.parent) as aside:
        folder = Path(name)
        privileges = Privileges.detect()
        privileges.give(folder)
        make_cluster(folder, privileges)
        new = Path(aside) / target.name
        run([require("tar"), "--create", f"--file={new}", CLUSTER], cwd=folder)
        shutil.move(new, target)


def _archive() -> Path:
    made_by = " ".join((str(programs()), *_OPTIONS))
    return build_folder() / f"postgresql-cluster-{hashlib.sha256(made_by.encode()).hexdigest()[:12]}.tar"


if __name__ == "__main__":
    sys.exit(exit_code_of(archive_cluster))
