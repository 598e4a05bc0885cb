"""Files of exports that somebody sent: JSON, and zips of tables as CSV or Parquet. All of one is stored, or nothing."""

import functools
import io
import random
import zipfile
from importlib.util import find_spec

from flightpath.errors import FlightpathError, UsageError
from results.exchange.export import export_runs, import_runs
from results.exchange.files import read_export, write_export
from tests.fuzz.mutation import WORDS, json_or_bytes, vary_bytes, vary_text
from tests.fuzz.stores import exported, seeded
from tests.support.stored_runs import everything


def made(chance: random.Random) -> bytes:
    """A file: more often with other values than damaged."""
    if chance.random() < 0.4:
        return json_or_bytes(chance, [exported()])
    archives = _archives()
    return _repacked(chance, chance.choice(archives)) if chance.random() < 0.7 else vary_bytes(chance, archives)


def read(data: bytes) -> None:
    """Imports it into a store that has a run, which stays as it is."""
    with seeded() as store:
        file = store.folder.with_name("foreign")
        file.write_bytes(data)
        try:
            export = read_export(file)
        except UsageError as error:
            assert str(file) in str(error)
            return
        before = everything(store)
        try:
            imported = import_runs(store, [export])
        except FlightpathError:
            assert everything(store) == before
            return
        assert {run.run_id for run in export.runs} == {*imported.added, *imported.known}
        again = export_runs(store, imported.added)
        assert import_runs(store, [again]).known == list(imported.added)
        assert len(store.runs()) == len(before["runs"]) + len(imported.added)


@functools.cache
def _archives() -> list[bytes]:
    archives = []
    with seeded() as store:
        export = export_runs(store, [run.run_id for run in store.runs()])
        for kind in ("csv", "parquet") if find_spec("pyarrow") else ("csv",):
            target = store.folder.with_name(kind)
            write_export(export, target, kind)
            archives.append(target.read_bytes())
    return archives


def _repacked(chance: random.Random, archive: bytes) -> bytes:
    """The same zip with one of its files changed, left out, renamed or there twice."""
    packed = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(archive)) as source, zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as target:
        names = source.namelist()
        chosen = chance.choice(names)
        for name in names:
            content = source.read(name)
            if name == chosen:
                name, content = _changed(chance, name, content)
            if content is not None:
                target.writestr(name, content)
    return packed.getvalue()


def _changed(chance: random.Random, name: str, content: bytes) -> tuple[str, bytes | None]:
    match chance.randrange(8):
        case 0:
            return chance.choice([word for word in WORDS if word.isprintable() and word]), content
        case 1:
            return name, None
        case 2:
            return name, vary_bytes(chance, [content])
        case _:
            return name, vary_text(chance, [content.decode(errors="replace")]).encode(errors="replace")
