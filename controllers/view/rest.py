"""The view over HTTP: what the controller knows, read only.

    /connections   connections with their subflows and paths (JSON)
    /topology      switches, hosts, links and their load, and what failures have moved (JSON)
    /health        whether all switches are connected (JSON; status 503 if not)
    /metrics       for Prometheus

It is served on loopback addresses and Unix sockets only, because there is no password; and only to those who ask for it
by such an address or as `localhost`, so that no page of the web can read it through the user's browser.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from controllers.addresses import is_local, parse_loopback
from controllers.metrics import CONTENT_TYPE
from controllers.openflow.library import listen, serve_http
from controllers.output import announce
from controllers.view.state import ControllerState
from flightpath.hosts import endpoint

_MAX_REQUEST_LINE = 4096


@dataclass(frozen=True)
class Page:
    """An HTTP response."""

    body: bytes
    content_type: str = "text/plain"
    status: str = "200 OK"


Pages = Mapping[str, Callable[[], Page]]
"""For each path a function that makes the response."""


def view_pages(state: ControllerState, metrics: Callable[[], bytes]) -> Pages:
    """Returns the pages of the view; each shows the present state."""

    def health() -> Page:
        value = state.health_json()
        return json_page(value, available=value["ready"])

    return {
        "/connections": lambda: json_page(state.connections_json()),
        "/topology": lambda: json_page(state.topology_json()),
        "/health": health,
        "/metrics": lambda: Page(metrics(), CONTENT_TYPE),
    }


def serve_pages(pages: Pages, addresses: Iterable[str]) -> None:
    """Serves pages in the background, at `127.0.0.1:8653`, `[::1]:0` or `unix:/path`; announces the URLs.

    Raises:
        UsageError: an address cannot be parsed, is not loopback, or is in use; then nothing is served.
    """
    servers = [listen(*address) for address in map(parse_address, addresses)]
    for server in servers:
        serve_http(server, partial(_respond, pages), _MAX_REQUEST_LINE)
        announce(f"view at {_url(server.getsockname())}")


def parse_address(text: str) -> tuple[str, int]:
    """Address and port; for a Unix socket its path and 0."""
    if text.startswith("unix:/"):
        return text.removeprefix("unix:"), 0
    return parse_loopback(text, "rest", "127.0.0.1:8653, [::1]:8653, unix:/path")


def json_page(value: Any, *, available: bool = True) -> Page:
    """Returns a response with a value as JSON."""
    body = (json.dumps(value, indent=1) + "\n").encode()
    return Page(body, "application/json", "200 OK" if available else "503 Service Unavailable")


def _respond(pages: Pages, environment: dict[str, Any], start_response: Callable[..., Any]) -> list[bytes]:
    """Returns the pages as a WSGI application."""
    make_page = pages.get(environment["PATH_INFO"])
    if not is_local(environment.get("HTTP_HOST", "localhost")):
        page = Page(b"ask for 127.0.0.1, [::1] or localhost\n", status="421 Misdirected Request")
    elif environment["REQUEST_METHOD"] not in ("GET", "HEAD"):
        page = Page(b"read only\n", status="405 Method Not Allowed")
    elif make_page is None:
        page = Page(f"known: {', '.join(pages)}\n".encode(), status="404 Not Found")
    else:
        page = make_page()
    headers = [("Content-Type", page.content_type), ("Content-Length", str(len(page.body)))]
    start_response(page.status, headers)
    return [page.body]


def _url(address: tuple[Any, ...] | str) -> str:
    return f"unix:{address}" if isinstance(address, str) else f"http://{endpoint(*address[:2])}"
