"""Variants: each student has individual numbers, which are derived from the name and so can be reproduced."""

import hashlib
import random
import unicodedata
from dataclasses import dataclass

from flightpath.errors import UsageError
from labs.framework.lab import Lab, Parameters

_MAX_LENGTH = 200  # of a student's name and a course together: both stand in tables


def canonical(name: str) -> str:
    """Returns a name in a form that ignores case, extra spaces, and the encoding of letters."""
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())


@dataclass(frozen=True)
class Variant:
    """A student's variant of a lab.

    Attributes:
        student: the name or number by which the teacher knows the student; case and spaces do not matter.
        course: word that the teacher chooses; with another one, the same student gets other numbers.
    """

    student: str
    course: str = ""

    def __post_init__(self) -> None:
        both = f"{self.student}{self.course}"
        if not canonical(self.student) or not both.isprintable() or len(both) > _MAX_LENGTH:
            raise UsageError(
                f"no variant is of student {self.student[:_MAX_LENGTH]!r} in course {self.course[:_MAX_LENGTH]!r}",
                f"both are words to be read, of {_MAX_LENGTH} characters; the student's is not empty: --student NAME",
            )

    def chance(self, number: int) -> random.Random:
        text = f"{canonical(self.course)}\0{number}\0{canonical(self.student)}"
        return random.Random(hashlib.sha256(text.encode()).digest())

    def parameters(self, lab: Lab) -> Parameters:
        return lab.parameters(self.chance(lab.number))
