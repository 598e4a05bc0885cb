"""Serves the examination on a Unix socket: `python -m services.exam --socket PATH` (settings in the environment)."""

import argparse
import os
import resource
from pathlib import Path

import uvloop

from services.exam.application import Examination
from services.exam.pages import Pages
from services.exam.questions import COUNT
from services.exam.server import serve
from services.exam.store import Store

DATABASE = "EXAM_DATABASE"  # in the environment, not on the command line, where every user could read the password
KEY = "EXAM_SESSION_KEY"


def main() -> None:
    """Reads the options, drops root's power if asked to, and serves until SIGTERM."""
    options = _options()
    soft_limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft_limit, soft_limit))
    if options.uid is not None:
        _become(options.uid, options.gid)
    uvloop.run(_serve(options.socket, options.connections))


async def _serve(path: Path, connections: int) -> None:
    async with Store(os.environ[DATABASE], connections) as store:
        application = Examination(store, Pages(COUNT), bytes.fromhex(os.environ[KEY]))
        await serve(application, path)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m services.exam", description=__doc__)
    parser.add_argument("--socket", type=Path, required=True, help="Unix socket to listen on")
    parser.add_argument("--connections", type=int, default=6, help="connections to PostgreSQL (default: 6)")
    parser.add_argument("--uid", type=int, help="become this user once everything is loaded (root only)")
    parser.add_argument("--gid", type=int, help="become this group")
    return parser.parse_args()


def _become(uid: int, gid: int) -> None:
    os.setgroups([])
    os.setresgid(gid, gid, gid)
    os.setresuid(uid, uid, uid)


if __name__ == "__main__":
    main()
