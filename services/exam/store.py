"""The application's queries to PostgreSQL: prepared statements, one per request, on a few connections."""

import asyncio
from collections.abc import Sequence
from typing import Any

import asyncpg

_STATE_OF_ALL_QUESTIONS = """a.choice, s.student IS NOT NULL AS submitted
        FROM questions q
        LEFT JOIN answers a ON a.student = $1 AND a.question = q.number
        LEFT JOIN submissions s ON s.student = $1
        ORDER BY q.number"""
_STATEMENTS = {
    "student": "SELECT id, code_sha256 FROM students WHERE account = $1",
    "list": f"SELECT q.number, q.title, {_STATE_OF_ALL_QUESTIONS}",
    "question": """
        SELECT q.title, q.body, q.choices, a.choice AS chosen
        FROM questions q LEFT JOIN answers a ON a.student = $1 AND a.question = q.number
        WHERE q.number = $2""",
    "save": """
        SELECT q.title, q.body, q.choices, save_answer($1, q.number, $3) AS saved
        FROM questions q WHERE q.number = $2""",
    "submit": "SELECT submit_examination($1)",
    "result": f"SELECT q.number, q.title, q.correct, {_STATE_OF_ALL_QUESTIONS}",
    "health": "SELECT count(*) FROM questions",
}


class Store:
    """A pool of connections to PostgreSQL, with all statements prepared on each.

    Requests wait in order of arrival for a free connection. Connections take turns, so that all addresses of the
    database are used equally. A lost connection is not replaced: the database should run as long as the service, and
    to go on without it would hide the loss. (asyncpg's own pool needs one more round trip per request, to reset
    settings that are not changed here.)
    """

    def __init__(self, urls: Sequence[str], connections: int) -> None:
        self._urls, self._size = urls, connections
        self._free: asyncio.Queue[dict[str, asyncpg.prepared_stmt.PreparedStatement]] = asyncio.Queue()
        self._connections: list[asyncpg.Connection] = []

    async def connect(self) -> None:
        """Opens the connections, and prepares the statements.

        Raises:
            OSError, asyncpg.PostgresError: the database cannot be reached, or refuses.
        """
        for number in range(self._size):
            connection = await asyncpg.connect(self._urls[number % len(self._urls)])
            self._connections.append(connection)
            self._free.put_nowait({name: await connection.prepare(sql) for name, sql in _STATEMENTS.items()})

    async def aclose(self) -> None:
        """Closes the connections, even if requests still wait for an answer."""
        for connection in self._connections:
            connection.terminate()

    async def rows(self, name: str, *values: Any) -> list[asyncpg.Record]:
        """Runs a prepared statement by its name, and returns all rows."""
        statements = await self._free.get()
        try:
            return await statements[name].fetch(*values)
        finally:
            self._free.put_nowait(statements)

    async def row(self, name: str, *values: Any) -> asyncpg.Record | None:
        """Runs a prepared statement by its name, and returns the first row, or None."""
        rows = await self.rows(name, *values)
        return rows[0] if rows else None
