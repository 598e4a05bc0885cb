"""Files of exports: JSON, or a zip of tables as CSV or Parquet."""

import contextlib
import csv
import functools
import io
import json
import os
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from flightpath.errors import MissingCapability, UsageError
from flightpath.spreadsheets import quoted, unquoted
from results.exchange.export import FORMAT, NOTHING_IMPORTED, VERSION, Export, first_problem
from results.exchange.memory import Budget, TooMuchMemory
from results.exchange.tables import COLUMNS, NULLABLE, TYPES, Row, from_tables, to_tables
from results.store.ownership import give_to_caller, writing_to

MAX_BYTES = 2 * 2**30
"""Maximum size of a file when unpacked: more than 100,000 cells with their series."""

_NOT_AN_EXPORT = (
    *(ValueError, KeyError, TypeError, RecursionError, EOFError),
    *(zipfile.BadZipFile, zlib.error, RuntimeError),  # RuntimeError: encrypted, or compressed in an unknown way
)
"""Exceptions of readers for a file that is damaged or not an export."""

_MANIFEST = "manifest.json"
_QUOTED = "quoted"
"""Key of the manifest: texts that begin like formulas are quoted, which version 0.1.0 did not do."""
_PARQUET_HINT = f"{sys.executable} -m pip install 'pyarrow>=16'"


def write_export(export: Export, target: Path, kind: str) -> None:
    """Writes an export as `json`, `csv` or `parquet`; replaces an existing file atomically."""
    try:
        if kind == "json":  # by the standard library: each float has all its digits, and no letter is escaped
            content = json.dumps(export.model_dump(mode="json"), ensure_ascii=False, allow_nan=False, indent=1).encode()
        else:
            content = _zip_bytes(export, kind)
    except UnicodeError as error:  # half a character, which a command line and JSON may hold and UTF-8 may not
        raise UsageError(f"cannot export: some text is not valid Unicode: {error}") from error
    with (
        writing_to(target),
        tempfile.NamedTemporaryFile(dir=target.absolute().parent, prefix=f".{target.name}.", delete=False) as temporary,
    ):
        try:
            temporary.write(content)
            temporary.flush()
            os.fchmod(temporary.fileno(), 0o644)
            os.replace(temporary.name, target)  # noqa: PTH105 (of a name, not a Path)
        except BaseException:
            with contextlib.suppress(OSError):
                Path(temporary.name).unlink()
            raise
    give_to_caller(target)


def read_export(source: Path) -> Export:
    """Reads an export and checks all of it."""
    content, budget = b"", Budget()
    try:
        content = _content(source, budget)
        if content.startswith(b"PK"):
            document = _json_from_zip(content, budget)
        else:
            budget.spend(document := content)
        _check_version(json.loads(document))
        return Export.model_validate_json(document)
    except ValidationError as error:
        raise UsageError(f"{source} is not a valid export: {first_problem(error)}", NOTHING_IMPORTED) from error
    except (TooMuchMemory, MemoryError) as error:
        reason = str(error) or "its contents take more memory than is available"
        raise UsageError(f"{source} cannot be imported: {reason}", "export fewer runs at a time") from error
    except _NOT_AN_EXPORT as error:
        raise UsageError(f"{source} is not a valid export: {_in_words(error, content)}", NOTHING_IMPORTED) from error


def _content(source: Path, budget: Budget) -> bytes:
    try:
        size = source.stat().st_size
        if size > MAX_BYTES:
            raise UsageError(f"{source} is larger than {MAX_BYTES >> 30} GiB", "export fewer runs at a time")
        budget.spend_on(0, size)
        return source.read_bytes()
    except OSError as error:
        raise UsageError(f"cannot read {source}: {error.strerror or error}") from error


def _in_words(error: Exception, content: bytes) -> str:
    """Explains why a file cannot be read, in terms of the file."""
    if not content:
        return "it is empty"
    if isinstance(error, (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError)):
        return "its zip is damaged, cut off or encrypted"
    if isinstance(error, (UnicodeDecodeError, json.JSONDecodeError)):
        if content.startswith(b"PK") or content.lstrip().startswith(b"{"):
            return "its JSON is damaged or cut off"
        return "it is neither JSON nor a zip of tables, which `results export` writes"
    return str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)


def _check_version(document: Any) -> None:
    """Checks format and version, before anything that a newer version may have changed."""
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise ValueError(f"its format is not {FORMAT!r}")
    version = document.get("version")
    if isinstance(version, int) and version > VERSION:
        raise ValueError(f"a newer Flightpath wrote it (version {version}; this one knows {VERSION}): update this one")


# --- zip of tables ---


def _zip_bytes(export: Export, kind: str) -> bytes:
    tables = to_tables(export.runs)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        manifest = {
            "format": FORMAT,
            "version": VERSION,
            "kind": kind,
            _QUOTED: True,
            "rows": {name: len(rows) for name, rows in tables.items()},
        }
        archive.writestr(_MANIFEST, json.dumps(manifest, indent=1))
        for name, rows in tables.items():
            content = _to_csv(name, rows) if kind == "csv" else _to_parquet(name, rows)
            archive.writestr(f"{name}.{kind}", content)
    return packed.getvalue()


