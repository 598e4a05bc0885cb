"""Imports of files that take more memory than there is, as JSON, CSV and Parquet."""

import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path

from flightpath.project import PROJECT
from results.exchange.export import Export
from results.exchange.files import read_export, write_export
from results.records import Series
from results.store.location import StoreLocation
from results.store.store import Store
from tests.campaign.memory.group import MemoryGroup
from tests.campaign.outcome import Outcome

STORED = PROJECT / "tests" / "data" / "mptcp_load_run.csv.zip"
KINDS = {"json": "json", "csv": "zip", "parquet": "zip"}
LIMITS_MB = {True: (120, 400), False: range(100, 600, 20)}
"""In the short form and in the full one. With the least Python must refuse the file, with the most it can import all of
it; in between it must know."""

_VALUES = {True: 300_000, False: 1_000_000}


def imports(group: MemoryGroup, short: bool) -> Iterator[Outcome]:
    """Imports a run of so many values with less and less memory, and at last with all that there is."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        export = _large_export(_VALUES[short])
        for kind, suffix in KINDS.items():
            if kind == "parquet" and not find_spec("pyarrow"):
                yield Outcome("memory: import of parquet", "0 limits", "nothing was tried: pyarrow is not installed")
                continue
            file = folder / f"{kind}.{suffix}"
            write_export(export, file, kind)
            yield _imported(group, folder / f"store-{kind}", file, LIMITS_MB[short])


def _large_export(values: int) -> Export:
    """A real run of which one cell has a very long series."""
    export = read_export(STORED)
    run = export.runs[0]
    series = {"long": Series("s", tuple(map(float, range(values // 2))), tuple(x / 7 for x in range(values // 2)))}
    cells = [run.cells[0].model_copy(update={"series": series}), *run.cells[1:]]
    return export.model_copy(update={"runs": [run.model_copy(update={"cells": cells, "run_id": "large"})]})


def _imported(group: MemoryGroup, store: Path, file: Path, limits_mb: Iterable[int]) -> Outcome:
    """Imports a file under each limit, into a store that has another run."""
    _import([str(STORED)], store)
    before = _content(store)
    codes, errors, faults = [], [], []
    for limit_mb in limits_mb:
        group.limit(limit_mb)
        done = _import([str(file)], store, group)
        codes.append(f"{limit_mb} MiB: exit code {done.returncode}")
        errors.append(done.stderr.strip())
        if done.returncode == 0:
            break
        if done.returncode != 2 or "memory" not in done.stderr or "Traceback" in done.stderr:
            faults.append(f"with {limit_mb} MiB it ended with {done.returncode} and said {done.stderr[-300:]!r}")
        if _content(store) != before:
            faults.append(f"with {limit_mb} MiB it changed the store")
    last = _import([str(file)], store)
    if last.returncode != 0 or _content(store) != [*before, "large"]:
        faults.append(f"afterwards the store does not take it: {last.stderr[-300:]!r}")
    figures = (
        f"file of {file.stat().st_size / 1e6:.1f} MB, {', '.join(codes)}; "
        f"the store is whole and takes it without limit; said: {errors[0]!r}"
    )
    return Outcome(f"memory: import of {file.stem}", f"{len(codes)} limits", figures, tuple(faults))


def _import(files: list[str], store: Path, group: MemoryGroup | None = None) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-m", "results", "import", *files, "--results", str(store)]
    enter = (lambda: group.take(0)) if group else None
    return subprocess.run(argv, cwd=PROJECT, capture_output=True, text=True, preexec_fn=enter)


def _content(folder: Path) -> list[str]:
    """The runs of a store, which is checked as it is opened."""
    return [record.run_id for record in Store.open(StoreLocation(folder)).runs()]
