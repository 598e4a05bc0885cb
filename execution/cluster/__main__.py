"""The command `flightpath cluster`, and `flightpath worker`: the parts of a cluster."""

import argparse
import asyncio
import contextlib
import sys
from collections.abc import Callable, Coroutine, Sequence
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from execution.cluster.key import DEFAULT_KEY, make_key, require_dask, scheduler_address, security
from flightpath.command_line import check_jobs, run_command
from flightpath.errors import UsageError
from flightpath.launcher import require_mininet
from flightpath.parsers import Parser

if TYPE_CHECKING:
    from tornado.httputil import HTTPServerRequest

_EPILOG = """\
examples:
  flightpath cluster key                       makes the key: copy it to each machine
  flightpath cluster scheduler                 on one machine
  flightpath worker tls://HOST:8786            on each machine that measures
  flightpath run mptcp_load --cluster tls://HOST:8786 --clock virtual
"""
_RETRY_S = 3

_WORKER = """\
Measures cells for the runs that use this scheduler, until Ctrl-C. First it tests this machine: the doctor, and a link
measured on both clocks. A cell on the real clock has the machine to itself; in virtual time several run in parallel.
"""
_PAGES, _WORKERS_PAGES = "127.0.0.1:8787", "127.0.0.1:0"
"""Dask serves pages without TLS and without asking who one is: on loopback only; another port if that one is taken."""

_LOOPBACK = ("127.0.0.1", "localhost")


def main(arguments: Sequence[str] | None = None, prog: str = "flightpath cluster") -> int:
    """Runs one command; returns the exit code."""
    return run_command(_parser(prog), arguments)


def _parser(prog: str) -> argparse.ArgumentParser:
    parser = Parser(
        prog=prog,
        description="Measures cells on many machines, by Dask distributed. All parts need one key, and talk over TLS.",
        epilog=_EPILOG,
    )
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    key = commands.add_parser("key", help="make a key", description="Makes the key of a new cluster.")
    key.set_defaults(run_command=_make_key)
    scheduler = commands.add_parser("scheduler", help="run the scheduler", description="Runs the scheduler.")
    scheduler.add_argument("--port", type=int, default=8786, metavar="N", help="port (8786); 0 chooses a free one")
    scheduler.add_argument("--host", default="", metavar="ADDRESS", help="address to listen on (default: all)")
    scheduler.add_argument("--file", type=Path, metavar="FILE", help="write the address to FILE, for --cluster FILE")
    scheduler.set_defaults(run_command=_scheduler)
    worker = commands.add_parser("worker", help="measure cells on this machine", description=_WORKER)
    worker.add_argument("scheduler", metavar="tls://HOST:PORT", help="the scheduler's address, or the file that has it")
    worker.add_argument(
        "--jobs",
        type=int,
        metavar="N",
        help="parallel cells in virtual time (default: as many as it has processors and memory for)",
    )
    worker.set_defaults(run_command=_worker)
    for command in (key, scheduler, worker):
        command.add_argument(
            "--key", type=Path, default=DEFAULT_KEY, metavar="FILE", help=f"the cluster's key ({DEFAULT_KEY})"
        )
    return parser


def _require() -> None:
    require_mininet()
    require_dask()


def _make_key(options: argparse.Namespace) -> int:
    _require()
    make_key(options.key.expanduser())
    print(f"{options.key}: copy it to each machine of the cluster; whoever has it can run programs on all of them")
    return 0


def _scheduler(options: argparse.Namespace) -> int:
    _require()
    from distributed import Scheduler

    async def serve() -> None:
        where = {"host": options.host or None, "port": options.port, "protocol": "tls", "dashboard_address": _PAGES}
        file = str(options.file) if options.file else None
        async with Scheduler(security=security(options.key), scheduler_file=file, **where) as scheduler:
            _restrict_to_loopback(scheduler)
            print(scheduler.address, flush=True)
            await scheduler.finished()

    return _until_interrupted(serve)


def _worker(options: argparse.Namespace) -> int:
    _require()
    from distributed import Worker

    from execution.cluster.machine import this_machine

    scheduler_address(options.scheduler)
    check_jobs(options.jobs)
    security(options.key)
    about = this_machine()
    for clock, proof in about["proof"]["clocks"].items():
        if proof["why_not"]:
            print(f"not used in {clock} time: {proof['why_not']}", file=sys.stderr, flush=True)
    jobs = options.jobs or max(1, about["labs"])

    async def serve() -> None:
        how = {"nthreads": jobs, "resources": {"exclusive": 1}, "dashboard_address": _WORKERS_PAGES, "memory_limit": 0}
        keys = security(options.key)
        while True:
            with contextlib.suppress(OSError, TimeoutError, RuntimeError):  # there is no scheduler yet
                async with Worker(scheduler_address(options.scheduler), security=keys, protocol="tls", **how) as worker:
                    _restrict_to_loopback(worker)
                    print(f"measures for {options.scheduler}: up to {jobs} cells at once", flush=True)
                    await worker.finished()
            print(f"waiting for the scheduler {options.scheduler}", flush=True)
            await asyncio.sleep(_RETRY_S)

    return _until_interrupted(serve)


def _restrict_to_loopback(node: Any) -> None:
    """Lets Dask's own pages of a scheduler or worker answer only requests that name loopback as host and origin.

    Otherwise a page on the web could read them in a user's browser: by a name of its own that it lets resolve to
    127.0.0.1 (DNS rebinding), or over a WebSocket.
    """
    from tornado.web import ErrorHandler

    application = node.http_application
    find_handler = application.find_handler

    def find_allowed_handler(request: "HTTPServerRequest", **arguments: Any) -> Any:
        origin = request.headers.get("Origin")
        if request.host_name in _LOOPBACK and (origin is None or urlsplit(origin).hostname in _LOOPBACK):
            return find_handler(request, **arguments)
        return application.get_handler_delegate(request, ErrorHandler, {"status_code": HTTPStatus.FORBIDDEN})

    application.find_handler = find_allowed_handler


def _until_interrupted(serve: Callable[[], Coroutine[None, None, None]]) -> int:
    try:
        asyncio.run(serve())
    except OSError as error:
        raise UsageError(f"cannot listen: {error}", "choose another address or port") from error
    return 0


if __name__ == "__main__":
    sys.exit(main())
