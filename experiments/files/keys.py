"""Keys of an experiment file: one description of each, for the parser, its errors, the JSON Schema and the documents.

A table of the file is a frozen dataclass whose fields are made by `key`. Its docstring's first line describes it.
"""

import dataclasses
import inspect
import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from flightpath.errors import UsageError
from flightpath.suggestions import did_you_mean
from flightpath.units import parse_bytes, parse_duration

_Table = TypeVar("_Table")

Where = tuple[str | int, ...]
"""Position in a file: names of tables and keys, and numbers of tables in their array."""

REQUIRED: Any = dataclasses.MISSING
"""Default of a key that must be given."""

NAME = re.compile(r"[a-z][a-z0-9_]*")


class InvalidKey(UsageError):
    """A key or its value makes no sense; `where` says which one."""

    def __init__(self, where: Where, message: str, hint: str = "") -> None:
        super().__init__(message, hint)
        self.where = where


@dataclasses.dataclass(frozen=True)
class Kind:
    """A kind of values.

    Attributes:
        words: its name in documents.
        schema: as JSON Schema.
        read: makes the value of what the file has; raises UsageError or, for a table in it, InvalidKey.
        table: class of the table or the tables that the value consists of.
    """

    words: str
    schema: Mapping[str, Any]
    read: Callable[[Any, Where], Any]
    table: type | None = None


def key(kind: Kind, help_text: str, default: Any = None) -> Any:
    """Makes the field of a key; without a default that is None if the key is not given."""
    metadata = {"kind": kind, "help": help_text}
    if isinstance(default, dict):
        return dataclasses.field(default_factory=default.copy, metadata=metadata)
    return dataclasses.field(default=default, metadata=metadata)


def read_table(table: type[_Table], given: Any, where: Where = ()) -> _Table:
    """Makes a table of what a file has.

    Raises:
        InvalidKey: a key is unknown or missing, or a value makes no sense.
    """
    if not isinstance(given, Mapping):
        raise InvalidKey(where, f"{_name(where)}: {_shown(given)} is no table")
    fields = keys_of(table)
    values = {}
    for name, value in given.items():
        if name not in fields:
            raise InvalidKey((*where, name), f"there is no key {name!r}{_inside(where)}", did_you_mean(name, fields))
        values[fields[name].name] = _read(fields[name].metadata["kind"], value, (*where, name))
    for name, field in fields.items():
        if is_required(field) and field.name not in values:
            raise InvalidKey(where, f"the key {name!r} is missing{_inside(where)}", field.metadata["help"])
    try:
        return table(**values)
    except InvalidKey as error:  # of a check of the whole table, which does not know where it is
        raise InvalidKey((*where, *error.where), str(error.args[0]), error.hint) from error


def keys_of(table: type) -> dict[str, dataclasses.Field[Any]]:
    """Returns the fields of a table by their keys; a field may end in `_` where the key is a word of Python."""
    return {field.name.rstrip("_"): field for field in dataclasses.fields(table) if "kind" in field.metadata}


def is_required(field: dataclasses.Field[Any]) -> bool:
    """Returns whether a key must be given."""
    return field.default is REQUIRED and field.default_factory is REQUIRED


def summary_of(table: type) -> str:
    """Returns the sentence that describes a table."""
    return (inspect.getdoc(table) or "").partition("\n")[0]


def schema_of(table: type) -> dict[str, Any]:
    """Returns the JSON Schema of a table."""
    fields = keys_of(table)
    required = [name for name, field in fields.items() if is_required(field)]
    return {
        "type": "object",
        "description": summary_of(table),
        "additionalProperties": False,
        "properties": {name: _property(field) for name, field in fields.items()},
        **({"required": required} if required else {}),
    }


def markdown_of(table: type, heading: str = "At the top of the file") -> list[str]:
    """Returns the keys of a table and of the tables in it, as lines of Markdown."""
    lines = [f"### {heading}", "", f"{summary_of(table)}", "", "| key | value | |", "| --- | --- | --- |"]
    inner = []
    for name, field in keys_of(table).items():
        kind: Kind = field.metadata["kind"]
        if kind.table is not None:
            inner.append((kind, name))
        shown = f"`{name}`" + (" (required)" if is_required(field) else "")
        lines.append(f"| {shown} | {_cell(kind.words)} | {_cell(field.metadata['help'])} |")
    for kind, name in inner:
        assert kind.table is not None
        is_array = kind.schema["type"] == "array"
        lines += ["", *markdown_of(kind.table, f"`[[{name}]]`" if is_array else f"`{name}`")]
    return lines


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _property(field: dataclasses.Field[Any]) -> dict[str, Any]:
    return {**field.metadata["kind"].schema, "description": field.metadata["help"]}


def _read(kind: Kind, value: Any, where: Where) -> Any:
    try:
        return kind.read(value, where)
    except InvalidKey:
        raise
    except UsageError as error:
        raise InvalidKey(where, str(error.args[0]), error.hint) from error


