"""The examination as an ASGI application: routes, request handlers, error pages."""

import sys
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qsl

import asyncpg

from services.exam.credentials import SESSION_SECONDS, Session, is_code, sign, verify
from services.exam.pages import Pages
from services.exam.store import Store

COOKIE = "exam_session"
_COOKIE_RULES = f"Path=/; Max-Age={SESSION_SECONDS}; HttpOnly; SameSite=Strict"
CHOICES = ("A", "B", "C", "D")
_FORM_BYTES = 4096
_HEADERS = (
    (b"content-type", b"text/html; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"content-security-policy", b"default-src 'none'; style-src 'unsafe-inline'; form-action 'self'"),
    (b"x-content-type-options", b"nosniff"),
)


@dataclass(frozen=True)
class Response:
    """A page to send; `cookie` is the value of a Set-Cookie header."""

    body: bytes
    status: int = 200
    cookie: str = ""


@dataclass(frozen=True)
class Request:
    """What a handler gets: the form of a POST request, and the session that its cookie proves."""

    session: Session | None
    form: Mapping[str, str]

    @property
    def student(self) -> Session:
        """The session of the student who sent it.

        Raises:
            Refused: nobody has logged in.
        """
        if self.session is None:
            raise Refused(HTTPStatus.UNAUTHORIZED, "Please log in first; sessions end after a few hours.")
        return self.session


class Refused(Exception):
    """A request that gets an error page."""

    def __init__(self, status: HTTPStatus, message: str) -> None:
        super().__init__(message)
        self.status, self.message = status, message


class Examination:
    """The application.

    Args:
        store: the database, connected.
        pages: the pages that students see.
        key: for the signatures of session cookies.
    """

    def __init__(self, store: Store, pages: Pages, key: bytes) -> None:
        self._store, self._pages, self._key = store, pages, key
        self._routes: Mapping[tuple[str, str], Callable[[Request], Awaitable[Response]]] = {
            ("GET", "/"): self._login_form,
            ("POST", "/login"): self._login,
            ("GET", "/questions"): self._list,
            ("POST", "/submit"): self._submit,
            ("GET", "/result"): self._result,
            ("GET", "/healthz"): self._health,
        }
        self._paths = {path for _, path in self._routes}

    async def __call__(self, scope: Mapping[str, Any], receive: Callable, send: Callable) -> None:
        """Answers one HTTP request (ASGI 3); an error becomes an error page."""
        method, path, session = scope["method"], scope["path"], None
        try:
            session = self._session(scope["headers"])
            request = Request(session, await _form(receive) if method == "POST" else {})
            response = await self._handle(method, path, request)
        except Refused as refused:
            response = self._error(session, refused.status, refused.message)
        except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
            print(f"{method} {path}: {error!r}", file=sys.stderr, flush=True)
            message = "The database does not answer. If you sent an answer, please send it once more."
            response = self._error(session, HTTPStatus.SERVICE_UNAVAILABLE, message)
        await _send(send, response)

    def _handle(self, method: str, path: str, request: Request) -> Awaitable[Response]:
        handler = self._routes.get((method, path))
        if handler is not None:
            return handler(request)
        if path in self._paths:
            raise _not_allowed(method)
        parts = path.split("/")
        if parts[:2] == ["", "questions"] and len(parts) in (3, 4) and _is_number(parts[2]):
            if len(parts) == 3:
                return self._on_question(method, int(parts[2]), request, "GET", self._question)
            if parts[3] == "answer":
                return self._on_question(method, int(parts[2]), request, "POST", self._save)
        raise Refused(HTTPStatus.NOT_FOUND, "There is no such page.")

    def _on_question(
        self,
        method: str,
        number: int,
        request: Request,
        allowed: str,
        handler: Callable[[int, Request], Awaitable[Response]],
    ) -> Awaitable[Response]:
        if method != allowed:
            raise _not_allowed(method)
        return handler(number, request)

    async def _login_form(self, request: Request) -> Response:
        return self._page("login", account=None, number=None)

    async def _login(self, request: Request) -> Response:
        account = request.form.get("account", "").strip()
        row = await self._store.row("student", account) if account.isalnum() else None
        if not is_code(request.form.get("code", ""), row["code_sha256"] if row else None) or row is None:
            raise Refused(HTTPStatus.UNAUTHORIZED, f"There is no account {account!r} with that access code.")
        session = Session(row["id"], account)
        page = self._pages.render("welcome", account=account, number=None)
        return Response(page, cookie=f"{COOKIE}={sign(session, self._key, time.time())}; {_COOKIE_RULES}")

    async def _list(self, request: Request) -> Response:
        student = request.student
        rows = await self._store.rows("list", student.student)
        answered = sum(row["choice"] is not None for row in rows)
        submitted = any(row["submitted"] for row in rows)
        values = {"questions": rows, "answered": answered, "submitted": submitted}
        return self._page("list", account=student.account, number=None, **values)

    async def _question(self, number: int, request: Request) -> Response:
        student = request.student
        row = await self._store.row("question", student.student, number)
        if row is None:
            raise _no_question(number)
        return self._page("question", account=student.account, number=number, **row)

    async def _save(self, number: int, request: Request) -> Response:
        student, choice = request.student, request.form.get("choice", "")
        if choice not in CHOICES:
            raise Refused(HTTPStatus.UNPROCESSABLE_ENTITY, f"{choice!r} is not one of the choices A, B, C and D.")
        row = await self._store.row("save", student.student, number, choice)  # returns after the commit
        if row is None:
            raise _no_question(number)
        if not row["saved"]:
            raise Refused(HTTPStatus.CONFLICT, "You have submitted the examination: your answers are final.")
        values = {"title": row["title"], "body": row["body"], "choices": row["choices"], "chosen": choice}
        return self._page("saved", account=student.account, number=number, **values)

    async def _submit(self, request: Request) -> Response:
        student = request.student
        row = await self._store.row("submit", student.student)
        return self._page("submitted", account=student.account, number=None, answered=row[0] if row else 0)

    async def _result(self, request: Request) -> Response:
        student = request.student
        rows = await self._store.rows("result", student.student)
        if not any(row["submitted"] for row in rows):
            raise Refused(HTTPStatus.CONFLICT, "There is no result before you have submitted the examination.")
        score = sum(row["choice"] == row["correct"] for row in rows)
        return self._page("result", account=student.account, number=None, questions=rows, score=score)

    async def _health(self, request: Request) -> Response:
        row = await self._store.row("health")
        return self._page("health", account=None, number=None, questions=row[0] if row else 0)

    def _page(self, name: str, **values: Any) -> Response:
        return Response(self._pages.render(name, **values))

    def _error(self, session: Session | None, status: HTTPStatus, message: str) -> Response:
        account = session.account if session else None
        page = self._pages.render("error", account=account, number=None, reason=status.phrase, message=message)
        return Response(page, status.value)

    def _session(self, headers: list[tuple[bytes, bytes]]) -> Session | None:
        cookies = next((value for name, value in headers if name == b"cookie"), b"")
        for pair in cookies.decode("latin-1").split(";"):
            name, _, value = pair.strip().partition("=")
            if name == COOKIE:
                return verify(value, self._key, time.time())
        return None


async def _form(receive: Callable) -> dict[str, str]:
    body, more = b"", True
    while more:
        message = await receive()
        body, more = body + message.get("body", b""), message.get("more_body", False)
        if len(body) > _FORM_BYTES:
            raise Refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "That form is too long.")
    try:
        return dict(parse_qsl(body.decode("utf-8", errors="replace"), keep_blank_values=True, max_num_fields=10))
    except ValueError as error:
        raise Refused(HTTPStatus.BAD_REQUEST, "That form has too many fields.") from error


async def _send(send: Callable, response: Response) -> None:
    headers = [*_HEADERS, (b"content-length", b"%d" % len(response.body))]
    if response.cookie:
        headers.append((b"set-cookie", response.cookie.encode()))
    await send({"type": "http.response.start", "status": response.status, "headers": headers})
    await send({"type": "http.response.body", "body": response.body})


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 4


def _no_question(number: int) -> Refused:
    return Refused(HTTPStatus.NOT_FOUND, f"There is no question {number}.")


def _not_allowed(method: str) -> Refused:
    return Refused(HTTPStatus.METHOD_NOT_ALLOWED, f"This page cannot be asked for with {method}.")
