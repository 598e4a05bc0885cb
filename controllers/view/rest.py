"""Serves what the controller knows over HTTP: without it the view would end at the process's edge.

    /connections   connections with their subflows and paths (JSON)
    /topology      switches, hosts, links and their load, what failures have moved (JSON)
    /health        whether all switches are there (JSON; status 503 if not)
    /metrics       for Prometheus

On loopback addresses and sockets in the file system only: there is no password.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any

from controllers.metrics import CONTENT_TYPE
from controllers.openflow.library import listen, serve_http
from flightpath.errors import UsageError

_JSON = "application/json"
_LONGEST_REQUEST = 4096


@dataclass(frozen=True)
class Page:
    """An answer.

    Args:
        body: text.
        content_type: its kind.
        status: of HTTP.
    """

    body: bytes
    content_type: str = _JSON
    status: str = "200 OK"


Pages = Mapping[str, Callable[[], Page]]


def json_page(value: Any, *, available: bool = True) -> Page:
    """A value as JSON."""
    body = (json.dumps(value, indent=1) + "\n").encode()
    return Page(body, status="200 OK" if available else "503 Service Unavailable")


def metrics_page(text: bytes) -> Page:
    """Prometheus's text format."""
    return Page(text, CONTENT_TYPE)


def serve_pages(pages: Pages, places: Iterable[str]) -> Iterator[str]:
    """Begins to serve; returns where, with the ports that were picked.

    Args:
        pages: what there is, by path.
        places: `127.0.0.1:8653`, `[::1]:0` or `unix:/path`.

    Raises:
        UsageError: a place cannot be read, is not loopback, or is taken; nothing is served then.
    """
    sockets = [listen(*place) if isinstance(place, tuple) else listen(place, 0) for place in map(read_place, places)]
    for listening in sockets:
        serve_http(listening, _application(pages), _LONGEST_REQUEST)
    return (_name_of(listening.getsockname()) for listening in sockets)


def read_place(text: str) -> tuple[str, int] | str:
    """Address and port, or the path of a socket in the file system, from what `serve_pages` takes.

    Raises:
        UsageError: cannot be read, or is no loopback address.
    """
    if text.startswith("unix:/"):
        return text.removeprefix("unix:")
    host, _, port = text.rpartition(":")
    try:
        address, number = ip_address(host.removeprefix("[").removesuffix("]")), int(port)
    except ValueError as error:
        forms = "accepted forms: 127.0.0.1:8653, [::1]:8653, unix:/path"
        raise UsageError(f"rest: cannot read {text!r}", forms) from error
    if not address.is_loopback:
        raise UsageError(f"rest: {address} is not a loopback address, and there is no password")
    if not 0 <= number <= 65535:
        raise UsageError(f"rest: {number} is not a TCP port")
    return str(address), number


def _application(pages: Pages) -> Callable[[dict[str, Any], Callable[..., Any]], list[bytes]]:
    def answer(environment: dict[str, Any], start: Callable[..., Any]) -> list[bytes]:
        make = pages.get(environment["PATH_INFO"])
        if environment["REQUEST_METHOD"] not in ("GET", "HEAD"):
            page = Page(b"read only\n", "text/plain", "405 Method Not Allowed")
        elif make is None:
            page = Page(f"known: {', '.join(pages)}\n".encode(), "text/plain", "404 Not Found")
        else:
            page = make()
        start(page.status, [("Content-Type", page.content_type), ("Content-Length", str(len(page.body)))])
        return [page.body]

    return answer


def _name_of(address: Any) -> str:
    if isinstance(address, tuple):
        host = f"[{address[0]}]" if ":" in address[0] else address[0]
        return f"http://{host}:{address[1]}"
    return f"unix:{address}"
