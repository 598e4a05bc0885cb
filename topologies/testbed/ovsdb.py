"""Open vSwitch's database by its own protocol (RFC 7047).

`ovs-vsctl` reads the whole database each time, and the time of its transactions grows with the square of the number of
bridges in them.
"""

import contextlib
import json
import socket
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from flightpath.errors import FlightpathError
from flightpath.waiting import timeout_scale

_DATABASE = "Open_vSwitch"
_ANSWER_TIMEOUT_S = 30.0
_CHUNK_BYTES = 1 << 16

Operation = Mapping[str, Any]
"""A part of a transaction, as section 5.2 of the RFC describes it."""


class Database:
    """A connection to the server of Open vSwitch's database; a context manager.

    Raises:
        FlightpathError: the server does not answer, or refuses a transaction.
    """

    def __init__(self, path: Path) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(_ANSWER_TIMEOUT_S * timeout_scale())
        self._calls = 0
        self._decoder, self._received = json.JSONDecoder(), ""
        try:
            self._socket.connect(str(path))
        except OSError as error:
            self._socket.close()
            raise FlightpathError(f"Open vSwitch's database does not answer: {error}") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def transact(self, *operations: Operation) -> list[dict[str, Any]]:
        """Runs a transaction and returns the result of each operation."""
        results = self._call("transact", [_DATABASE, *operations])
        for result in results:
            if result is not None and "error" in result:
                raise FlightpathError(f"Open vSwitch refused a change: {result['error']}: {result.get('details', '')}")
        return results

    def select(self, table: str, *columns: str) -> list[dict[str, Any]]:
        """Returns these columns of all rows of a table."""
        return self.transact({"op": "select", "table": table, "where": [], "columns": list(columns)})[0]["rows"]

    def row(self, table: str, settings: Sequence[str]) -> dict[str, Any]:
        """Returns a row from settings as `ovs-vsctl set` takes them: `fail_mode=secure other_config:dp-desc=s1`.

        Raises:
            FlightpathError: the table has no such column.
        """
        row: dict[str, Any] = {}
        for setting in settings:
            name, _, value = setting.partition("=")
            column, _, key = name.partition(":")
            column = column.replace("-", "_")
            kind = self._columns(table).get(column)
            if kind is None:
                raise FlightpathError(f"{setting}: Open vSwitch has no setting {column!r} of a {table.lower()}")
            if key:
                row.setdefault(column, ["map", []])[1].append([key, value])
            elif isinstance(kind, dict) and kind.get("max", 1) != 1:
                row[column] = ["set", [_atom(kind["key"], item) for item in value.split(",")]]
            else:
                row[column] = _atom(kind["key"] if isinstance(kind, dict) else kind, value)
        return row

    @cached_property
    def _schema(self) -> Mapping[str, Any]:
        return self._call("get_schema", [_DATABASE])

    def _columns(self, table: str) -> Mapping[str, Any]:
        return {name: column["type"] for name, column in self._schema["tables"][table]["columns"].items()}

    def _call(self, method: str, parameters: Sequence[Any]) -> Any:
        self._calls += 1
        request = json.dumps({"id": self._calls, "method": method, "params": parameters}).encode()
        try:
            self._socket.sendall(request)
            answer = self._answer()
        except OSError as error:
            raise FlightpathError(f"Open vSwitch's database does not answer: {error}") from error
        if answer.get("error") is not None:
            raise FlightpathError(f"Open vSwitch's database refused {method}: {answer['error']}")
        return answer["result"]

    def _answer(self) -> dict[str, Any]:
        """Reads the next answer; skips requests of the server, which asks whether this end is alive."""
        while True:
            self._received = self._received.lstrip()
            if self._received.endswith("}"):
                with contextlib.suppress(ValueError):  # the message is not complete
                    message, end = self._decoder.raw_decode(self._received)
                    self._received = self._received[end:]
                    if "result" in message:
                        return message
                    continue
            part = self._socket.recv(_CHUNK_BYTES)
            if not part:
                raise ConnectionResetError("it has ended")
            self._received += part.decode()


def _atom(kind: Any, text: str) -> Any:
    name = kind["type"] if isinstance(kind, dict) else kind
    match name:
        case "integer":
            return int(text)
        case "real":
            return float(text)
        case "boolean":
            return text == "true"
    return text