def _json_from_zip(content: bytes, budget: Budget) -> bytes:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        if sum(entry.file_size for entry in archive.infolist()) > MAX_BYTES:
            raise ValueError(f"it unpacks to more than {MAX_BYTES >> 30} GiB")
        manifest = json.loads(_entry(archive, _MANIFEST, budget))
        _check_version(manifest)
        kind = manifest.get("kind")
        if kind not in ("csv", "parquet"):
            raise ValueError(f"tables of the kind {kind!r} are unknown")
        from_csv = functools.partial(_from_csv, is_quoted=manifest.get(_QUOTED) is True)
        parse = from_csv if kind == "csv" else functools.partial(_from_parquet, budget=budget)
        tables = {name: parse(name, _entry(archive, f"{name}.{kind}", budget)) for name in COLUMNS}
    for name, rows in tables.items():
        if len(rows) != manifest["rows"][name]:
            raise ValueError(f"{name}: {len(rows)} rows of {manifest['rows'][name]}")
    runs = from_tables(tables)
    return json.dumps({"format": FORMAT, "version": manifest["version"], "runs": runs}, allow_nan=False).encode()


def _entry(archive: zipfile.ZipFile, name: str, budget: Budget) -> bytes:
    """Returns an entry's contents, within the limits, whatever the archive's directory claims."""
    with archive.open(name) as entry:
        content = entry.read(min(MAX_BYTES, budget.left) + 1)
    if len(content) > MAX_BYTES:
        raise ValueError(f"{name} unpacks to more than {MAX_BYTES >> 30} GiB")
    budget.spend(content)
    return content


def _to_csv(table: str, rows: Sequence[Row]) -> bytes:
    """Writes CSV (RFC 4180) in UTF-8: floats with all their digits, and an empty field for null."""
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, [*COLUMNS[table], *_parameters(table, rows)], restval="")
    writer.writeheader()
    writer.writerows({name: quoted(value) for name, value in row.items()} for row in rows)
    return text.getvalue().encode()


def _from_csv(table: str, content: bytes, *, is_quoted: bool) -> list[Row]:
    csv.field_size_limit(MAX_BYTES - 1)  # plans and certificates are longer than the default of 128 KiB
    reader = csv.DictReader(io.StringIO(content.decode(), newline=""), strict=True)
    try:
        return [_typed(row, COLUMNS[table], unquoted if is_quoted else str) for row in reader]
    except (csv.Error, ValueError) as error:
        raise ValueError(f"{table}: line {reader.line_num}: {error}") from error


def _typed(row: dict[str | None, Any], columns: Sequence[str], text: Callable[[str], str]) -> Row:
    if None in row or None in row.values():
        raise ValueError("a row has more or fewer fields than the header")
    return {
        name: None if row[name] == "" and name in NULLABLE else TYPES.get(name, text)(row[name]) for name in columns
    }


def _to_parquet(table: str, rows: Sequence[Row]) -> bytes:
    arrow, parquet = _pyarrow()
    names = {str: "string", int: "int64", float: "float64"}
    columns = {name: names[TYPES.get(name, str)] for name in COLUMNS[table]}
    for name in _parameters(table, rows):  # numbers if all of them are, otherwise texts
        values = [row.get(name) for row in rows]
        numbers = [value for value in values if isinstance(value, (int, float)) and not isinstance(value, bool)]
        is_numeric = len(numbers) == len(values)
        columns[name] = names[float if is_numeric else str]
        converted = list(map(float, numbers)) if is_numeric else list(map(str, values))
        rows = [{**row, name: value} for row, value in zip(rows, converted, strict=True)]
    packed = io.BytesIO()
    parquet.write_table(arrow.Table.from_pylist(rows, schema=arrow.schema(columns.items())), packed)
    return packed.getvalue()


def _from_parquet(table: str, content: bytes, budget: Budget) -> list[Row]:
    _, parquet = _pyarrow()
    try:
        described = parquet.ParquetFile(io.BytesIO(content)).metadata
        groups = [described.row_group(number) for number in range(described.num_row_groups)]
        values = sum(group.num_rows for group in groups) * len(COLUMNS[table])
        budget.spend_on(values, sum(group.total_byte_size for group in groups))
        return parquet.read_table(io.BytesIO(content)).select(COLUMNS[table]).to_pylist()
    except TooMuchMemory:
        raise
    except Exception as error:  # pyarrow's errors have no stable base class
        raise ValueError(f"{table}: {error}") from error


def _parameters(table: str, rows: Sequence[Row]) -> list[str]:
    """Returns the names of the additional columns, which are not read back."""
    return list(dict.fromkeys(name for row in rows for name in row if name not in COLUMNS[table]))


def _pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise MissingCapability("Parquet needs pyarrow, which is not installed", _PARQUET_HINT) from error
    return pyarrow, parquet
