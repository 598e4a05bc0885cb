"""Where results are kept: without it every command would read `--results` and `--store` in its own way."""

import argparse
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError

from flightpath.errors import UsageError

STORE_FORM = "postgresql://USER@HOST/DATABASE"
_WITH_PASSWORD = re.compile(r"(postgres(?:ql)?(?:\+\w+)?://[^:/@]*):.*@")


@dataclass(frozen=True)
class Place:
    """A folder for the files of runs, and for their database too, unless that is on a server."""

    folder: Path
    server: URL | None = None

    @classmethod
    def of(cls, where: "str | os.PathLike[str] | Place") -> "Place":
        """A place as it is, or the folder of that name."""
        # Not resolved: a symbolic link in the path stays as the user wrote it.
        return where if isinstance(where, Place) else cls(Path(os.path.abspath(where)))  # noqa: PTH100


def add_place_options(parser: argparse._ActionsContainer, folder: Path, what: str) -> None:
    """The options of which `place_of` makes a place.

    Args:
        parser: gets them.
        folder: that is meant if none is named.
        what: is done there, for the help.
    """
    parser.add_argument("--results", type=Path, default=folder, metavar="DIR", help=f"where {what} ({folder})")
    parser.add_argument(
        "--store",
        metavar="URL",
        help=f"the database on a PostgreSQL server instead of in that folder: {STORE_FORM}; the password from "
        "~/.pgpass or PGPASSWORD",
    )


def place_of(options: argparse.Namespace) -> Place:
    """The place that a command's options name.

    Raises:
        UsageError: the URL is none of the accepted form.
    """
    return Place(Place.of(options.results).folder, server_url(options.store) if options.store else None)


def server_url(text: str) -> URL:
    """The URL of a database on a PostgreSQL server.

    Raises:
        UsageError: it is none; the text, which may hold a password, is not repeated.
    """
    try:
        url = make_url(text)
    except (ArgumentError, ValueError):
        url = None
    if url is None or url.drivername not in ("postgresql", "postgres") or not url.database:
        raise UsageError("--store: this is no URL of a PostgreSQL database", f"accepted form: {STORE_FORM}")
    if "password" in url.query:
        raise UsageError(
            "--store: a password has no place behind the question mark", "put it into ~/.pgpass, or into PGPASSWORD"
        )
    return url.set(drivername="postgresql+psycopg")


def without_passwords(command: Sequence[str]) -> list[str]:
    """An argument list as it may be kept and shown."""
    return [_WITH_PASSWORD.sub(r"\1@", word) for word in command]
