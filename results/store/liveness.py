"""Whether a run that has not ended is still measured, or was killed."""

import platform
from dataclasses import replace

from results.records import RunRecord, RunStatus
from results.store.run_lock import RunLock
from results.store.store import Store


def with_actual_status(store: Store, record: RunRecord) -> RunRecord:
    """The run, as `interrupted` if it should be running and its process has ended.

    Of a run of another machine, in a store on a server, only what it has recorded is known.
    """
    here = record.environment.get("host") == platform.node()
    if record.status is not RunStatus.RUNNING or not here or RunLock.is_held(store.folder / record.run_id):
        return record
    return replace(record, status=RunStatus.INTERRUPTED)
