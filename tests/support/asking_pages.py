"""Pages of a web application, asked for without a server."""

import asyncio
from urllib.parse import unquote

from starlette.types import ASGIApp, Message


def asked(app: ASGIApp, path: str, query: str = "") -> tuple[int, bytes]:
    """The status and the body of an answer."""
    status, body = 0, b""

    async def send(message: Message) -> None:
        nonlocal status, body
        status = message.get("status", status)
        body += message.get("body", b"")

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    scope = {"type": "http", "http_version": "1.1", "method": "GET", "scheme": "http", "root_path": ""}
    scope |= {"path": unquote(path), "query_string": query.encode(), "headers": [(b"host", b"127.0.0.1")]}
    asyncio.run(app(scope, receive, send))
    return status, body
