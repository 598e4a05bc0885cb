"""The record of a reproduction: the verdict on each claim, its evidence, and where that was measured."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from pydantic import TypeAdapter, ValidationError

from experiments.claims import NONE_FAITHFUL, check_claims
from experiments.plan import Plan
from flightpath.errors import UsageError
from results.records import CellResult, ClaimVerdict, RunRecord, RunStatus, Verdict
from results.store.store import Store
from results.summary.verdicts import badge_text, overall
from scenarios.reproduction.part import Part
from scenarios.reproduction.progress import State, state_of

FORMAT = 1
_OfPart = TypeVar("_OfPart")

_OF_MACHINE = ("host", "system", "kernel", "cores", "processor", "memory_bytes", "python")


@dataclass(frozen=True)
class MeasuredPart:
    """A part's run.

    Attributes:
        command: the command that repeats it by itself.
        certificate: the verdict on its cells, with reasons.
        cells, planned: number of measured and of planned cells.
        commit: the measuring program's commit; empty if it is unknown.
        machine: where it was measured.
    """

    name: str
    paper: str
    command: str
    run: str
    clock: str
    verdict: Verdict
    certificate: str
    cells: int
    planned: int
    started_at: str
    ended_at: str
    commit: str
    machine: Mapping[str, str | int]


@dataclass(frozen=True)
class JudgedClaim:
    """A claim of a paper, with the measured value.

    Attributes:
        measured: the measured value with its 95 % interval; empty if the claim was not tested.
        part: the part whose cells decided it.
        certificate: the verdict on that part's cells.
    """

    paper: str
    scenario: str
    claim: str
    stated: str
    measured: str
    verdict: ClaimVerdict
    why: str
    part: str
    clock: str
    certificate: Verdict

    @property
    def name(self) -> tuple[str, str]:
        """The key that identifies the claim in another record."""
        return self.scenario, self.claim

    @property
    def needs_faster_machine(self) -> bool:
        """Whether it was measured but not tested, because no cell is faithful."""
        return self.verdict is ClaimVerdict.NOT_TESTED and NONE_FAITHFUL in self.why


@dataclass(frozen=True)
class MeasuredFigure:
    """The values of a paper's figure beside ours.

    Attributes:
        number: number of the figure in its paper.
        rows: the quantity, the paper's value, and the measured one.
    """

    part: str
    number: str
    rows: tuple[tuple[str, str, str], ...]


@dataclass(frozen=True)
class Record:
    """The whole record."""

    format: int
    parts: tuple[MeasuredPart, ...]
    claims: tuple[JudgedClaim, ...]
    figures: tuple[MeasuredFigure, ...] = ()


@dataclass(frozen=True)
class Evidence:
    """A part's newest run, with its cells.

    Attributes:
        added: the cells of the parts that add to it, each that is not among its own.
    """

    state: State
    run: RunRecord
    cells: Sequence[CellResult]
    added: Sequence[CellResult] = ()

    @property
    def part(self) -> Part:
        """The part that was run."""
        return self.state.part

    @property
    def judged(self) -> Sequence[CellResult]:
        """All cells that decide the part's claims."""
        return [*self.cells, *self.added]


def newest_evidence(parts: Iterable[Part], store: Store) -> list[Evidence]:
    """Returns the newest run of each part that has cells, whichever commit measured it."""
    states = [state_of(part, store, same_program=False) for part in parts]
    found = [
        Evidence(state, state.record, store.cells(state.record.run_id))
        for state in states
        if state.record is not None and state.cells
    ]
    return [replace(each, added=_added_to(each, found)) for each in found]


def _added_to(evidence: Evidence, others: Iterable[Evidence]) -> list[CellResult]:
    """Returns the cells that others add to a part's: of parameters and repetition that it has not itself."""
    added = {cell.cell.label: cell for each in others if each.part.adds_to == evidence.part.name for cell in each.cells}
    own = {cell.cell.label for cell in evidence.cells}
    return [cell for label, cell in added.items() if label not in own]


