"""The programs of the kill storm: how each is started again and again, and what must be true after a kill."""

import contextlib
import sqlite3
import sys
import urllib.request
from dataclasses import dataclass
from pathlib import Path

from flightpath.command_line import INTERRUPTED
from flightpath.errors import FlightpathError
from flightpath.project import PROJECT
from results.records import CellResult, RunStatus
from results.store.sqlite import DATABASE_NAME
from results.store.store import Store
from tests.support.ports import free_port
from tests.support.ssh_far_end import FarEnd
from tests.support.stored_runs import begin, simple


@dataclass(frozen=True)
class Ended:
    """End of a program: its exit code, its output, and whether the killed process was its main process."""

    code: int
    output: str
    was_main: bool


class Victim:
    """A program that is started in turn and killed before it has run `typical_s`; it keeps things in its own folder.

    It need not explain the exit codes `good_ends`. `keyboard` is typed into it.
    """

    name: str
    typical_s: float
    waits_for_user = False
    good_ends: tuple[int, ...] = (0, 4)
    keyboard = ""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()

    def argv(self) -> list[str]:
        """The command that starts it, or lets it go on where it was."""
        raise NotImplementedError

    def faults_after(self, ended: Ended) -> list[str]:
        """Judges its output and what it kept."""
        if "Traceback" in ended.output:
            return [f"a traceback: …{ended.output[-600:]}"]
        if ended.was_main or ended.code in self.good_ends or (ended.code in (1, 3) and "error: " in ended.output):
            return []
        return [f"exit code {ended.code} with: …{ended.output[-300:]}"]

    def read(self) -> None:
        """A user's action while it runs, repeated again and again."""

    def figures(self) -> str:
        return ""


class ScenarioRuns(Victim):
    """A scenario: after each kill the same run is resumed until it is complete, and then another is begun."""

    def __init__(self, folder: Path, scenario: str, words: list[str], *, cells: int, cell_s: float) -> None:
        super().__init__(folder)
        self.name, self.typical_s = f"{scenario} {words[words.index('--clock') + 1]}", cells * cell_s
        self._command = [sys.executable, "-m", f"scenarios.{scenario}", "--results", str(folder / "runs")]
        self._words, self._cells, self._resumed = words, cells, 0
        self._finished: dict[str, list[CellResult]] = {}

    def argv(self) -> list[str]:
        """Goes on with the newest run if it is not complete."""
        newest = None
        with contextlib.suppress(FlightpathError):
            newest = Store.open(self.folder / "runs", create=False).latest()
        if newest is None or newest.status is RunStatus.DONE:
            return [*self._command, *self._words]
        self._resumed += 1
        return [*self._command, "--resume", newest.run_id]

    def faults_after(self, ended: Ended) -> list[str]:
        """Also checks that the store is sound and that no finished cell is lost."""
        faults, file = super().faults_after(ended), self.folder / "runs" / DATABASE_NAME
        if not file.exists():
            return faults
        with contextlib.closing(sqlite3.connect(file)) as database:
            (answer,) = database.execute("PRAGMA integrity_check(1)").fetchone()
        if answer != "ok":
            return [*faults, f"the store is damaged: {answer}"]
        store = Store.open(self.folder / "runs", create=False)
        for record in store.runs():
            cells, before = store.cells(record.run_id), self._finished.get(record.run_id, [])
            if any(cell not in cells for cell in before):
                faults.append(f"run {record.run_id}: a finished cell is lost or changed")
            if record.status is RunStatus.DONE and len(cells) != self._cells:
                faults.append(f"run {record.run_id} is done with {len(cells)} of {self._cells} cells")
            self._finished[record.run_id] = cells
        return faults

    def figures(self) -> str:
        cells = sum(len(cells) for cells in self._finished.values())
        return f"{len(self._finished)} runs resumed {self._resumed} times, {cells} cells kept"


class Preflight(Victim):
    """The probe, downloading and uploading in turn; the far end is an SSH server on loopback."""

    name, typical_s = "preflight", 6

    def __init__(self, folder: Path, end: FarEnd) -> None:
        super().__init__(folder)
        self._end, self._turns, self._stored = end, 0, 0

    def argv(self) -> list[str]:
        """Two iterations of three streams, through the far end's own configuration."""
        self._turns += 1
        way = ["--upload"] if self._turns % 2 else []
        ssh = ["-F", str(self._end.sshd.client_configuration), "--no-route", "--batch"]
        amount = ["--size", "40MB", "--rate", "400Mbit", "-n", "2", "-P", "3", "--results", str(self._end.memory)]
        return [sys.executable, "-m", "probes.preflight", *ssh, *way, *amount, "--", "dtn"]

    def faults_after(self, ended: Ended) -> list[str]:
        """Also checks that no stored measurement is lost; a later probe removes what a killed one could not."""
        before, self._stored = self._stored, self._end.stored()
        faults = super().faults_after(ended)
        return faults if self._stored >= before else [*faults, f"{self._stored} measurements are left of {before}"]

    def figures(self) -> str:
        return f"{self._stored} measurements kept, {len(self._end.left())} temporary folders at the far end"


class MininetCommand(Victim):
    """`mn` with steered connections, which are made again and again."""

    name, typical_s, waits_for_user = "mn", 6, True
    good_ends = (0, INTERRUPTED)
    keyboard = "pingall\niperf h1 h2\n" * 30

    def argv(self) -> list[str]:
        words = ["--topo", "linear,2", "--link", "relay,bw=50,delay=1ms", "--controller", "steering"]
        return ["/usr/bin/python3", str(PROJECT / "topologies/mn.py"), *words]

    def faults_after(self, ended: Ended) -> list[str]:
        """Accepts any error of Mininet's about a network that has lost a part, except a traceback."""
        return [fault for fault in super().faults_after(ended) if "traceback" in fault]


class Dashboard(Victim):
    """The pages of a store with a run, on one port: if that were still taken, the next one would not start."""

    name, typical_s, waits_for_user = "dashboard", 6, True
    good_ends = (0, INTERRUPTED)

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._port = free_port()
        store = Store.open(folder / "runs")
        self._run = begin(store)
        store.record(self._run, simple(), 0)
        self._answered = 0

    def argv(self) -> list[str]:
        options = ["--results", str(self.folder / "runs"), "--port", str(self._port)]
        return [sys.executable, "-m", "results", "serve", *options]

    def faults_after(self, ended: Ended) -> list[str]:
        """Also checks that the store still lists its run."""
        faults = super().faults_after(ended)
        listed = [record.run_id for record in Store.open(self.folder / "runs", create=False).runs()]
        return faults if listed == [self._run] else [*faults, f"the store lists {listed}"]

    def read(self) -> None:
        """Reads the list of runs as a browser does, if the pages are served already."""
        with contextlib.suppress(OSError):
            urllib.request.urlopen(f"http://127.0.0.1:{self._port}/", timeout=1).read()
            self._answered += 1

    def figures(self) -> str:
        return f"{self._answered} pages read"
