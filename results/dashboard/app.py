"""The dashboard's web application and server, which only reads: no URL starts, changes or deletes anything."""

import socket
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import uvicorn
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.base import BaseHTTPMiddleware, RequestResponseEndpoint
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from flightpath.errors import FlightpathError, UsageError
from flightpath.extensions import contributions
from results.dashboard import views
from results.exchange.progress import live_networks
from results.pages import templating
from results.pages.html_report import render_html
from results.records import CellResult, RunRecord
from results.store.lab_checks import has_checks
from results.store.store import Store

ADDRESS = "127.0.0.1"
"""Loopback: a visitor needs an account on this machine, or a tunnel to it (`ssh -L`)."""

HOSTS = [ADDRESS, "localhost"]
"""Accepted host names: a site that points its own name here (DNS rebinding) is refused."""

_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; "
    "img-src data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_STATIC: Mapping[str, tuple[str, Callable[[], str]]] = {
    "page.css": ("text/css", templating.stylesheet),
    "page.js": ("text/javascript", templating.script),
    "live.js": ("text/javascript", partial(templating.asset, "live.js")),
}

COLLECTORS = "flightpath.collectors"
"""Group of functions (entry points) that return a collector of Prometheus' metrics for a store."""

Draw = Callable[[RunRecord, Sequence[CellResult], Path], list[Path]]
"""Function that draws a run's figures into a folder (`results.commands.scenarios.drawn_if_possible`)."""


def application(store: Store, draw: Draw, answer: views.Answer, *, names: bool = False) -> Starlette:
    """Returns the dashboard of a store that was opened for reading; `names` shows the students of a class."""
    templates = templating.environment()

    def page(name: str, view: Callable[[Store, Request], dict[str, Any]]) -> Callable[[Request], Response]:
        def answer(request: Request) -> Response:  # not a coroutine: Starlette runs it in a thread
            shown = {
                **view(store, request),
                "has_class": has_checks(store),
                "has_networks": bool(live_networks(store.folder)),
            }
            return HTMLResponse(templating.encodable(templates.get_template(name).render(**shown)))

        return answer

    def state(request: Request) -> Response:
        return JSONResponse(views.state(store, request.path_params["run"]))

    def metrics(_request: Request) -> Response:
        collectors = (collector_of(store) for collector_of in contributions(COLLECTORS).values())
        return Response(b"".join(map(generate_latest, collectors)), media_type=CONTENT_TYPE_LATEST)

    def series(request: Request) -> Response:
        return Response(views.series(store, request.path_params["run"]), media_type="application/json")

    async def report(request: Request) -> Response:
        html = await run_in_threadpool(_report, store, request.path_params["run"], draw, answer)
        policy = templating.policy(f"\n{templating.script()}")
        return HTMLResponse(html, headers={"Content-Security-Policy": f"{policy}; frame-ancestors 'none'"})

    def failed(_request: Request, error: Exception) -> Response:
        status, message = _status_and_message(error)
        page = templates.get_template("failed.html").render(message=message, page="")
        return HTMLResponse(templating.encodable(page), status)

    return Starlette(
        routes=[
            Route("/", page("runs.html", views.runs)),
            Route("/runs/{run}", page("run.html", partial(views.run, answer=answer))),
            Route("/runs/{run}/state", state),
            Route("/runs/{run}/series", series),
            Route("/runs/{run}/report", report),
            Route("/history", page("history.html", views.history)),
            Route("/compare", page("compare.html", views.compare)),
            Route("/networks", page("networks.html", views.networks)),
            Route("/class", page("class.html", partial(views.lab_class, names=names))),
            Route("/metrics", metrics),
            Route("/static/{name}", _static),
        ],
        exception_handlers={FlightpathError: failed, HTTPException: failed, 500: failed},
        middleware=[
            Middleware(BaseHTTPMiddleware, dispatch=_with_headers),
            Middleware(TrustedHostMiddleware, allowed_hosts=HOSTS),
        ],
    )


def _static(request: Request) -> Response:
    name = request.path_params["name"]
    if name not in _STATIC:
        raise HTTPException(404)
    media_type, content = _STATIC[name]
    return Response(str(content()), media_type=media_type)


def _status_and_message(error: Exception) -> tuple[int, str]:
    status = 404 if isinstance(error, UsageError) else getattr(error, "status_code", 500)
    if isinstance(error, FlightpathError):
        return status, str(error)
    return status, "There is no such page." if status == 404 else getattr(error, "detail", "The dashboard failed.")


def serve(app: Starlette, port: int) -> None:
    """Prints the URL of a dashboard, and serves it until interrupted; port 0 is any free port.

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
        config = uvicorn.Config(app, log_level="warning", server_header=False, lifespan="off")
        uvicorn.Server(config).run(sockets=[listener])


def _report(store: Store, run: str, draw: Draw, answer: views.Answer) -> str:
    record = store.run(run)
    cells = store.cells(record.run_id)
    with tempfile.TemporaryDirectory(prefix="flightpath-report-") as folder:
        figures = draw(record, cells, Path(folder))
        return render_html(store, record.run_id, figures, answer=answer(record.scenario, cells))


async def _with_headers(request: Request, answer: RequestResponseEndpoint) -> Response:
    """Adds security headers: browsers use our own content only."""
    response = await answer(request)
    for name, value in _HEADERS.items():
        response.headers.setdefault(name, value)
    return response
