"""The examination as an ASGI application: routes, request handlers, error pages."""

import re
import sys
import time
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
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
_MAX_FORM_BYTES = 4096
_QUESTION_PATH = re.compile(r"/questions/([0-9]{1,4})(/answer)?")
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
    """A request for a handler: the session of the cookie, the form of a POST, and the question's number in the path."""

    session: Session | None
    form: Mapping[str, str]
    number: int

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


_Route = tuple[str, Callable[[Request], Awaitable[Response]]]
_Message = MutableMapping[str, Any]
_Receive = Callable[[], Awaitable[_Message]]
_Send = Callable[[_Message], Awaitable[None]]


class Examination:
    """The application on a connected database; the key signs session cookies."""

    def __init__(self, store: Store, pages: Pages, key: bytes) -> None:
        self._store, self._pages, self._key = store, pages, key
        self._routes: Mapping[str, _Route] = {
            "/": ("GET", self._login_form),
            "/login": ("POST", self._login),
            "/questions": ("GET", self._list),
            "/submit": ("POST", self._submit),
            "/result": ("GET", self._result),
            "/healthz": ("GET", self._health),
        }
        self._routes_of_question: Mapping[str | None, _Route] = {
            None: ("GET", self._question),
            "/answer": ("POST", self._save),
        }

    async def __call__(self, scope: Mapping[str, Any], receive: _Receive, send: _Send) -> None:
        """Answers one HTTP request (ASGI 3); an error becomes an error page."""
        method, path, session = scope["method"], scope["path"], None
        try:
            session = self._session(scope["headers"])
            form = await _form(receive) if method == "POST" else {}
            response = await self._handle(method, path, session, form)
        except Refused as refused:
            response = self._error(session, refused.status, refused.message)
        except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
            print(f"{method} {path}: {error!r}", file=sys.stderr, flush=True)
            message = "The database does not answer. If you sent an answer, please send it once more."
            response = self._error(session, HTTPStatus.SERVICE_UNAVAILABLE, message)
        await _send(send, response)

    def _handle(self, method: str, path: str, session: Session | None, form: Mapping[str, str]) -> Awaitable[Response]:
        match = _QUESTION_PATH.fullmatch(path)
        route = self._routes_of_question[match[2]] if match else self._routes.get(path)
        if route is None:
            raise Refused(HTTPStatus.NOT_FOUND, "There is no such page.")
        allowed, handler = route
        if method != allowed:
            raise Refused(HTTPStatus.METHOD_NOT_ALLOWED, f"This page does not support {method}.")
        return handler(Request(session, form, int(match[1]) if match else 0))

    async def _login_form(self, request: Request) -> Response:
        return self._page("login")

    async def _login(self, request: Request) -> Response:
        account = request.form.get("account", "").strip()
        row = await self._store.row("student", account) if account.isalnum() else None
        if not is_code(request.form.get("code", ""), row["code_sha256"] if row else None) or row is None:
            raise Refused(HTTPStatus.UNAUTHORIZED, f"There is no account {account!r} with that access code.")
        session = Session(row["id"], account)
        cookie = f"{COOKIE}={sign(session, self._key, time.time())}; {_COOKIE_RULES}"
        return self._page("welcome", session, cookie=cookie)

    async def _list(self, request: Request) -> Response:
        rows = await self._store.rows("list", request.student.student)
        answered = sum(row["choice"] is not None for row in rows)
        submitted = any(row["submitted"] for row in rows)
        return self._page("list", request.student, questions=rows, answered=answered, submitted=submitted)

    async def _question(self, request: Request) -> Response:
        row = _existing(request, await self._store.row("question", request.student.student, request.number))
        return self._page("question", request.student, request.number, **row)

    async def _save(self, request: Request) -> Response:
        student, choice = request.student, request.form.get("choice", "")
        if choice not in CHOICES:
            raise Refused(HTTPStatus.UNPROCESSABLE_ENTITY, f"{choice!r} is not one of the choices A, B, C and D.")
        # The query returns after the commit.
        row = _existing(request, await self._store.row("save", student.student, request.number, choice))
        if not row["saved"]:
            raise Refused(HTTPStatus.CONFLICT, "You have submitted the examination: your answers are final.")
        return self._page("saved", student, request.number, chosen=choice, **row)

    async def _submit(self, request: Request) -> Response:
        row = await self._store.row("submit", request.student.student)
        return self._page("submitted", request.student, answered=row[0] if row else 0)

    async def _result(self, request: Request) -> Response:
        rows = await self._store.rows("result", request.student.student)
        if not any(row["submitted"] for row in rows):
            raise Refused(HTTPStatus.CONFLICT, "There is no result before you have submitted the examination.")
        score = sum(row["choice"] == row["correct"] for row in rows)
        return self._page("result", request.student, questions=rows, score=score)

    async def _health(self, request: Request) -> Response:
        row = await self._store.row("health")
        return self._page("health", questions=row[0] if row else 0)

    def _page(
        self,
        name: str,
        student: Session | None = None,
        number: int | None = None,
        *,
        status: int = 200,
        cookie: str = "",
        **values: Any,
    ) -> Response:
        account = student.account if student else None
        return Response(self._pages.render(name, account=account, number=number, **values), status, cookie)

    def _error(self, session: Session | None, status: HTTPStatus, message: str) -> Response:
        return self._page("error", session, status=status.value, reason=status.phrase, message=message)

    def _session(self, headers: list[tuple[bytes, bytes]]) -> Session | None:
        cookies = next((value for name, value in headers if name == b"cookie"), b"")
        for pair in cookies.decode("latin-1").split(";"):
            name, _, value = pair.strip().partition("=")
            if name == COOKIE:
                return verify(value, self._key, time.time())
        return None


def _existing(request: Request, row: asyncpg.Record | None) -> asyncpg.Record:
    """Returns a question's row, and refuses the request if there is none."""
    if row is None:
        raise Refused(HTTPStatus.NOT_FOUND, f"There is no question {request.number}.")
    return row


async def _form(receive: _Receive) -> dict[str, str]:
    body, more = b"", True
    while more:
        message = await receive()
        body, more = body + message.get("body", b""), message.get("more_body", False)
        if len(body) > _MAX_FORM_BYTES:
            raise Refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "That form is too long.")
    try:
        return dict(parse_qsl(body.decode("utf-8", errors="replace"), keep_blank_values=True, max_num_fields=10))
    except ValueError as error:
        raise Refused(HTTPStatus.BAD_REQUEST, "That form has too many fields.") from error


async def _send(send: _Send, response: Response) -> None:
    headers = [*_HEADERS, (b"content-length", b"%d" % len(response.body))]
    if response.cookie:
        headers.append((b"set-cookie", response.cookie.encode()))
    await send({"type": "http.response.start", "status": response.status, "headers": headers})
    await send({"type": "http.response.body", "body": response.body})
