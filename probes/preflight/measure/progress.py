"""How far a measurement is, for whoever shows it."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Status:
    """How far a measurement is.

    Attributes:
        phase: what is going on, in words.
        iteration, iterations: which of how many; 0 before the first.
        bytes: moved so far in this iteration.
        total_bytes: of the iteration, if it has a size.
        elapsed_s, limit_s: of the iteration's transfer, and its limit if it has one.
    """

    phase: str
    iteration: int = 0
    iterations: int = 0
    bytes: int = 0
    total_bytes: int | None = None
    elapsed_s: float = 0.0
    limit_s: float | None = None


OnProgress = Callable[[Status], None]
