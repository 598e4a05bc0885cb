"""What the application asks of PostgreSQL, one statement per request: without it SQL would sit between the pages."""

import asyncio
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Self

import asyncpg

_ASK = {
    "student": "SELECT id, code_sha256 FROM students WHERE account = $1",
    "list": """
        SELECT q.number, q.title, a.choice, s.student IS NOT NULL AS submitted
        FROM questions q
        LEFT JOIN answers a ON a.student = $1 AND a.question = q.number
        LEFT JOIN submissions s ON s.student = $1
        ORDER BY q.number""",
    "question": """
        SELECT q.title, q.body, q.choices, a.choice AS chosen
        FROM questions q LEFT JOIN answers a ON a.student = $1 AND a.question = q.number
        WHERE q.number = $2""",
    "save": """
        SELECT q.title, q.body, q.choices, save_answer($1, q.number, $3) AS saved
        FROM questions q WHERE q.number = $2""",
    "submit": "SELECT submit_examination($1)",
    "result": """
        SELECT q.number, q.title, q.correct, a.choice, s.student IS NOT NULL AS submitted
        FROM questions q
        LEFT JOIN answers a ON a.student = $1 AND a.question = q.number
        LEFT JOIN submissions s ON s.student = $1
        ORDER BY q.number""",
    "health": "SELECT count(*) FROM questions",
}


class Store:
    """A few connections to PostgreSQL with every statement prepared on each.

    Requests wait in order of arrival for a free connection, and connections take turns, so that those to each of the
    database's addresses are used alike. A lost connection is not replaced: the database lives as
    long as the run, and a service that went on without it would only hide the loss. (asyncpg's own pool costs an extra
    round trip per request, to reset settings that nobody changes here.)
    """

    def __init__(self, urls: Sequence[str], connections: int) -> None:
        self._urls, self._size = urls, connections
        self._free: asyncio.Queue[dict[str, asyncpg.prepared_stmt.PreparedStatement]] = asyncio.Queue()
        self._connections: list[asyncpg.Connection] = []

    async def __aenter__(self) -> Self:
        """Connects; raises what asyncpg raises when the database refuses."""
        for number in range(self._size):
            connection = await asyncpg.connect(self._urls[number % len(self._urls)])
            self._connections.append(connection)
            self._free.put_nowait({name: await connection.prepare(sql) for name, sql in _ASK.items()})
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Closes the connections, whether or not somebody still waits for an answer."""
        for connection in self._connections:
            connection.terminate()

    async def rows(self, question: str, *values: Any) -> list[asyncpg.Record]:
        """All rows that one of the prepared statements yields."""
        statements = await self._free.get()
        try:
            return await statements[question].fetch(*values)
        finally:
            self._free.put_nowait(statements)

    async def row(self, question: str, *values: Any) -> asyncpg.Record | None:
        """The first row that one of the prepared statements yields, or None."""
        rows = await self.rows(question, *values)
        return rows[0] if rows else None
