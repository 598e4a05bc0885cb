"""Serves the dashboard: without it the application would have nobody to answer."""

import socket

import uvicorn

from flightpath.errors import UsageError
from results.dashboard.app import Drawn, application
from results.store.store import Store

ADDRESS = "127.0.0.1"
"""Loopback only: whoever may see the store has an account here, or a tunnel to here (`ssh -L`)."""


def serve(store: Store, drawn: Drawn, port: int) -> None:
    """Serves until it is interrupted, and prints the address first.

    Args:
        store: opened to be read.
        drawn: draws a run's figures, for its report.
        port: to listen on; 0 takes a free one.

    Raises:
        UsageError: the port is taken, or may not be used.
    """
    listening = socket.socket()
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((ADDRESS, port))
    except (OSError, OverflowError) as error:
        listening.close()
        raise UsageError(f"cannot listen on port {port}: {error}", "choose another one: --port 0 finds one") from error
    with listening:
        listening.listen()
        print(f"http://{ADDRESS}:{listening.getsockname()[1]}/", flush=True)
        config = uvicorn.Config(application(store, drawn), log_level="warning", server_header=False, lifespan="off")
        uvicorn.Server(config).run(sockets=[listening])
