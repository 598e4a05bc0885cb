"""Exports as files: JSON, or a zip of tables as CSV or Parquet. Without checks here a torn file would be half a run."""

import contextlib
import csv
import io
import json
import os
import tempfile
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from flightpath.errors import MissingCapability, UsageError
from results.exchange.exchange import FORMAT, VERSION, Export
from results.exchange.tables import COLUMNS, MAY_BE_NULL, Tables, from_tables, to_tables
from results.store.ownership import give_to_caller

MOST_BYTES = 2 * 2**30
"""Of a file when unpacked: more than 100,000 cells with their series, and less than fills a machine's memory."""

_NO_EXPORT = (
    *(ValueError, KeyError, TypeError, RecursionError, EOFError),
    *(zipfile.BadZipFile, zlib.error, RuntimeError),  # RuntimeError: encrypted, or packed in an unknown way
)
"""What Python's own readers say of a file that is something else, or torn."""

_MANIFEST = "manifest.json"
_PARQUET_HINT = ".venv/bin/pip install -e '.[parquet]'"


def write(export: Export, target: Path, kind: str) -> None:
    """Writes an export; a file that was there is replaced as a whole, or not at all.

    Args:
        export: what is written.
        target: the file.
        kind: `json`, `csv` or `parquet`.

    Raises:
        UsageError: it cannot be written.
        MissingCapability: pandas, which writes Parquet, is not installed.
    """
    content = _json_bytes(export) if kind == "json" else _zip_bytes(export, kind)
    try:
        with tempfile.NamedTemporaryFile(dir=target.absolute().parent, prefix=f".{target.name}.", delete=False) as made:
            try:
                made.write(content)
                made.flush()
                os.fchmod(made.fileno(), 0o644)
                os.replace(made.name, target)  # noqa: PTH105 (of a name, not a Path)
            except BaseException:
                with contextlib.suppress(OSError):
                    Path(made.name).unlink()
                raise
    except OSError as error:
        raise UsageError(
            f"cannot write {target}: {error.strerror or error}", "choose another place: --output"
        ) from error
    give_to_caller(target)


def read(source: Path) -> Export:
    """Reads an export and checks all of it.

    Raises:
        UsageError: it is no export, is torn, is of a newer version, or holds what no export holds.
        MissingCapability: pandas, which reads Parquet, is not installed.
    """
    try:
        if source.stat().st_size > MOST_BYTES:
            raise UsageError(f"{source} is larger than {MOST_BYTES >> 30} GiB", "export fewer runs at once")
        content = source.read_bytes()
    except OSError as error:
        raise UsageError(f"cannot read {source}: {error.strerror or error}") from error
    try:
        found = _from_zip(content) if content.startswith(b"PK") else content
        _check_version(found)
        return Export.model_validate_json(found) if isinstance(found, bytes) else Export.model_validate(found)
    except MissingCapability:
        raise
    except ValidationError as error:
        raise UsageError(f"{source} is no export that can be read: {_first(error)}", "nothing was imported") from error
    except _NO_EXPORT as error:
        raise UsageError(f"{source} is no export that can be read: {error}", "nothing was imported") from error


def _check_version(found: bytes | dict[str, Any]) -> None:
    """A newer version may have what this one would not understand, so that is said before anything else is."""
    if isinstance(found, bytes):
        found = json.loads(found)
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise ValueError("it does not say that it is one")
    version = found.get("version")
    if isinstance(version, int) and version > VERSION:
        raise ValueError(f"a newer Flightpath wrote it (version {version}; this one knows {VERSION}): update this one")


def _first(error: ValidationError) -> str:
    problem = error.errors(include_url=False, include_input=False)[0]
    where = ".".join(map(str, problem["loc"]))
    more = f" (and {error.error_count() - 1} more)" if error.error_count() > 1 else ""
    return f"{where}: {problem['msg']}{more}"


def _json_bytes(export: Export) -> bytes:
    # Not pydantic's own: the standard library writes each float with all its digits, and escapes nothing it need not.
    return json.dumps(export.model_dump(mode="json"), ensure_ascii=False, allow_nan=False, indent=1).encode()


# --- zip of tables ---


def _zip_bytes(export: Export, kind: str) -> bytes:
    tables = to_tables(export.runs)
    manifest = {
        "format": FORMAT,
        "version": VERSION,
        "kind": kind,
        "rows": {name: len(rows) for name, rows in tables.items()},
    }
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(_MANIFEST, json.dumps(manifest, indent=1))
        for name, rows in tables.items():
            content = _to_csv(name, rows) if kind == "csv" else _to_parquet(name, rows)
            archive.writestr(f"{name}.{kind}", content)
    return packed.getvalue()


