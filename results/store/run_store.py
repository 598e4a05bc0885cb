"""The store of a running experiment: no cell is lost while the store cannot be written."""

import contextlib
import sys
import time
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sqlalchemy.exc import IntegrityError

from flightpath.errors import FlightpathError, UsageError
from flightpath.overrides import override
from results.records import PROGRESS_DOCUMENT, CellResult, RunRecord, RunStatus
from results.store.backend import StoreFailed
from results.store.location import StoreLocation
from results.store.rows import json_values
from results.store.run_lock import RunLock
from results.store.spool import SPOOL_NAME, Spool
from results.store.store import Store

_WAITS_S = (0.0, 1.0, 3.0)
"""Waits before the attempts to record the end of a run."""


@dataclass(frozen=True)
class _Running:
    """A run of this process: its lock, and the file for entries that the store does not take."""

    lock: RunLock
    spool: Spool


class RunStore(Store):
    """A store in which this process measures runs, each of which it locks until it has ended.

    Entries that the store does not take (its disk is full, its server restarts, another process holds it) wait in a
    file in the run's folder. They are retried with each further cell, at the end of the run, and by `recover`.
    """

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._running: dict[str, _Running] = {}

    @override
    def begin_run(
        self,
        scenario: str,
        plan: Mapping[str, Any],
        environment: Mapping[str, Any],
        command: Sequence[str] | str,
        started_at: datetime | None = None,
    ) -> str:
        run_id = super().begin_run(scenario, plan, environment, command, started_at)
        try:
            self._hold(run_id)
        except BaseException:
            super().finish_run(run_id, RunStatus.FAILED)
            raise
        return run_id

    @override
    def resume_run(self, run: str) -> RunRecord:
        run_id = self.resolve(run)
        self._hold(run_id)
        try:
            self._catch_up(run_id)
            return super().resume_run(run_id)
        except BaseException:
            self._let_go(run_id)
            raise

    @override
    def discard_run(self, run_id: str) -> None:
        super().discard_run(run_id)
        self._let_go(run_id)

    @override
    def record(self, run_id: str, result: CellResult, order: int, started_at: datetime | None = None) -> None:
        try:
            self._catch_up(run_id)
            super().record(run_id, result, order, started_at)
        except StoreFailed as error:
            if is_known(error) or run_id not in self._running:
                raise
            cell = {**asdict(result), "order": order, "started_at": started_at and started_at.isoformat()}
            self._keep(run_id, {"cell": cell}, error)
            print(f"warning: {error.args[0]}: cell {result.cell.label} waits in {self._path(run_id)}", file=sys.stderr)

    @override
    def keep_document(self, run: str, name: str, text: str) -> None:
        try:
            super().keep_document(run, name, text)
        except StoreFailed as error:
            if name == PROGRESS_DOCUMENT:  # it is outdated before the store takes anything again
                raise
            self._keep(run, {"document": {"name": name, "text": text}}, error)

    def has_reserve(self, run_id: str) -> bool:
        """Returns whether the disk had room for what the store may not take."""
        return self._running[run_id].spool.found_room

    @override
    def finish_run(self, run_id: str, status: RunStatus | str, environment: Mapping[str, Any] | None = None) -> None:
        facts = json_values(environment or {}, "the environment")
        ended = {"status": str(status), "ended_at": datetime.now(UTC).isoformat(), "facts": facts}
        try:
            self._end(run_id, ended)
        except StoreFailed as error:
            self._keep(run_id, {"end": ended}, error)
            raise StoreFailed(
                f"{error.args[0]}: what was measured waits in {self._path(run_id)}",
                f"it is stored when the next run with these results starts; a scenario's also with --resume {run_id}",
            ) from error
        finally:
            self._let_go(run_id)

    def recover(self) -> None:
        """Stores entries that earlier processes left in files, and reports that; keeps files that fail again."""
        for path in sorted(self.folder.glob(f"*/{SPOOL_NAME}")):
            run_id = path.parent.name
            try:
                self._hold(run_id)
            except FlightpathError:  # it is running
                continue
            try:
                if count := self._catch_up(run_id):
                    print(f"run {run_id}: {count} cell(s) that the store could not take are in it now", file=sys.stderr)
            except FlightpathError as error:
                print(f"warning: {error.args[0]}: what {path} holds is not stored yet", file=sys.stderr)
            finally:
                self._let_go(run_id)

    # --- the run's files ---

    def _hold(self, run_id: str) -> None:
        """Locks a run.

        Raises:
            UsageError: another process has locked it.
            StoreFailed: its folder cannot be written.
        """
        folder = self.artifacts(run_id)
        try:
            lock = RunLock.take(folder)
            if lock is None:
                raise UsageError(f"run {run_id} is still being measured", "wait until it has ended, or end it")
            self._running[run_id] = _Running(lock, Spool(folder))
        except OSError as error:
            raise StoreFailed(f"cannot write {folder}: {error.strerror or error}") from error

    def _let_go(self, run_id: str) -> None:
        """Unlocks a run, and removes its file if it is empty."""
        if running := self._running.pop(run_id, None):
            running.spool.close(remove=running.spool.is_empty)
            running.lock.release()

    def _path(self, run_id: str) -> Path:
        return self._running[run_id].spool.path

    def _keep(self, run_id: str, entry: Mapping[str, Any], error: StoreFailed) -> None:
        """Writes an entry into the run's file; raises the store's error if that is impossible too."""
        if run_id not in self._running:
            raise error
        try:
            self._running[run_id].spool.add(entry)
        except OSError:
            raise error from None

    # --- trying again ---

    def _end(self, run_id: str, ended: Mapping[str, Any]) -> None:
        """Stores waiting entries and the end of the run, in several attempts."""
        running = self._running.get(run_id)
        for attempt, wait_s in enumerate(_WAITS_S, start=1):
            time.sleep(wait_s)
            try:
                self._catch_up(run_id)
                self._store_end(run_id, ended)
            except StoreFailed:
                if running is None or attempt == len(_WAITS_S):
                    raise
                with contextlib.suppress(OSError):
                    running.spool.give_up_reserve()
            else:
                return

    def _catch_up(self, run_id: str) -> int:
        """Stores the entries of a run's file; returns the number of cells."""
        if run_id not in self._running:
            return 0
        spool, count = self._running[run_id].spool, 0
        try:
            for entry in spool.entries():
                if "end" in entry:
                    self._store_end(run_id, entry["end"])
                elif "document" in entry:
                    super().keep_document(run_id, **entry["document"])
                else:
                    self._store_cell(run_id, entry["cell"])
                    count += 1
        except (LookupError, TypeError, ValueError, ArithmeticError, zlib.error, RecursionError) as error:
            raise StoreFailed(f"{spool.path} holds what Flightpath does not write: {error}") from error
        spool.clear()
        return count

    def _store_cell(self, run_id: str, waiting: dict[str, Any]) -> None:
        from pydantic import TypeAdapter  # slow to load, and rarely needed

        cell = dict(waiting)
        order, started_at = cell.pop("order"), cell.pop("started_at")
        result = TypeAdapter(CellResult).validate_python(cell)
        try:
            super().record(run_id, result, order, datetime.fromisoformat(started_at) if started_at else None)
        except StoreFailed as error:
            if not is_known(error):
                raise

    def _store_end(self, run_id: str, ended: Mapping[str, Any]) -> None:
        ended_at = datetime.fromisoformat(ended["ended_at"]).isoformat()
        self._set_status(run_id, RunStatus(ended["status"]), ended_at=ended_at, facts=ended["facts"])


def is_known(error: StoreFailed) -> bool:
    """Returns whether the store refused a cell because it has it: an earlier attempt succeeded without an answer."""
    return isinstance(error.__cause__, IntegrityError)


def recover(place: StoreLocation) -> None:
    """Stores entries that runs left in files beside a store; prints a warning if the store cannot be used."""
    if not any(place.folder.glob(f"*/{SPOOL_NAME}")):
        return
    try:
        RunStore.open(place).recover()
    except FlightpathError as error:
        print(f"warning: {error.args[0]}: what waits in {place.folder}/*/{SPOOL_NAME} is not stored", file=sys.stderr)
