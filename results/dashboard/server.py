"""The dashboard's web server."""

import socket

import uvicorn

from flightpath.errors import UsageError
from results.dashboard.app import Draw, application
from results.store.store import Store

ADDRESS = "127.0.0.1"
"""Loopback only: whoever may see the store has an account on this machine, or a tunnel to it (`ssh -L`)."""


def serve(store: Store, draw: Draw, port: int) -> None:
    """Prints the address, and serves until it is interrupted.

    Args:
        store: opened for reading.
        draw: draws a run's figures for its report.
        port: to listen on; 0 chooses a free one.

    Raises:
        UsageError: the port is in use, or not permitted.
    """
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((ADDRESS, port))
    except (OSError, OverflowError) as error:
        listener.close()
        raise UsageError(f"cannot listen on port {port}: {error}", "--port 0 chooses a free one") from error
    with listener:
        listener.listen()
        print(f"http://{ADDRESS}:{listener.getsockname()[1]}/", flush=True)
        config = uvicorn.Config(application(store, draw), log_level="warning", server_header=False, lifespan="off")
        uvicorn.Server(config).run(sockets=[listener])
