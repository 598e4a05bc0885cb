"""Location of a store: a folder, and if named a database on a PostgreSQL server; the command-line options for it."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote_plus

from flightpath.errors import UsageError

if TYPE_CHECKING:
    from sqlalchemy import URL

STORE_FORM = "postgresql://USER@HOST/DATABASE"
_PASSWORD = re.compile(r"(postgres(?:ql)?(?:\+\w+)?://[^:/@]*):.*@")

_SETTING = re.compile(r"(?P<before>[?&])(?P<name>[^=&]*)=[^&]*")


@dataclass(frozen=True)
class StoreLocation:
    """Location of a store: a folder with the files of each run, and the database there or on a PostgreSQL server."""

    folder: Path
    server: URL | None = None

    @classmethod
    def of(cls, where: str | os.PathLike[str] | StoreLocation) -> StoreLocation:
        """Returns a location as it is, and a folder's name as the location of a store in that folder."""
        # Not resolved: a symbolic link in the path stays as the user wrote it.
        return where if isinstance(where, StoreLocation) else cls(Path(os.path.abspath(where)))  # noqa: PTH100


def add_store_options(parser: argparse._ActionsContainer, folder: Path, what: str) -> None:
    """Adds `--results`, by default the folder, and `--store`; `what` completes "where …" in the help text."""
    parser.add_argument("--results", type=Path, default=folder, metavar="DIR", help=f"where {what} ({folder})")
    parser.add_argument(
        "--store",
        metavar="URL",
        help=f"use a database on a PostgreSQL server instead of one in that folder: {STORE_FORM}; the password is "
        "read from ~/.pgpass or PGPASSWORD",
    )


def store_location(options: argparse.Namespace) -> StoreLocation:
    return StoreLocation(StoreLocation.of(options.results).folder, server_url(options.store) if options.store else None)


def server_url(text: str) -> URL:
    """Parses the URL of a database on a PostgreSQL server.

    Raises:
        UsageError: it is not such a URL. The message does not repeat the text, which may contain a password.
    """
    from sqlalchemy import make_url  # slow to load, and not needed for a measurement that is not stored
    from sqlalchemy.exc import ArgumentError

    try:
        url = make_url(text)
    except (ArgumentError, ValueError):
        url = None
    if url is None or url.drivername not in ("postgresql", "postgres") or not url.database:
        raise UsageError("--store: not the URL of a PostgreSQL database", f"accepted form: {STORE_FORM}")
    if "password" in url.query:
        raise UsageError(
            "--store: a password is not accepted as a query parameter", "put it into ~/.pgpass, or into PGPASSWORD"
        )
    return url.set(drivername="postgresql+psycopg")


def without_passwords(command: Sequence[str]) -> list[str]:
    """Returns an argument list with the passwords removed from database URLs, so that it can be stored and shown."""
    return [_SETTING.sub(_unless_secret, _PASSWORD.sub(r"\1@", word)) if "://" in word else word for word in command]


def shown(url: URL) -> str:
    """Returns a database's URL for messages: without password, and without secrets among its parameters."""
    settings = {name: value for name, value in url.query.items() if not _is_secret(name)}
    return url.set(drivername="postgresql", query=settings).render_as_string()


def _unless_secret(setting: re.Match[str]) -> str:
    return f"{setting['before']}{setting['name']}=***" if _is_secret(unquote_plus(setting["name"])) else setting[0]


def _is_secret(name: str) -> bool:
    return name.lower().endswith("password")  # sslpassword, too
