"""Dask's own pages, which are on loopback and ask nobody who they are."""

from typing import Any
from urllib.parse import urlsplit

from tornado.httputil import HTTPServerRequest
from tornado.web import ErrorHandler

_NAMES = ("127.0.0.1", "localhost")
_FORBIDDEN = 403


def restrict_to_loopback(node: Any) -> None:
    """Lets the pages of a scheduler or worker answer only requests that name loopback as their host and origin.

    Otherwise a page on the web could read them in a user's browser: by a name of its own that it lets resolve to
    127.0.0.1 (DNS rebinding), or over a WebSocket.
    """
    application = node.http_application
    find_handler = application.find_handler

    def find_allowed_handler(request: HTTPServerRequest, **arguments: Any) -> Any:
        origin = request.headers.get("Origin")
        if request.host_name in _NAMES and (origin is None or urlsplit(origin).hostname in _NAMES):
            return find_handler(request, **arguments)
        return application.get_handler_delegate(request, ErrorHandler, {"status_code": _FORBIDDEN})

    application.find_handler = find_allowed_handler
