"""The papers as the record quotes them, from `papers/`: values, untested statements, and later findings."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import TypeAdapter

from results.records import ParameterValue

_FOLDER = Path(__file__).with_name("papers")

SIZE = ": by how much"
"""End of the sentence of a claim on a size."""

Point = Mapping[str, ParameterValue]
"""Parameters of cells."""


@dataclass(frozen=True)
class Value:
    """A value that the paper states in words or digits.

    Attributes:
        paper: as the paper writes it.
        where: parameters of the cells that measured the same; None if nothing here did.
        against: parameters of cells from which the change in per cent is shown, instead of the value itself.
        metric: the metric of the cells; by default the figure's.
    """

    what: str
    paper: str
    where: Point | None = None
    against: Point | None = None
    metric: str = ""


@dataclass(frozen=True)
class PaperFigure:
    """A figure or table of a paper.

    Attributes:
        number: for example `Figure 5`.
        source: where in the paper its values are stated.
        part: the part that measured the same.
        ours: the figures of that part's scenario which show the same.
        metric, unit, scale: of the measured values; the scale is that of the stored unit to the shown one.
    """

    number: str
    shows: str
    source: str
    part: str
    ours: tuple[str, ...] = ()
    metric: str = ""
    unit: str = ""
    scale: float = 1.0
    values: tuple[Value, ...] = ()
    note: str = ""


@dataclass(frozen=True)
class Untested:
    """A statement of the paper that no claim here covers, and why."""

    what: str
    why: str


@dataclass(frozen=True)
class Learnt:
    """A finding that the paper could not know; `see` is the file that explains it, relative to the project."""

    what: str
    see: str


@dataclass(frozen=True)
class Difference:
    """A difference between the paper's set-up and ours."""

    what: str
    paper: str
    here: str


@dataclass(frozen=True)
class Paper:
    """A paper, as far as the record quotes it.

    Attributes:
        reasons: why a claim is not reproduced, or not decided, by its sentence, or that of its direction.
    """

    name: str
    title: str
    by: str
    figures: tuple[PaperFigure, ...] = ()
    differences: tuple[Difference, ...] = ()
    reasons: Mapping[str, str] = field(default_factory=dict)
    not_tested: tuple[Untested, ...] = ()
    learnt: tuple[Learnt, ...] = ()


def reason(paper: Paper, claim: str) -> str:
    """Returns why a claim of a paper is not reproduced; empty if the paper's file does not say."""
    return paper.reasons.get(claim) or paper.reasons.get(claim.removesuffix(SIZE), "")


def papers() -> list[Paper]:
    """Reads all papers, in the order of their names."""
    reader = TypeAdapter(Paper)
    return [
        reader.validate_python({"name": file.stem, **tomllib.loads(file.read_text(encoding="utf-8"))})
        for file in sorted(_FOLDER.glob("*.toml"))
    ]
