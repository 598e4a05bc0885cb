"""What the papers say, from the files in `papers/`: values, what is not tested here, and what was learnt since."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter

from results.records import ParameterValue

_FOLDER = Path(__file__).with_name("papers")

Point = Mapping[str, ParameterValue]
"""Parameters of cells."""


@dataclass(frozen=True)
class Value:
    """A value that the paper states in words or digits.

    Attributes:
        paper: as the paper writes it.
        where: the cells that measured the same; none if nothing here did.
        against: cells from which the change in per cent is shown, instead of the value itself.
        metric: of the cells; that of the figure by default.
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
        part: that measured the same.
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
    """Something of the paper that no claim here is about, and why."""

    what: str
    why: str


@dataclass(frozen=True)
class Learnt:
    """What the paper could not know; `see` is a file with the whole of it, from the project's folder."""

    what: str
    see: str


@dataclass(frozen=True)
class Paper:
    """A paper, as far as the record quotes it; `name` is that of its file."""

    name: str
    title: str
    by: str
    figures: tuple[PaperFigure, ...] = ()
    not_tested: tuple[Untested, ...] = ()
    learnt: tuple[Learnt, ...] = ()


def papers() -> list[Paper]:
    """All papers, in the order of their names."""
    reader = TypeAdapter(Paper)
    return [
        reader.validate_python({"name": file.stem, **tomllib.loads(file.read_text(encoding="utf-8"))})
        for file in sorted(_FOLDER.glob("*.toml"))
    ]
