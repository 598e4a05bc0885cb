"""Foreign records that an import has let in, in every view: nothing acts, nothing fails, and other runs still list."""

import contextlib
import random

from flightpath.errors import UsageError
from results.commands.scenarios import drawn_if_possible
from results.exchange.export import import_runs
from results.exchange.files import read_export
from tests.fuzz.mutation import dump, vary_json
from tests.fuzz.stores import exported, seeded
from tests.fuzz.views import look_at_command, look_at_some


def made(chance: random.Random) -> bytes:
    return dump(vary_json(chance, exported(), changes=4))


def read(data: bytes) -> None:
    """Imports it, and looks at all runs in all ways."""
    with seeded() as store:
        file = store.folder.with_name("foreign")
        file.write_bytes(data)
        own = [run.run_id for run in store.runs()]
        with contextlib.suppress(UsageError):
            foreign = import_runs(store, [read_export(file)]).added
            look_at_some(store, [*foreign, *own[:1]], random.Random(data))
            listed = look_at_command(store, "list")
            assert all(run_id in listed for run_id in own)
            if sum(data) % 50 == 0 and foreign:  # to draw them takes seconds
                cells = store.cells(foreign[0])
                drawn_if_possible(store.run(foreign[0]), cells, file.parent)
