"""The file of cells that wait for a store: any bytes in it. What is stored of it is whole, and the store stays so."""

import contextlib
import io
import json
import random
import struct
import zlib
from dataclasses import asdict

from results.store.location import StoreLocation
from results.store.rows import json_default
from results.store.run_store import recover
from results.store.spool import SPOOL_NAME
from results.store.store import Store
from tests.fuzz.mutation import vary_bytes, vary_json
from tests.fuzz.stores import seeded
from tests.fuzz.views import look_at_command
from tests.support.stored_runs import simple

_HEADER = struct.Struct("<II")
_STARTED = "2026-11-21T10:00:00+00:00"


def made(chance: random.Random) -> bytes:
    """Entries with other values but the right checksum, or damaged ones."""
    entries = [packed(vary_json(chance, entry) if chance.random() < 0.6 else entry) for entry in _entries()]
    data = b"".join(chance.sample(entries, chance.randint(1, len(entries)))) + bytes(_HEADER.size)
    return vary_bytes(chance, [data]) if chance.random() < 0.3 else data


def read(data: bytes) -> None:
    """Recovers what the file holds; all runs can be listed afterwards."""
    with seeded() as store:
        done, running = (run.run_id for run in store.runs())
        (store.folder / running).mkdir()
        (store.folder / running / SPOOL_NAME).write_bytes(data)
        with contextlib.redirect_stderr(io.StringIO()):
            recover(StoreLocation.of(store.folder))
        listed = look_at_command(Store.open(store.folder), "list")
        assert done in listed and running in listed


def _entries() -> list[dict]:
    cells = [{**asdict(simple(load, 1, x=2.0)), "order": 7, "started_at": _STARTED} for load in (1.5, 2.5)]
    end = {"status": "done", "ended_at": _STARTED, "facts": {"a": 1}}
    return json.loads(json.dumps([*({"cell": cell} for cell in cells), {"end": end}], default=json_default))


def packed(entry: object) -> bytes:
    """An entry as it stands in the file."""
    packed = zlib.compress(json.dumps(entry).encode())
    return _HEADER.pack(len(packed), zlib.crc32(packed)) + packed
