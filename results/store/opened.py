"""What an open store is made of: without one form of it every call would have to know which database it talks to."""

import contextlib
import json
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from sqlalchemy import Engine
from sqlalchemy.exc import DBAPIError, IntegrityError

from flightpath.errors import FlightpathError, UsageError
from results.store.schema import SCHEMA_VERSION


class StoreFailed(FlightpathError):
    """The store could not be read or written: a full disk, another process that holds it, a lost server, or damage."""


Explain = Callable[[Exception], StoreFailed]


class NoStore(UsageError):
    """Nothing has been kept in this place yet."""


@dataclass(frozen=True)
class Opened:
    """A database, ready to be used.

    Attributes:
        name: for messages; without a password.
        reading, writing: what sessions are made with.
        explain: what an error of the database means for this store, and what to do.
    """

    name: str
    reading: Engine
    writing: Engine
    explain: Explain


@contextlib.contextmanager
def named(explain: Explain) -> Iterator[None]:
    """Turns a database's errors, and content that cannot be read, into what they mean; a broken rule stays what it is.

    Raises:
        StoreFailed: what was done inside failed.
    """
    try:
        yield
    except IntegrityError:
        raise
    except (DBAPIError, json.JSONDecodeError, UnicodeDecodeError, zlib.error) as error:
        raise explain(error) from error


def refuse_newer(version: int, name: object) -> None:
    """Raises UsageError if a store is of a later version than this program knows."""
    if version > SCHEMA_VERSION:
        raise UsageError(
            f"{name} was written by a newer Flightpath (schema {version}; this one knows {SCHEMA_VERSION})",
            "update this one, or choose another place with --results DIR",
        )