def record_of(evidence: Sequence[Evidence], figures: Iterable[MeasuredFigure] = ()) -> Record:
    """Makes the record of some runs; all claims are judged anew, from their cells."""
    claims = _each_once(claim for each in evidence if not each.part.adds_to for claim in _judged(each))
    return Record(FORMAT, tuple(map(_measured, evidence)), claims, tuple(figures))


def merged(earlier: Record, later: Record, order: Sequence[str]) -> Record:
    """Merges two records: parts of the later one replace those of the earlier one.

    Args:
        order: the names of all parts; any others in the earlier record are dropped.
    """
    newer = {part.name for part in later.parts}

    def joined(kept: Iterable[_OfPart], new: Iterable[_OfPart], name: Callable[[_OfPart], str]) -> tuple[_OfPart, ...]:
        either = [*(each for each in kept if name(each) not in newer), *new]
        known = [each for each in either if name(each) in order]
        return tuple(sorted(known, key=lambda each: order.index(name(each))))

    return Record(
        FORMAT,
        joined(earlier.parts, later.parts, lambda part: part.name),
        _each_once(joined(earlier.claims, later.claims, lambda claim: claim.part)),
        joined(earlier.figures, later.figures, lambda figure: figure.part),
    )


def read(file: Path) -> Record:
    """Reads a record of this version's format."""
    try:
        record = TypeAdapter(Record).validate_json(file.read_bytes())
    except OSError as error:
        hint = "make reproduce, then make reproduce-record" if file.name == "reproduction.json" else ""
        raise UsageError(f"cannot read {file}: {error.strerror or error}", hint) from error
    except ValidationError as error:
        raise UsageError(f"{file} is no record of a reproduction: {error.errors()[0]['msg']}") from error
    if record.format != FORMAT:
        raise UsageError(f"{file} has format {record.format}, and this version reads {FORMAT}")
    return record


def _judged(evidence: Evidence) -> Iterable[JudgedClaim]:
    part, cells = evidence.part, evidence.judged
    form = Plan.from_json(evidence.run.plan).form
    for claim in check_claims(part.scenario.claims, cells, form):
        yield JudgedClaim(
            paper=part.paper,
            scenario=part.scenario.name,
            claim=claim.claim,
            stated=claim.paper,
            measured=claim.measured,
            verdict=claim.verdict,
            why=claim.why,
            part=part.name,
            clock=str(part.clock),
            certificate=overall(cells),
        )


def _each_once(claims: Iterable[JudgedClaim]) -> tuple[JudgedClaim, ...]:
    """Returns each claim once: as judged by the first part that tested it, or else that tried, or else by the first."""
    chosen: dict[tuple[str, str], JudgedClaim] = {}
    for claim in claims:
        if claim.name not in chosen or _rank(claim) < _rank(chosen[claim.name]):
            chosen[claim.name] = claim
    return tuple(chosen.values())


def _rank(claim: JudgedClaim) -> tuple[bool, bool]:
    return claim.verdict is ClaimVerdict.NOT_TESTED, not claim.needs_faster_machine


def _measured(evidence: Evidence) -> MeasuredPart:
    part, run = evidence.part, evidence.run
    return MeasuredPart(
        name=part.name,
        paper=part.paper,
        command=part.command,
        run=run.run_id,
        clock=str(part.clock),
        verdict=overall(evidence.cells),
        certificate=badge_text(evidence.cells),
        cells=evidence.state.cells,
        planned=evidence.state.planned,
        started_at=run.started_at.isoformat(timespec="seconds"),
        ended_at=run.ended_at.isoformat(timespec="seconds") if run.ended_at and run.status is RunStatus.DONE else "",
        commit=str(run.environment.get("commit", "")),
        machine={name: run.environment[name] for name in _OF_MACHINE if name in run.environment},
    )
