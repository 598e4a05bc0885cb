"""Attempts at a lab: solutions and mistakes."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Attempt:
    """Answers and files for a variant.

    Attributes:
        hint: part of the hint that it gets; empty for a solution.
    """

    answers: Mapping[str, float] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    hint: str = ""
