"""The commands `export` and `import`: without them what one machine measured would stay on it."""

import argparse
from pathlib import Path

from flightpath.errors import UsageError
from results.commands.commands import opened
from results.store.filters import RunFilter
from results.store.listing import listed
from results.store.location import store_location
from results.store.store import Store

KINDS = ("json", "csv", "parquet")


def export_runs(options: argparse.Namespace) -> None:
    """Writes runs into one file, and prints its path."""
    from results.exchange import exchange  # pydantic, here and below, which no other command needs
    from results.exchange import files as exchange_files

    store = opened(options)
    if options.runs:
        runs = list(dict.fromkeys(store.resolve(run) for run in options.runs))
    else:
        runs = [record.run_id for record, _ in listed(store, RunFilter.parse(vars(options))).runs]
    if not runs:
        raise UsageError("export: the filters leave no run")
    suffix = "json" if options.kind == "json" else f"{options.kind}.zip"
    target: Path = options.output or Path(f"{runs[0] if len(runs) == 1 else 'flightpath'}.{suffix}")
    exchange_files.write(exchange.collect(store, runs), target, options.kind)
    print(target)


def import_files(options: argparse.Namespace) -> None:
    """Brings runs in, and prints which are new."""
    from results.exchange import exchange
    from results.exchange import files as exchange_files

    exports = [exchange_files.read(file) for file in options.files]
    found = exchange.bring_in(Store.open(store_location(options)), exports)
    for run_id in found.added:
        print(run_id)
    if found.known:
        print(f"there already, just the same: {', '.join(found.known)}", flush=True)
