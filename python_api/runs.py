"""Stored runs for notebooks and scripts: measurements as data frames, verdicts and figures."""

import os
from collections.abc import Mapping
from datetime import datetime
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Any

import pandas as pd

from flightpath.overrides import override
from python_api.frames import cells_frame, claims_frame, connections_frame, packets_frame, series_frame
from results.commands.scenarios import answer_of, drawn_if_possible
from results.recording.blocks import FOLDER, file_name
from results.recording.file import Recording, read
from results.recording.journeys import Journeys, journeys
from results.records import ClaimVerdict, RunRecord, RunStatus, Verdict
from results.store.location import StoreLocation, server_url
from results.store.run_id import LATEST
from results.store.store import DEFAULT_FOLDER, Store
from results.summary.verdicts import badge_text, overall


class Run:
    """A run as it was stored when it was loaded. `flightpath.run` and `flightpath.load` return it.

    Attributes:
        run_id: ID, for example `20261121-101500-mptcp_load-ab12`.
        scenario: its name.
        status: `running`, `done`, `interrupted` or `failed`.
        started_at, ended_at: UTC; it has no end while it runs, or if it was killed.
        plan: plan of the run (JSON values).
        environment: kernel, versions and host (JSON values).
        verdict: whether its cells can be trusted: that of the worst; `unusable` if it has none.
        folder: folder of its files.
    """

    def __init__(self, store: Store, run: str) -> None:
        record: RunRecord = store.run(run)
        self._cells, self._claims = store.cells(record.run_id), store.claims(record.run_id)
        self._record = record
        self.run_id: str = record.run_id
        self.scenario: str = record.scenario
        self.status: RunStatus = record.status
        self.started_at: datetime = record.started_at
        self.ended_at: datetime | None = record.ended_at
        self.plan: Mapping[str, Any] = record.plan
        self.environment: Mapping[str, Any] = record.environment
        self.verdict: Verdict = overall(self._cells)
        self.folder: Path = store.folder / record.run_id

    @cached_property
    def cells(self) -> pd.DataFrame:
        """Cells with their metrics, one row a cell: see `python_api.frames.cells_frame`."""
        return cells_frame(self._cells)

    @cached_property
    def series(self) -> pd.DataFrame:
        """Series over time, one row a point: see `python_api.frames.series_frame`."""
        return series_frame(self._cells)

    @cached_property
    def claims(self) -> pd.DataFrame:
        """Claims of a paper with the measured values: see `python_api.frames.claims_frame`."""
        return claims_frame(self._claims)

    @cached_property
    def packets(self) -> pd.DataFrame:
        """Packets of recorded cells, one row a packet and link: see `python_api.frames.packets_frame`."""
        return packets_frame(
            {
                number: (found, int(recording.description["began_ns"]))
                for number, (recording, found) in self._recorded.items()
            }
        )

    @cached_property
    def connections(self) -> pd.DataFrame:
        """States of connections in recorded cells, one row a change: see `python_api.frames.connections_frame`."""
        return connections_frame(self._recorded)

    @property
    def _recorded(self) -> Mapping[int, tuple[Recording, Journeys]]:
        """The recordings, and the journeys in them, by the numbers of cells."""
        recorded = {}
        for number, cell in enumerate(self._cells, start=1):
            file = self.folder / FOLDER / file_name(cell.cell.label)
            if file.exists():
                recording = read(file)
                recorded[number] = (recording, journeys(recording))
        return recorded

    @property
    def answer(self) -> str:
        """Answer of the run in a sentence or two; empty if the scenario has none."""
        return " ".join(answer_of(self.scenario, self._cells)) if self._cells else ""

    def figures(self) -> list[Path]:
        """Returns the figures as PNG files, beside each an SVG; they are drawn if they are not there yet."""
        drawn = self.folder.glob("*.png")
        return sorted(drawn) or [
            path for path in drawn_if_possible(self._record, self._cells, self.folder) if path.suffix == ".png"
        ]

    @override
    def __repr__(self) -> str:
        count = len(self._cells)
        return f"<Run {self.run_id}: {count} cell{'' if count == 1 else 's'}, {self.verdict}>"

    def _repr_html_(self) -> str:
        """Returns the run in a notebook: its finding, verdict and claims in words."""
        lines = [f"<b>{escape(self.scenario)}</b> <code>{escape(self.run_id)}</code> ({escape(self.status)})"]
        lines += [escape(text) for text in (self.answer, badge_text(self._cells), self._claims_in_words()) if text]
        return "<br>\n".join(lines)

    def _claims_in_words(self) -> str:
        counts = {verdict: sum(claim.verdict is verdict for claim in self._claims) for verdict in ClaimVerdict}
        return "claims: " + ", ".join(f"{n} {verdict}" for verdict, n in counts.items() if n) if self._claims else ""


def load(run: str = LATEST, *, results: str | os.PathLike[str] | None = None, store: str | None = None) -> Run:
    """Loads a stored run.

    Args:
        run: ID of the run, an unambiguous beginning of it, or `latest`.
        results: folder that keeps the runs; by default `results/runs` of the current folder.
        store: URL of the database, if it is on a PostgreSQL server.

    Raises:
        UsageError: there is no such run, or no store.
        MissingCapability: the server cannot be reached.
    """
    folder = StoreLocation.of(results or DEFAULT_FOLDER).folder
    return Run(Store.open(StoreLocation(folder, server_url(store) if store else None), create=False), run)