def _name(where: Where) -> str:
    return str(next((part for part in reversed(where) if isinstance(part, str)), "file"))


def _inside(where: Where) -> str:
    return f" in [{_name(where)}]" if where else ""


def _shown(value: Any) -> str:
    return repr(value)[:60]


def _of_type(words: str, types: type | tuple[type, ...], schema: Mapping[str, Any]) -> Kind:
    def read(value: Any, where: Where) -> Any:
        if not isinstance(value, types) or (isinstance(value, bool) and types is not bool):
            raise UsageError(f"{_name(where)}: {_shown(value)} is not {words}")
        return value

    return Kind(words, schema, read)


def _of_text(words: str, parse: Callable[[str, str], Any], *, also_numbers: bool = False) -> Kind:
    """Returns a kind of values that are texts in the file, or also numbers."""

    def read(value: Any, where: Where) -> Any:
        if isinstance(value, bool) or not isinstance(value, (str, int, float) if also_numbers else str):
            raise UsageError(f"{_name(where)}: {_shown(value)} is not {words}")
        return parse(value if isinstance(value, str) else f"{value:g}", _name(where))

    return Kind(words, {"type": ["string", "number"] if also_numbers else "string"}, read)


def _whole(text: str, name: str) -> int:
    if not re.fullmatch(r"[0-9]{1,15}", text):
        raise UsageError(f"{name}: {text!r} is not a whole number")
    return int(text)


def _number(text: str, name: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise UsageError(f"{name}: {text!r} is not a number")
    return number


def _identifier(text: str, name: str) -> str:
    if not NAME.fullmatch(text):
        raise UsageError(f"{name}: {text!r} is no name", "small letters, digits and _, a letter first: slow_client")
    return text


def _pattern(text: str, name: str) -> re.Pattern[str]:
    try:
        return re.compile(text, re.MULTILINE)
    except re.error as error:
        raise UsageError(f"{name}: {text!r} is no regular expression: {error}") from error


TEXT = _of_type("a text", str, {"type": "string"})
SWITCH = _of_type("true or false", bool, {"type": "boolean"})
IDENTIFIER = _of_text("a name", _identifier)
PATTERN = _of_text("a regular expression", _pattern)
# In a text, so that parameters may stand for them.
WHOLE = _of_text("a whole number", _whole, also_numbers=True)
NUMBER = _of_text("a number", _number, also_numbers=True)
DURATION = _of_text('a time ("1.5s", "200ms")', parse_duration)
SIZE = _of_text('a size ("10MB")', parse_bytes)
QUANTITY = _of_type("a number or a text", (str, int, float), {"type": ["string", "number"]})


def one_of(*words: str) -> Kind:
    """Returns the kind of a value that is one of some words."""

    def read(value: Any, where: Where) -> str:
        if value not in words:
            raise UsageError(f"{_name(where)}: there is no {_shown(value)}", did_you_mean(str(value), words))
        return str(value)

    return Kind(" or ".join(f'"{word}"' for word in words), {"enum": list(words)}, read)


def either(first: Kind, second: Kind, takes_second: type) -> Kind:
    """Returns a kind of values that are of two kinds: of the second if the file has a value of that type."""
    return Kind(
        f"{first.words}, or {second.words}",
        {"anyOf": [first.schema, second.schema]},
        lambda value, where: (second if isinstance(value, takes_second) else first).read(value, where),
    )


def list_of(kind: Kind) -> Kind:
    """Returns a kind of lists."""

    def read(value: Any, where: Where) -> tuple[Any, ...]:
        if not isinstance(value, Sequence) or isinstance(value, str):
            raise UsageError(f"{_name(where)}: {_shown(value)} is no list", "write [A, B]")
        return tuple(kind.read(each, where) for each in value)

    return Kind(f"a list; of each: {kind.words}", {"type": "array", "items": kind.schema}, read)


def mapping_of(kind: Kind) -> Kind:
    """Returns a kind of tables whose keys the user chooses."""

    def read(value: Any, where: Where) -> dict[str, Any]:
        if not isinstance(value, Mapping):
            raise UsageError(f"{_name(where)}: {_shown(value)} is no table")
        return {name: _read(kind, each, (*where, name)) for name, each in value.items()}

    return Kind(f"a table; each value: {kind.words}", {"type": "object", "additionalProperties": kind.schema}, read)


def table_of(table: type) -> Kind:
    """Returns the kind of a table of the file."""
    return Kind("a table", schema_of(table), lambda value, where: read_table(table, value, where), table)


def tables_of(table: type) -> Kind:
    """Returns the kind of an array of tables."""

    def read(value: Any, where: Where) -> tuple[Any, ...]:
        if not isinstance(value, list):
            raise UsageError(f"{_name(where)}: this is one table", f"write [[{_name(where)}]]")
        return tuple(read_table(table, each, (*where, number)) for number, each in enumerate(value))

    return Kind("tables", {"type": "array", "items": schema_of(table)}, read, table)
