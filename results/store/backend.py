"""The contract between a store and its database, and the errors of a store."""

import contextlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from sqlalchemy import Connection, Engine, delete, insert
from sqlalchemy.exc import DBAPIError, IntegrityError
from sqlalchemy.schema import CreateIndex

from flightpath.errors import FlightpathError, UsageError
from results.store.schema import SCHEMA_VERSION, Base, UnreadableValue, VersionRow


class StoreFailed(FlightpathError):
    """The store could not be read or written: the disk is full, another process holds it, or it is damaged or gone."""


class NoStore(UsageError):
    """There is no store in this location yet."""


Explain = Callable[[Exception], StoreFailed]


@dataclass(frozen=True)
class Backend:
    """An open database.

    Attributes:
        name: name for messages, without a password.
        explain: function that turns an error of the database into one for the user.
    """

    name: str
    reading: Engine
    writing: Engine
    explain: Explain


@contextlib.contextmanager
def translated_errors(explain: Explain) -> Iterator[None]:
    """Turns errors of the database, and unreadable contents, into `StoreFailed`; lets `IntegrityError` pass."""
    try:
        yield
    except IntegrityError:
        raise
    except (DBAPIError, json.JSONDecodeError, UnreadableValue) as error:
        raise explain(error) from error


def check_version(version: int, name: object) -> None:
    """Raises UsageError if a store's version is later than this program's."""
    if version > SCHEMA_VERSION:
        raise UsageError(
            f"{name} was written by a newer Flightpath (schema {version}; this one knows {SCHEMA_VERSION})",
            "update this Flightpath, or choose another folder with --results DIR",
        )


def upgrade(connection: Connection) -> None:
    """Creates the tables and indices that a database lacks, all of them in an empty one, and sets its version.

    Versions 1 to 4 differ in nothing else. A version that changes a column must change it here too.
    """
    Base.metadata.create_all(connection)
    for table in Base.metadata.tables.values():
        for index in table.indexes:
            connection.execute(CreateIndex(index, if_not_exists=True))
    connection.execute(delete(VersionRow))
    connection.execute(insert(VersionRow).values(version_num=str(SCHEMA_VERSION)))
