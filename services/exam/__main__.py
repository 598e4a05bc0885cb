"""Serves the examination on a Unix socket: `python -m services.exam --socket PATH` (settings in the environment)."""

import argparse
import asyncio
import contextlib
import gc
import os
import resource
import sys
from pathlib import Path

import asyncpg
import uvicorn

from services.exam import DATABASES, SESSION_KEY
from services.exam.application import Examination
from services.exam.pages import Pages
from services.exam.questions import COUNT
from services.exam.store import Store

_BACKLOG = 4096
_DATABASE_CONNECTIONS = 6
_KEEP_ALIVE_S = 3600  # longer than nginx's own limit: if this side closed first, a form could be lost


def main() -> None:
    """Reads the options, drops root's privileges if requested, and serves until SIGTERM."""
    parser = argparse.ArgumentParser(prog="python -m services.exam", description=__doc__)
    parser.add_argument("--socket", type=Path, required=True, help="Unix socket to listen on")
    parser.add_argument("--plain", action="store_true", help="pages without style sheet, navigation and rules")
    parser.add_argument("--uid", type=int, help="become this user once everything is loaded (root only)")
    parser.add_argument("--gid", type=int, help="become this group")
    options = parser.parse_args()
    hard_limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard_limit, hard_limit))
    store = Store(os.environ[DATABASES].split(), _DATABASE_CONNECTIONS)
    application = Examination(store, Pages(COUNT, plain=options.plain), bytes.fromhex(os.environ[SESSION_KEY]))
    config = _server(application, options.socket)
    config.load()  # imports what it needs, while this process may still read it
    loop_factory = config.get_loop_factory()
    if options.uid is not None:
        os.setgroups([])
        os.setresgid(options.gid, options.gid, options.gid)
        os.setresuid(options.uid, options.uid, options.uid)
    gc.freeze()  # loaded modules stay, so that garbage collection need not examine them
    with asyncio.Runner(loop_factory=loop_factory) as runner:
        runner.run(_serve(store, config))


async def _serve(store: Store, config: uvicorn.Config) -> None:
    async with contextlib.aclosing(store):
        try:
            await store.connect()
        except (OSError, asyncpg.PostgresError) as error:
            sys.exit(f"cannot connect to the database: {error}")
        await uvicorn.Server(config).serve()


def _server(application: Examination, path: Path) -> uvicorn.Config:
    return uvicorn.Config(
        application,
        uds=str(path),
        loop="uvloop",
        http="httptools",
        ws="none",
        lifespan="off",
        interface="asgi3",
        backlog=_BACKLOG,
        access_log=False,
        log_level="warning",
        proxy_headers=False,
        server_header=False,
        date_header=False,
        timeout_keep_alive=_KEEP_ALIVE_S,
        timeout_graceful_shutdown=2,
    )


if __name__ == "__main__":
    main()