def _from_zip(content: bytes) -> dict[str, Any]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        if sum(entry.file_size for entry in archive.infolist()) > MOST_BYTES:
            raise ValueError(f"it unpacks to more than {MOST_BYTES >> 30} GiB")
        manifest = json.loads(_entry(archive, _MANIFEST))
        _check_version(manifest)
        kind = manifest["kind"]
        if kind not in ("csv", "parquet"):
            raise ValueError(f"tables as {kind!r} are unknown")
        from_one = _from_csv if kind == "csv" else _from_parquet
        tables: Tables = {name: from_one(name, _entry(archive, f"{name}.{kind}")) for name in COLUMNS}
    for name, rows in tables.items():
        if len(rows) != manifest["rows"][name]:
            raise ValueError(f"{name}: {len(rows)} rows of {manifest['rows'][name]}")
    return {"format": manifest["format"], "version": manifest["version"], "runs": from_tables(tables)}


def _entry(archive: zipfile.ZipFile, name: str) -> bytes:
    """What is in the archive under a name; never more than its directory said, whatever the data say."""
    with archive.open(name) as entry:
        content = entry.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise ValueError(f"{name} unpacks to more than {MOST_BYTES >> 30} GiB")
    return content


def _to_csv(table: str, rows: Sequence[dict[str, Any]]) -> bytes:
    """RFC 4180 in UTF-8; floats with all their digits, nothing for null."""
    columns = _columns(table, rows)
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, columns, lineterminator="\r\n", restval="")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()


def _from_csv(table: str, content: bytes) -> list[dict[str, Any]]:
    with _long_fields():
        reader = csv.DictReader(io.StringIO(content.decode(), newline=""), strict=True)
        try:
            return [_typed(table, row) for row in reader]
        except csv.Error as error:
            raise ValueError(f"{table}: line {reader.line_num}: {error}") from error


@contextlib.contextmanager
def _long_fields() -> Iterator[None]:
    """A plan or a certificate is longer than the 128 KiB that the csv module takes for a field unless told."""
    before = csv.field_size_limit(2**31 - 1)
    try:
        yield
    finally:
        csv.field_size_limit(before)


def _typed(table: str, row: dict[str | None, Any]) -> dict[str, Any]:
    if None in row or None in row.values():
        raise ValueError(f"{table}: a row has more or fewer fields than the header")
    return {name: _value(table, name, kind, row[name]) for name, kind in COLUMNS[table].items()}


def _value(table: str, name: str, kind: type, text: str) -> Any:
    if text == "" and (table, name) in MAY_BE_NULL:
        return None
    try:
        return kind(text)
    except ValueError as error:
        raise ValueError(f"{table}: {name}: cannot read {text[:40]!r}") from error


def _columns(table: str, rows: Sequence[dict[str, Any]]) -> list[str]:
    more = dict.fromkeys(name for row in rows for name in row if name not in COLUMNS[table])
    return [*COLUMNS[table], *more]


def _to_parquet(table: str, rows: Sequence[dict[str, Any]]) -> bytes:
    pandas = _pandas()
    kinds = {str: "string", int: "int64", float: "float64"}
    columns = COLUMNS[table]
    frame = pandas.DataFrame(
        {name: pandas.Series([row[name] for row in rows], dtype=kinds[kind]) for name, kind in columns.items()}
    )
    for name in _columns(table, rows)[len(columns) :]:  # parameters: numbers where all are, words elsewhere
        values = [row.get(name) for row in rows]
        numbers = all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in values)
        frame[name] = [float(value) for value in values] if numbers else [str(value) for value in values]
    packed = io.BytesIO()
    frame.to_parquet(packed, engine="pyarrow", index=False)
    return packed.getvalue()


def _from_parquet(table: str, content: bytes) -> list[dict[str, Any]]:
    pandas = _pandas()
    try:
        frame = pandas.read_parquet(io.BytesIO(content), engine="pyarrow")
        columns = {
            name: frame[name].astype(object).where(frame[name].notna(), None).tolist() for name in COLUMNS[table]
        }
    except Exception as error:  # pyarrow's errors have no common base that is stable
        raise ValueError(f"{table}: {error}") from error
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _pandas() -> Any:
    try:
        import pandas
        import pyarrow  # noqa: F401 (pandas finds it by itself; without it, it says so too late)
    except ImportError as error:
        raise MissingCapability("Parquet needs pandas and pyarrow, which are not installed", _PARQUET_HINT) from error
    return pandas
