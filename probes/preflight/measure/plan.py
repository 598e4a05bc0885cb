"""The plan of an iteration: which part of which file each stream moves, and the clean-up of what was made for it."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from flightpath.errors import FlightpathError, MeasurementFailed
from probes.preflight.spec import Direction, TransferSpec
from probes.preflight.transfer.stream import Part

_REPEATED_FILE_BYTES = 1024 * 1024 * 1024
"""Size of the file that is transferred repeatedly if no size was given."""


@dataclass(frozen=True)
class Plan:
    """The files that the streams transfer in every iteration.

    Attributes:
        total: bytes of an iteration; None if only time ends it.
        by_bytes: whether the byte limit ends it.
    """

    parts: tuple[Part, ...]
    file_bytes: int
    total: int | None
    by_bytes: bool


def plan(spec: TransferSpec, paths: Sequence[str], file_bytes: int) -> Plan:
    """Shares a transfer among its streams, whose files these are."""
    size, streams = spec.size_bytes or file_bytes, spec.streams
    total = None if spec.fills_the_time else size * (streams if spec.whole_each else 1)
    by_bytes = spec.byte_limit is not None and (total is None or spec.byte_limit < total)
    total = spec.byte_limit if by_bytes else total
    parts = []
    for number in range(streams):
        begin, end = size * number // streams, size * (number + 1) // streams
        if spec.whole_each or spec.fills_the_time:
            begin, end = 0, size
        elif spec.direction is Direction.UPLOAD:  # each stream has a file of its own
            begin, end = 0, end - begin
        share = None if total is None else total * (number + 1) // streams - total * number // streams
        parts.append(Part(number, paths[number], begin, end, share))
    if any(part.total == 0 for part in parts):
        raise MeasurementFailed(
            f"{total} bytes are too few for {streams} streams", "use fewer streams or a larger size"
        )
    return Plan(tuple(parts), file_bytes, total, by_bytes)


def made_bytes(spec: TransferSpec) -> int:
    """Returns the size of the file that is made for a transfer, or is uploaded by it."""
    return spec.size_bytes or min(_REPEATED_FILE_BYTES, spec.byte_limit or _REPEATED_FILE_BYTES)


def require_size(where: str, size: int, spec: TransferSpec) -> None:
    """Raises MeasurementFailed if a file, which the message names, is too small to be transferred."""
    if size == 0:
        raise MeasurementFailed(
            f"{where} is empty (0 bytes): there is nothing to transfer",
            "name a larger file, or none: the probe then makes one",
        )
    if spec.size_bytes is not None and size < spec.size_bytes:
        raise MeasurementFailed(
            f"{where} has {size} bytes, less than the {spec.size_bytes} of --size",
            "leave --size out to transfer all of it",
        )


@contextmanager
def removed_afterwards(remove: Callable[[], FlightpathError | None], notes: list[str]) -> Iterator[None]:
    """Removes what was made at the far end, however the block ends.

    Args:
        remove: returns what went wrong; the error of the block or a note says so, too.
    """
    try:
        yield
    except BaseException as error:
        left = remove()
        if left and isinstance(error, FlightpathError):
            error.hint = "\n  ".join(filter(None, [error.hint, left.args[0], left.hint]))
        elif left:
            error.add_note(str(left))
        raise
    if left := remove():
        notes.append(f"{left.args[0]}: {left.hint}")
