"""The dashboard's pages by address: without it looking at a run would need a new report each time a cell is done.

It only reads: there is no address that starts, changes or deletes anything, and no method but GET.
"""

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from flightpath.errors import FlightpathError, UsageError
from results.dashboard import views
from results.pages import templating as pages
from results.pages.page import render_html
from results.store.store import Store

HOSTS = ["127.0.0.1", "localhost"]
"""The names under which it may be called: a page of another site that points its own name here is refused."""

_POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; "
    "form-action 'self'; frame-ancestors 'none'"
)
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_STATIC = {"page.css": "text/css", "tables.js": "text/javascript", "live.js": "text/javascript"}

Drawn = Callable[..., list[Path]]
"""As `results.commands.commands.drawn`: draws a run's figures into a folder."""


def application(store: Store, drawn: Drawn) -> Starlette:
    """The dashboard of a store.

    Args:
        store: opened to be read.
        drawn: draws a run's figures, for its report.
    """
    templates = pages.environment()

    def page(name: str, look: Callable[[Store, Request], dict[str, Any]]) -> Callable[[Request], Response]:
        def answer(request: Request) -> Response:  # no coroutine: Starlette runs it in a thread, beside others
            return HTMLResponse(templates.get_template(name).render(**look(store, request)))

        return answer

    def state(request: Request) -> Response:
        return JSONResponse(views.state(store, request.path_params["run"]))

    async def report(request: Request) -> Response:
        html = await run_in_threadpool(_report, store, request.path_params["run"], drawn)
        policy = pages.policy(f"\n{pages.asset('tables.js')}")
        return HTMLResponse(html, headers={"Content-Security-Policy": f"{policy}; frame-ancestors 'none'"})

    def static(request: Request) -> Response:
        name = request.path_params["name"]
        if name not in _STATIC:
            raise HTTPException(404)
        return Response(str(pages.asset(name)), media_type=_STATIC[name])

    def failed(_request: Request, error: Exception) -> Response:
        status = 404 if isinstance(error, UsageError) else getattr(error, "status_code", 500)
        said = str(error) if isinstance(error, FlightpathError) else "There is no such page." if status == 404 else ""
        text = templates.get_template("failed.html").render(said=said or "That did not work.", page="")
        return HTMLResponse(text, status)

    return Starlette(
        routes=[
            Route("/", page("runs.html", views.runs)),
            Route("/runs/{run}", page("run.html", views.run)),
            Route("/runs/{run}/state", state),
            Route("/runs/{run}/report", report),
            Route("/history", page("history.html", views.history)),
            Route("/compare", page("compare.html", views.compare)),
            Route("/static/{name}", static),
        ],
        exception_handlers={FlightpathError: failed, HTTPException: failed, 500: failed},
        middleware=[Middleware(_Headers), Middleware(TrustedHostMiddleware, allowed_hosts=HOSTS)],
    )


def _report(store: Store, run: str, drawn: Drawn) -> str:
    record = store.run(run)
    with tempfile.TemporaryDirectory(prefix="flightpath-report-") as folder:
        figures = drawn(record, store.cells(record.run_id), Path(folder))
        return render_html(store, record.run_id, figures)


class _Headers:
    """Says with every answer what a browser may do with it: nothing that is not ours."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in {"Content-Security-Policy": _POLICY, **_HEADERS}.items():
                    headers.setdefault(name, value)
            await send(message)

        await self._app(scope, receive, send_with_headers)
